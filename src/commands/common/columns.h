/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is generated from the declarations of all tables. */
#ifndef HOSTRACE_COLUMNS_H
#define HOSTRACE_COLUMNS_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

struct column_def;
struct table_def;

/* The columns of the tables of a command, NULL: of all; their JSON keys, headings, explanations. False: it has none. */
bool columns_print(const char *command, FILE *out);

/* doc/schema/columns.json */
void columns_schema(FILE *out);

/*
 * The table that a row of a command's JSON answer is of, by its keys; `row` NULL: there is none, so by the command.
 * `words`: the options of the command line, separated by blanks. NULL: no table declares it.
 */
const struct table_def *columns_table(const char *command, const char *words, json_t *row);

/* A column of a table by its key, with its explanation. NULL: the table, which may be NULL, has none. */
const struct column_def *columns_find(const struct table_def *t, const char *key);

#endif
