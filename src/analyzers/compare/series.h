/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Measurements by key and by block of time: how many there were in each block, and the sum of their durations. All
 * blocks of a set have the same length, a power of two in ns, which doubles when the recording becomes longer than
 * SERIES_BLOCKS of them. So the memory does not depend on the number of measurements: 8 KiB for each key, and what
 * base/quantiles.h needs, which keeps percentiles within 0.4 %.
 */
#ifndef HOSTRACE_SERIES_H
#define HOSTRACE_SERIES_H

#include "base/cleanup.h"
#include "base/hash.h"
#include "base/quantiles.h"
#include "pairing/analyzer.h"

enum {
	SERIES_BLOCKS = 512,
	SERIES_MAX = 2048,	 /* keys of a set; measurements of further ones are only counted */
	SERIES_FIRST_SHIFT = 16, /* the first blocks have 65 us */
};

#define SERIES_UNKNOWN_NS UINT64_MAX

struct series_block {
	uint64_t nr, sum_ns;
};

struct series {
	uint64_t label[LABELS_MAX];
	char *key; /* text of the labels; NULL before series_name() */
	uint64_t nr;
	struct quantiles ns;
	double mean_ns; /* of a table, which has only that; 0: `ns` has all */
	double per_s;	/* a rate that a table states */
	bool has_per_s;
	struct series_block block[SERIES_BLOCKS];
};

struct series_set {
	uint64_t start_ns;
	uint64_t span_ns; /* of the recording: set by the caller at its end */
	uint64_t total; /* of all measurements, also those that `list` lacks; 0: list has all */
	unsigned int nr_labels, shift; /* a block has 1 << shift ns */
	struct series *list[SERIES_MAX];
	unsigned int nr;
	uint64_t refused; /* measurements of keys beyond SERIES_MAX */
	struct hash_table places;
};

/* NULL with the error message set: out of memory. */
struct series_set *series_new(uint64_t start_ns, unsigned int nr_labels);
void series_free(struct series_set *s);
void series_free_one(struct series *s);
DEFINE_CLEANUP(series, struct series_set *, series_free);

/* Adds a series of which only this is known: how many, and their mean (0: not). -ENOMEM. */
int series_add_sum(struct series_set *s, const char *key, uint64_t nr, double mean_ns);

/* Removes all measurements. */
void series_clear(struct series_set *s);

/*
 * `nr` measurements that ended at end_ns; their durations (of one: `ns`) are kept if `nr` is 1. The order of calls has
 * no influence on the result. -ENOMEM with the error message set.
 */
int series_add(struct series_set *s, const uint64_t *label, uint64_t end_ns, uint64_t ns,
	       uint64_t nr);

/* Adds all that `from` has, which may then only be freed. -E2BIG: together they have too many keys. */
int series_merge(struct series_set *s, struct series_set *from);

/* Makes blocks longer. */
void series_widen(struct series_set *s, unsigned int shift);

/* Writes the text of a label. False: the series is dropped. */
typedef bool series_name_fn(void *arg, const uint64_t *label, char *buf, size_t size);

/*
 * Gives each series its key. Those of the same text become one. Nothing can be added afterwards. -ENOMEM with the error
 * message set.
 */
int series_name(struct series_set *s, series_name_fn *name, void *arg);

#endif
