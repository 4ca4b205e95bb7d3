/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Exits summed up by when they ended and how long they took: what is behind each cell of a heat map. And by the part
 * of a second in which they began, where what happens periodically shows as a line. To be used as a struct blame_sink.
 */
#ifndef HOSTRACE_BLAME_GRID_H
#define HOSTRACE_BLAME_GRID_H

#include "analyzers/blame/blame.h"

enum {
	GRID_COLUMNS_MAX = 128,
	GRID_ROWS_MAX = 129,
	GRID_SPANS = 3, /* the longest ones of a cell */
	OFFSET_ROWS = 50, /* of 20 ms */
	OFFSET_COLUMNS_MAX = 120, /* of a second, of two if the recording is longer, and so on */
};

struct grid_span {
	uint64_t start_ns, end_ns;
	uint32_t pid, reason, isa;
	uint16_t vcpu;
	enum blame_cause cause; /* of its longest part */
	struct blame_who who;
};

struct grid_cell {
	uint64_t exits;
	uint64_t causes[BLAME_CAUSES];
	unsigned int nr_spans;
	struct grid_span span[GRID_SPANS]; /* the longest first */
};

struct blame_grid {
	/* The heat map's, set by the caller: columns of column_ns from t0_ns, rows from lo_ns[i] up to lo_ns[i + 1]. */
	uint64_t t0_ns, column_ns;
	unsigned int nr_columns, nr_rows;
	uint64_t lo_ns[GRID_ROWS_MAX + 1];
	bool (*selects)(void *arg, const struct blame_exit *x); /* NULL: all */
	void *arg;

	struct grid_cell *cell; /* [row * nr_columns + column] */
	uint64_t outside; /* exits that the heat map has no cell for */

	uint64_t first_s, seconds; /* per column */
	unsigned int offset_columns;
	uint64_t offset[OFFSET_ROWS][OFFSET_COLUMNS_MAX];
};

/* Allocates the cells. 0 or -ENOMEM with the error message set. */
int blame_grid_open(struct blame_grid *g);
void blame_grid_close(struct blame_grid *g);

struct blame_sink blame_grid_sink(struct blame_grid *g);

#endif
