/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Exits summed up: by cause and what it names, for each group of exits (of one reason, say); and the longest ones.
 * To be used as a struct blame_sink.
 */
#ifndef HOSTRACE_BLAME_SUMMARY_H
#define HOSTRACE_BLAME_SUMMARY_H

#include "analyzers/blame/blame.h"
#include "base/hash.h"
#include "symbols/symbols.h"

enum {
	BLAME_TOTALS_MAX = 1 << 16,  /* different causes of all groups; the time of others has no name */
	BLAME_GROUPS_MAX = 1 << 14,
	BLAME_KEPT_MAX = 1 << 18,    /* exits that are kept */
};

/* What makes a group. All false: there is one. */
struct blame_by {
	bool vm, vcpu, reason;
	struct addresses *code; /* the guest's function by these names; NULL: not by that */
	bool stack; /* no group: totals of the global mutex are told apart by the holder's stack */
};

struct blame_group {
	uint64_t key[3];
	const char *code; /* NULL: unknown */
	uint32_t pid, reason, isa;
	uint16_t vcpu;
	uint32_t index;
	uint64_t exits, time_ns, max_ns;
	uint64_t causes[BLAME_CAUSES];
	struct blame_plain {
		uint64_t time_ns, exits, last_exit;
	} plain[BLAME_CAUSES]; /* parts that name nothing: totals of their own from blame_summary_end() on */
};

struct blame_total {
	uint64_t key[6];
	enum blame_cause cause;
	struct blame_who who;
	const struct blame_group *group;
	uint64_t time_ns, exits;
	uint64_t last_exit; /* number of the newest exit counted in `exits` */
};

struct blame_summary {
	struct blame_by by;
	uint64_t min_ns; /* shorter exits are not counted */
	uint64_t since_ns; /* what exits took before it is not counted; 0: they count whole */
	uint64_t keep;	 /* so many of the longest exits are kept */
	bool (*selects)(void *arg, const struct blame_exit *x); /* NULL: all */
	void *arg;

	uint64_t exits, time_ns; /* selected ones */
	uint64_t in_run; /* ... of BLAME_IN_RUN, which the report `exits` does not count */
	uint64_t nested; /* ... of nested guests (L2) */
	uint64_t not_kept; /* beyond BLAME_KEPT_MAX */
	struct blame_group **group; /* array.h; by index less 1 */
	uint32_t nr_groups;
	struct hash_table groups, totals; /* groups: their places */
	struct hash_recent recent_groups, recent_totals;
	struct hash_table texts; /* names of code and regions: equal ones have one number */
	struct blame_exit *kept; /* with copies of their parts; a heap until blame_summary_end() */
	size_t nr_kept;
};

/* The first members are the caller's to set, up to `arg`. */
struct blame_sink blame_summary_sink(struct blame_summary *s);
void blame_summary_free(struct blame_summary *s);

/* After the last exit: kept[] is sorted, the longest first. 0 or -ENOMEM. */
int blame_summary_end(struct blame_summary *s);

/* Sorted by time, the longest first: arrays of pointers into the summary, to be freed. NULL: out of memory, or none. */
const struct blame_group **blame_summary_groups(const struct blame_summary *s, size_t *ret_nr);
const struct blame_total **blame_summary_totals(const struct blame_summary *s, size_t *ret_nr);

/* The longest part that waits for a mutex whose holder, and if possible its stack, is known; NULL: there is none. */
const struct blame_part *blame_exit_holder(const struct blame_exit *x);

#endif
