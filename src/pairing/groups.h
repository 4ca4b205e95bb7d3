/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Spans summed up by their labels, as `count`, `summary` and the reports made of them do. */
#ifndef HOSTRACE_GROUPS_H
#define HOSTRACE_GROUPS_H

#include "base/hash.h"
#include "base/quantiles.h"
#include "pairing/spans.h"

enum { GROUPS_MAX = 16384 }; /* distinct groups; what comes later is summed up as "(other)" */

struct group {
	uint64_t label[LABELS_MAX];
	uint64_t weight, marked;
	uint64_t bytes; /* BYTES_UNKNOWN: those of a span are */
	struct quantiles ns;
	bool other; /* the sum of the groups above GROUPS_MAX */
};

enum { GROUPS_NEAR = 64, GROUPS_BUFFERED_MAX = 32 };

/* A recently found group, by the hash of its labels. */
struct group_near {
	uint64_t label; /* the group's first one */
	struct group *at;
	struct quantiles_buffer *buffer; /* the group's, or NULL */
};

struct groups {
	struct group *group; /* nr of them; until groups_finish(), "(other)" is at GROUPS_MAX and not counted */
	unsigned int nr, nr_labels;
	struct hash_table places; /* in group, by labels */
	struct group_near near[GROUPS_NEAR];
	struct group *buffered[GROUPS_BUFFERED_MAX]; /* groups with a buffer */
	unsigned int nr_buffered, nr_unflushed; /* values in them */
	bool durations; /* keep quantiles */
};

int groups_init(struct groups *g, unsigned int nr_labels, bool durations);
void groups_deinit(struct groups *g);

/* 0 or -ENOMEM. */
int groups_add(struct groups *g, const struct span *s);
int groups_add_spans(struct groups *g, const struct spans *s);

/*
 * Adds all groups of `from`, which may then only be freed. -E2BIG: together they are more than GROUPS_MAX, and which
 * of them come first is not known here; g may then only be freed as well.
 */
int groups_merge(struct groups *g, struct groups *from);

/* Sorts them by their labels and completes their sums; none may be added any more. 0 or -ENOMEM. */
int groups_finish(struct groups *g);

#endif
