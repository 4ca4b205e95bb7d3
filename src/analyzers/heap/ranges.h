/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Mapped memory by address: what is left of each mapping after others were unmapped, or mapped over it. */
#ifndef HOSTRACE_HEAP_RANGES_H
#define HOSTRACE_HEAP_RANGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct heap_range {
	uint64_t from, to, id; /* id: the caller's */
	uint32_t pid, mapping; /* mapping: its number; pieces of one mapping share it */
};

struct heap_ranges {
	struct heap_range *range; /* by pid and address; none overlap */
	size_t nr, max;
	uint32_t mappings; /* so far */
	uint64_t refused;  /* beyond HEAP_RANGES_MAX */
};

/* Removes what is mapped there. How many bytes were. 0 or -ENOMEM. */
int ranges_cut(struct heap_ranges *r, uint32_t pid, uint64_t from, uint64_t bytes, uint64_t *ret);

/* Adds a range, instead of what is mapped there. 0, also if it is refused; -ENOMEM. */
int ranges_add(struct heap_ranges *r, uint32_t pid, uint64_t from, uint64_t bytes, uint64_t id);
void ranges_free(struct heap_ranges *r);

#endif
