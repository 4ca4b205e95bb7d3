/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a VMM allocated and did not free, by call stack, from `record --for heap`: sites with counts since the begin of
 * the recording, their stacks, and each mapping. Sites of one stack and function, which the recorder may have told
 * apart by what earlier calls left on the stack, are one row.
 *
 * What grows is seen between two points of time, `base` and the end: what is not freed at both.
 */
#ifndef HOSTRACE_HEAP_ANALYZER_H
#define HOSTRACE_HEAP_ANALYZER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "event/event.h"

enum {
	HEAP_SITES_MAX = 1 << 17, /* of all VMs; what exceeds a limit is counted */
	HEAP_STACKS_MAX = 1 << 17,
	HEAP_RANGES_MAX = 1 << 16, /* mappings */
	HEAP_VMS_MAX = 4096,
	HEAP_FUNCTION_BYTES = 24,
};

struct heap_count {
	uint64_t blocks, bytes;
};

struct heap_row {
	uint32_t pid;
	const char *function;
	const char *stack;				 /* innermost first; NULL: not recorded */
	struct heap_count allocated, freed, live, grown; /* grown: int64_t values, may be below 0 */
};

/* Blocks of one function that another one freed. */
struct heap_mismatch_row {
	uint32_t pid;
	const char *allocated, *freed;	/* functions */
	const char *stack, *free_stack; /* NULL: not recorded */
	struct heap_count count;
};

struct heap_notes {
	bool totals; /* the recording has alloc_totals */
	struct heap_count allocated, freed;
	uint64_t unknown, not_followed, not_sited, unfinished, replaced, failed, mismatches;
	uint64_t unmapped_unknown; /* munmap() of what was not seen to be mapped */
	uint64_t refused;	   /* sites, stacks, mappings, VMs beyond the limits */
	uint64_t lost_mappings;	   /* alloc_mmap and alloc_munmap */
	uint64_t broken;	   /* alloc_site with more frees than allocations */
};

struct heap_analyzer;

/* base_ns: see above. NULL: no memory. */
struct heap_analyzer *heap_new(uint64_t base_ns);
void heap_free(struct heap_analyzer *h);

bool heap_wants(const char *event, void *arg);

/* 0; -ENOMEM with the error message set. */
int heap_event(struct heap_analyzer *h, const struct event *ev);

/*
 * After the last event: the rows, those with most bytes that are not freed first. by_stack: a row for each stack and
 * function, else for each function. 0; -ENOMEM with the error message set. The caller frees the array; texts belong to
 * the analyzer.
 */
int heap_rows(struct heap_analyzer *h, bool by_stack, struct heap_row **ret, size_t *ret_nr);
int heap_mismatch_rows(struct heap_analyzer *h, struct heap_mismatch_row **ret, size_t *ret_nr);
void heap_notes(const struct heap_analyzer *h, struct heap_notes *ret);

#endif
