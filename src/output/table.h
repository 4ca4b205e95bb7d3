/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The shapes that views make and formats draw: a table, a histogram, a heat map. A shape knows
 * neither VMs nor events, only the kind of quantity in each column, so that every format can write
 * it in its own way.
 */
#ifndef HOSTRACE_TABLE_H
#define HOSTRACE_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"

enum column_kind {
	COL_TEXT,
	COL_PATH,    /* a QOM path; text: only the device's name in it */
	COL_COUNT,   /* a number, decimal */
	COL_NS,	     /* text: scaled with its unit; elsewhere integer ns */
	COL_HEX,     /* text and JSON: "0x..." */
	COL_PORT,    /* text: 0x..; JSON: a number */
	COL_PERCENT, /* in 1/1000 of a percent; text: "12.3%"; JSON: a number with decimals */
	COL_REAL,    /* the text is a number with decimals, which JSON and CSV print as it is; "-": no value */
	COL_SECONDS, /* ns; text: seconds with 9 decimals; JSON: integer ns */
};

struct column {
	const char *key;  /* JSON and CSV name; NULL: only in text */
	const char *head; /* text heading; NULL: not in text */
	enum column_kind kind;
	unsigned int spare; /* 0: always in text; else only if it fits the width, lower ones first */
};

enum { TABLE_COLUMNS_MAX = 32 };

struct cell {
	uint64_t number;

	/*
	 * Of a text column: its text, owned by the table (table_text) or static; NULL: null. Of others: printed instead
	 * of the number; "-" means no value (null in JSON, empty in CSV).
	 */
	const char *text;
};

struct table {
	struct column column[TABLE_COLUMNS_MAX];
	unsigned int nr_columns;
	struct cell *cell; /* nr_rows * nr_columns */
	size_t nr_rows;
	uint64_t left_out; /* rows above --limit */
	struct table_text *texts;
};

static inline bool column_is_text(const struct column *c)
{
	return c->kind == COL_TEXT || c->kind == COL_PATH;
}

/* Adds a column, before the first row; at most TABLE_COLUMNS_MAX. Names are borrowed for as long as the table. */
void table_column(struct table *t, const char *key, const char *head, enum column_kind kind,
		  unsigned int spare);

/* Removes a column, with its cells, if every row has the same text there (or there is no row). */
void table_drop_constant(struct table *t, const char *key);

/* "/machine/peripheral/disk/virtio-backend" is what QEMU calls "disk". Returns buf or the path itself. */
const char *path_print(const char *path, char *buf, size_t size);

/* A new row of zeroes, valid until the next one; NULL with the error message set if out of memory. */
struct cell *table_row(struct table *t);

/* Keeps a copy of the text as long as the table; control bytes are replaced. */
const char *table_text(struct table *t, const char *text);

/*
 * Sorts by the column of this key, "_ns" may be omitted: largest first for numbers, a to z for text, stable.
 * -EINVAL with the error message set: no such column.
 */
int table_sort(struct table *t, const char *key);

/* Keeps the first `limit` rows (0: all). */
void table_limit(struct table *t, uint64_t limit);

/* Frees what the table owns; a zeroed one is fine. */
void table_free(struct table *t);

/* ---- histogram: powers of two ---- */

enum { HISTOGRAM_ROWS = 65 };

struct histogram {
	uint64_t count[HISTOGRAM_ROWS]; /* [0]: value 0; [i]: 2^(i-1) <= value < 2^i */
	unsigned int first, last;	/* rows that are not empty, first > last if none */
};

/* ---- heat map ---- */

enum { HEATMAP_COLUMNS = 128, HEATMAP_ROWS = 64 * 2 + 1 };

struct heatmap {
	const char *analyzer, *title;
	uint64_t t0_ns, column_ns;
	unsigned int nr_columns, nr_rows;
	struct {
		uint64_t lo_ns, hi_ns;
	} row[HEATMAP_ROWS];
	uint64_t cell[HEATMAP_ROWS][HEATMAP_COLUMNS];
	uint64_t max, total;
	const char *link; /* to the page of `hostrace report`; NULL: none */
};

#endif
