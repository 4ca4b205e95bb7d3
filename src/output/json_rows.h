/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An answer whose rows are written incrementally: {"rows":[...], then the members of the head, since what the head says
 * of the inputs is known only at their end.
 */
#ifndef HOSTRACE_JSON_ROWS_H
#define HOSTRACE_JSON_ROWS_H

#include <inttypes.h>
#include <stdio.h>

#include <jansson.h>

void json_rows_begin(FILE *f);

/* Before each row; nr: rows before it. */
void json_rows_next(FILE *f, uint64_t nr);

/* head: an object (stolen), or NULL. */
void json_rows_end(FILE *f, json_t *head);

/* The same for JSON lines: the head is the last line. */
void json_rows_last(FILE *f, json_t *head);

#endif
