/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which reports are tables. */
#ifndef HOSTRACE_SQL_REPORT_TABLES_H
#define HOSTRACE_SQL_REPORT_TABLES_H

#include "output/table.h"
#include "reports/result.h"
#include "sql/internal.h"

struct report_table_def {
	const char *name;
	const struct report_ops *ops;
	const void *of;
	const char *rows, *within; /* the member of the answer that has the rows, and of what; NULL: of the answer */
	const struct table_def *declared; /* NULL: `columns` */
	const char *columns[24];
};

enum { REPORT_TABLES = 14 };
extern const struct report_table_def report_tables[REPORT_TABLES];

/* The columns that the report declares, and further ones, each once. */
void report_columns_declared(const struct report_table_def *def, struct sql_columns *c);
bool report_column_add(struct sql_columns *c, const char *name); /* false: it is there */

/* The rows of an answer, borrowed, whose notes are added; NULL: it has none. */
const json_t *report_table_rows(struct sql *s, const struct report_table_def *def,
				const json_t *answer);

#endif
