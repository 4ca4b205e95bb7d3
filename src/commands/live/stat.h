/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The parts of `hostrace stat`. */
#ifndef HOSTRACE_STAT_COMMAND_H
#define HOSTRACE_STAT_COMMAND_H

#include "collector/stat.h"
#include "output/table.h"

enum { STAT_NO_VCPU = -1 };

/* What was counted of one reason; of one vCPU, or of all. */
struct stat_row {
	int vcpu; /* or STAT_NO_VCPU: of all */
	bool other; /* of the reasons that found no cell of their own */
	struct stat_cell sum;
};

struct stat_rows {
	struct stat_row *row;
	unsigned int nr, room;
};

/* ---- stat_rows.c ---- */

/* Adds up what stands in the maps now. 0 or -ENOMEM with the sentence set; free with stat_rows_free(). */
int stat_rows_read(const struct stat *s, bool by_vcpu, struct stat_rows *ret);
int stat_rows_copy(const struct stat_rows *rows, struct stat_rows *ret);
void stat_rows_free(struct stat_rows *rows);

/* Takes away what was there before, so that only an interval's counts are left. */
void stat_rows_subtract(struct stat_rows *now, const struct stat_rows *before);

/* The columns of `exits`, and its rows. */
int stat_rows_table(const struct stat_rows *rows, const struct stat *s, bool by_vcpu,
		    struct table *t);

/* The ceil(fraction * count)-th smallest, told from its bucket's middle. */
uint64_t stat_quantile(const struct stat_cell *cell, double fraction);

#endif
