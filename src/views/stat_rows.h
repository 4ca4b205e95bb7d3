/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The kernel's histograms of exits (bpf/statmap.h) as the rows of a table: `hostrace stat`. */
#ifndef HOSTRACE_STAT_ROWS_H
#define HOSTRACE_STAT_ROWS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "output/durations.h"
#include "output/table.h"
#include "statmap.h"

enum { STAT_ALL_PARTS = -1 };

/* Exits of one reason; of one part, or of all. */
struct stat_row {
	int part;   /* a vCPU, or struct stat_naming's number of a VM; or STAT_ALL_PARTS */
	bool other; /* of the reasons that found no cell of their own */
	struct stat_cell sum;
};

struct stat_rows {
	struct stat_row *row;
	unsigned int nr, capacity;
};

enum stat_by { STAT_BY_REASON, STAT_BY_VCPU, STAT_BY_VM };

struct stat_part_vm {
	pid_t pid;	/* 0: of several VMs, which the name tells */
	uint64_t start; /* struct vm */
	char *name;
	bool ended;
};

/* What the rows' numbers mean. */
struct stat_naming {
	const char *(*name_of)(uint32_t reason); /* NULL: unknown */
	enum stat_by by;
	const struct stat_part_vm *vm; /* STAT_BY_VM: of each part */
};

/*
 * Adds the cells of one vCPU, the last of which has all other reasons, to the rows of `part`
 * (STAT_ALL_PARTS: to those of all). Begins with zeroed rows; free with stat_rows_free(). 0 or
 * -ENOMEM with the error message set.
 */
int stat_rows_add(struct stat_rows *rows, int part, const struct stat_cell *cells, unsigned int nr);
int stat_rows_copy(const struct stat_rows *rows, struct stat_rows *ret);
void stat_rows_free(struct stat_rows *rows);

/* Subtracts earlier rows, so that only the counts of the interval since then are left. */
void stat_rows_subtract(struct stat_rows *now, const struct stat_rows *before);

extern const struct table_def stat_table;

/* The columns of `exits`, and its rows. 0 or -ENOMEM. */
int stat_rows_table(const struct stat_rows *rows, const struct stat_naming *naming,
		    struct table *t);

/* "HLT", "0x7f", "(other)". buf has at least 16 bytes; returns it or a static text. */
const char *stat_reason_print(const struct stat_row *r, const char *(*name_of)(uint32_t reason),
			      char *buf, size_t size);

/* Of exits of all reasons: of this part, or with STAT_ALL_PARTS of all. */
void stat_rows_sum(const struct stat_rows *rows, int part, struct stat_cell *ret);

/* All zero if there were no exits. */
void stat_durations(const struct stat_cell *sum, struct durations *ret);

/* `sum` begins with zeroes and min_ns UINT64_MAX. nr_buckets: STAT_BUCKETS, or 0: cells without them. */
void stat_cell_add(struct stat_cell *sum, const struct stat_cell *cell, unsigned int nr_buckets);

/*
 * Leaves what came since `before`; the reason stays. Times that went back become 0: an exit that was open. Without
 * buckets the least and the largest are those of all.
 */
void stat_cell_subtract(struct stat_cell *now, const struct stat_cell *before,
			unsigned int nr_buckets);

/* It differs from the values of the bucket by at most 0.4 %. */
uint64_t stat_bucket_middle(unsigned int bucket);

/* The ceil(fraction * count)-th smallest duration, as the middle of its bucket. */
uint64_t stat_quantile(const struct stat_cell *cell, double fraction);

#endif
