/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Spans summed up by their labels: what `count`, `summary` and the reports made of them share. */
#ifndef HOSTRACE_GROUPS_H
#define HOSTRACE_GROUPS_H

#include "analyzer.h"
#include "quantiles.h"

enum { GROUPS_MAX = 16384 }; /* distinct groups; what comes later is summed up as "(other)" */

struct group {
	uint64_t label[LABELS_MAX];
	uint64_t weight, bytes, marked;
	struct quantiles ns;
	bool other; /* the one that holds what found no room */
};

struct groups {
	struct group *group;
	unsigned int nr, nr_labels;
	uint32_t *slot;
	bool durations; /* keep quantiles */
};

int groups_init(struct groups *g, unsigned int nr_labels, bool durations);
void groups_deinit(struct groups *g);

/* 0 or -ENOMEM. */
int groups_add(struct groups *g, const struct span *s);

#endif
