/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Rows brought together by the values of some columns. SQLite groups by sorting all rows, which takes time and 30 to 50
 * bytes a row. Where a query groups by columns of one table, the table itself hands out its rows group by group: it
 * keeps of each only the columns that the query uses, as differences to the row before in its group, 1 to 5 bytes each.
 * Groups are in the order of their keys: with GROUP BY x ORDER BY x, SQLite relies on it.
 */
#ifndef HOSTRACE_SQL_GROUPED_H
#define HOSTRACE_SQL_GROUPED_H

#include "sql/internal.h"

enum { GROUP_KEYS_MAX = 8, GROUP_COLUMNS_MAX = 63 };

struct group_key {
	uint8_t column;
	bool descending;
};

struct grouping {
	uint64_t used; /* columns that the query uses, a bit for each: the keys are among them */
	struct group_key key[GROUP_KEYS_MAX]; /* the first counts most */
	unsigned int nr_keys;
};

/*
 * Can the table group for this query? Not by columns of `not_keys` (nearly each row has a value of its own), nor if it
 * uses a column of `never`. Then SQLite is told so.
 */
bool grouping_plan(sqlite3_index_info *info, uint64_t not_keys, uint64_t never,
		   struct grouping *ret);

/* As text for idxStr, after a '#'; false: there is none. */
void grouping_print(sqlite3_str *to, const struct grouping *g);
bool grouping_parse(const char *text, struct grouping *ret);

struct grouped;

/*
 * Reads all rows of a cursor into *ret, to be freed in any case: `next` goes to the next one (1; 0: there is none;
 * -errno), `value` gets a column of it. 0, -ENOMEM if that takes more than bytes_max, or what `next` returned; with the
 * error message set.
 */
int rows_group(sqlite3_vtab_cursor *cursor, const struct grouping *of, uint64_t bytes_max,
	       int (*next)(sqlite3_vtab_cursor *cursor),
	       void (*value)(sqlite3_vtab_cursor *cursor, int column, struct table_value *v),
	       struct grouped **ret);
void grouped_free(struct grouped *g);

/* The next row; false: there is none. */
bool grouped_next(struct grouped *g);

/* A used column of the present row. Valid until the next one. */
const struct sql_value *grouped_value(const struct grouped *g, int column);

#endif
