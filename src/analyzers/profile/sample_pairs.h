/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Timed pairs: matches samples that begin something with those that end it.
 *
 * OSv has no such declaration, only names: NAME begins, NAME_ret or NAME_err ends, in the same
 * thread; mutex_lock_wait ends with mutex_lock_wake, and sched_idle belongs to its CPU. A ring
 * overwrites its oldest samples, each CPU's up to another time, so an end whose begin was
 * overwritten, or the reverse, must not be matched: an entry is dropped if the other CPU's ring
 * begins only after it.
 */
#ifndef HOSTRACE_SAMPLE_PAIRS_H
#define HOSTRACE_SAMPLE_PAIRS_H

#include "event/sample.h"

struct sample_pair {
	struct sample
		entry; /* the sample that began it; its pointers live as long as the trace, but
			  arguments that the trace does not keep only during put() */
	int64_t duration_ns; /* negative where a trace's times step back; such pairs are in no range */
	bool open; /* the trace ended first; the duration is up to its last sample */
};

struct sample_pairs;

/*
 * Calls `put` for each pair; it returns 0, or what ends the reading.
 *
 * `compat`: as OSv's own tool: names become timed only once an end was seen (so the first pair of
 * each is lost), a suffix is accepted anywhere in a name, and a nested entry is an error (-EBADMSG).
 * Otherwise the dictionary defines which names are timed, _ret and _err must end the name, and
 * entries nest (a stack per thread and name).
 */
int sample_pairs_open(struct sample_trace *t, bool compat,
		      int (*put)(void *arg, const struct sample_pair *pair), void *arg,
		      struct sample_pairs **ret);
void sample_pairs_close(struct sample_pairs *p);
DEFINE_CLEANUP(sample_pairs, struct sample_pairs *, sample_pairs_close);

/* The next sample, as sample_each() has it: 0, what put() returned, or -errno with the error message set. */
int sample_pairs_add(void *pairs, const struct sample *s);

/* After the last sample: the pairs that are still open, in order of their begins. */
int sample_pairs_end(struct sample_pairs *p);

/* ---- the pairs of a trace one by one: the data of `list-timed` ---- */

enum pair_sort { PAIRS_UNSORTED, PAIRS_BY_DURATION, PAIRS_BY_TIME };

struct pair_list_options {
	struct time_range range;
	enum pair_sort sort;
	bool compat;
};

/*
 * Calls `put` for each pair that touches the range: longest first, by the time of their begin, or in the order in
 * which they ended. Reads the trace from its start. 0, what `put` returned if not 0, or -errno with the error message
 * set.
 */
int pair_list(struct sample_trace *t, const struct pair_list_options *opt,
	      int (*put)(void *arg, const struct sample_pair *pair), void *arg);

#endif
