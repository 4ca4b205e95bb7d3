/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Allocations by allocator, alignment, size and call path. */
#ifndef HOSTRACE_MEMORY_PROFILE_H
#define HOSTRACE_MEMORY_PROFILE_H

#include "analyzers/profile/frames.h"
#include "analyzers/profile/time_range.h"

enum memory_key {
	MEMORY_ALLOCATOR,
	MEMORY_ALIGNMENT,
	MEMORY_ALLOCATED,
	MEMORY_REQUESTED,
	MEMORY_KEYS
};
enum memory_sort { MEMORY_SORT_SIZE, MEMORY_SORT_COUNT, MEMORY_SORT_UNUSED };

struct memory_options {
	struct time_range range;
	enum memory_key keys[16];
	unsigned int nr_keys;
	enum memory_sort sort;
	uint64_t min_count;	 /* of a group */
	uint64_t min_hits;	 /* of a call path */
	double min_hits_percent; /* of its group's count */
	unsigned int max_levels; /* frames of a call path; 0: all */
	bool no_backtrace, compat;
	struct symbols_options symbols;
	struct frames_options frames;
};

struct memory_profile;
struct memory_tree;

/* Reads the trace, which must outlive the profile, as `opt` must. 0 or -errno with the error message set. */
int memory_profile_open(struct sample_trace *t, const struct memory_options *opt,
			struct memory_profile **ret);
void memory_profile_close(struct memory_profile *m);
DEFINE_CLEANUP(memory_profile, struct memory_profile *, memory_profile_close);

/* For printing, see memory_tree.h. */
const struct memory_tree *memory_profile_tree(const struct memory_profile *m);

#endif
