/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `memory-analyzer` of OSv's tool: allocations by allocator, alignment, size and call path. */
#ifndef HOSTRACE_OSV_MEMORY_H
#define HOSTRACE_OSV_MEMORY_H

#include "analyzers/profile/osv_report.h"

enum osv_memory_key { OSV_ALLOCATOR, OSV_ALIGNMENT, OSV_ALLOCATED, OSV_REQUESTED, OSV_MEMORY_KEYS };
enum osv_memory_sort { OSV_SORT_SIZE, OSV_SORT_COUNT, OSV_SORT_UNUSED };

struct osv_memory_options {
	struct osv_range range;
	enum osv_memory_key keys[16];
	unsigned int nr_keys;
	enum osv_memory_sort sort;
	uint64_t min_count;	 /* of a group */
	uint64_t min_hits;	 /* of a call path */
	double min_hits_percent; /* of its group's count */
	unsigned int max_levels; /* frames of a call path; 0: all */
	bool no_backtrace, compat;
	struct osv_symbols_options symbols;
	struct osv_frames_options frames;
};

/* JSON: {"name","count","allocated","unused","children":[..]}, call paths {"name","hits",..}. */
int osv_memory(struct osv_trace *t, const struct osv_memory_options *opt, struct osv_sink *sink);

#endif
