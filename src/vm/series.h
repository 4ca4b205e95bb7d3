/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Counters that are read again and again, as rows of the same columns, in bounded memory: when it is full, every other
 * row is dropped, and rows are taken half as often from then on. What happened in a window is the difference of two
 * rows, however many were dropped between them.
 */
#ifndef HOSTRACE_VM_SERIES_H
#define HOSTRACE_VM_SERIES_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

enum {
	SERIES_ROWS_MAX = 600,
	SERIES_VALUES_MAX = 16384, /* of all columns: with more columns, there are fewer rows */
};

struct series {
	uint64_t *value; /* rows of `columns` */
	uint64_t at_ns[SERIES_ROWS_MAX];
	unsigned int columns, nr, max;
	uint64_t interval_ns, next_ns;
};

/* Of more columns than SERIES_VALUES_MAX / 4 there are no rows. -ENOMEM with the error message set. */
int series_init(struct series *s, unsigned int columns, uint64_t interval_ns);
void series_deinit(struct series *s);

/* A row for the counters of now, to be filled in; NULL: it is not time for one. */
uint64_t *series_next(struct series *s, uint64_t now_ns);

/* [time of each row] */
json_t *series_times(const struct series *s);

/* [of each row: the column's value less `from`]; NULL: it never changed. */
json_t *series_column(const struct series *s, unsigned int column, uint64_t from);

#endif
