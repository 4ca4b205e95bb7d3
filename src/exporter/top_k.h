/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The K busiest keys of a table of counters, as series that Prometheus can take rates of. Which keys are shown changes
 * only when one that is not shown has twice the count of one that is. The count of a shown key is the table's own; what
 * keys counted while they were not shown is in `other`, which therefore never decreases.
 */
#ifndef HOSTRACE_EXPORTER_TOP_K_H
#define HOSTRACE_EXPORTER_TOP_K_H

#include <stdint.h>

struct top_k_key {
	uint64_t key, count;
};

struct top_k {
	struct top_k_key *shown; /* as of the last reading */
	unsigned int nr, limit;
	uint64_t other;
	uint64_t total; /* of all keys, in the last reading */
};

/* 0 or -ENOMEM with the error message set. */
int top_k_init(struct top_k *t, unsigned int limit);
void top_k_free(struct top_k *t);

/*
 * A reading of the table: each key once, with its count since the beginning; `rest`: the count of all keys that are not
 * in the table. Reorders the keys.
 */
void top_k_update(struct top_k *t, struct top_k_key *keys, unsigned int nr, uint64_t rest);

/* Adds up equal keys. Reorders them, and returns how many are left. */
unsigned int top_k_merge(struct top_k_key *keys, unsigned int nr);

#endif
