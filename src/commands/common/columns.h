/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is generated from the declarations of all tables. */
#ifndef HOSTRACE_COLUMNS_H
#define HOSTRACE_COLUMNS_H

#include <stdbool.h>
#include <stdio.h>

/* The columns of the tables of a command, NULL: of all; their JSON keys, headings, explanations. False: it has none. */
bool columns_print(const char *command, FILE *out);

/* doc/schema/columns.json */
void columns_schema(FILE *out);

#endif
