/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Pairs a whole trace: on the fast path (fast_path.c) where its result is the same, else event by event. */
#ifndef HOSTRACE_PAIRING_RUN_H
#define HOSTRACE_PAIRING_RUN_H

#include "event/reader.h"
#include "pairing/pair.h"
#include "pairing/spans.h"

struct pairing_options {
	unsigned int jobs;    /* number of workers, 0: one per CPU */
	bool no_fast_path;    /* so does HOSTRACE_FAST_PATH=0 in the environment, to compare both */
	size_t segment_bytes; /* work that a worker takes at a time; 0: the default. For tests, whose files are small */
};

enum { PAIRING_JOBS_MAX = 1 + FALLBACKS_MAX };

/* An analyzer that is run. */
struct pairing_job {
	struct pairing *pairing; /* fresh; pairing_run() sets where its spans go */
	struct span_fold fold;
	void *state; /* set by pairing_run() to what was folded, or NULL; closed by the caller */
};

/*
 * Reads all of `r`, which must not have been read yet. job[1] up to job[nr - 1] are the fallbacks of job[0]: *ret_used
 * is the first of all that begins any span, 0 if none does. nr <= PAIRING_JOBS_MAX. The caller then calls
 * pairing_end() on that one. 0 or -errno with the error message set.
 */
int pairing_run(struct reader *r, struct pairing_job *job, unsigned int nr,
		const struct pairing_options *opt, unsigned int *ret_used);

/* The same in steps, for a caller that reads for others as well. */
struct pairing_run {
	struct pairing_job *job;
	unsigned int nr;
	unsigned int used; /* the first job with a begin; nr: none has one yet */
};

/* On the fast path, from what `r` has not yet returned. False: begin, and pass all events. */
bool pairing_run_columns(struct pairing_run *run, struct reader *r,
			 const struct pairing_options *opt);
int pairing_run_begin(struct pairing_run *run);
int pairing_run_event(struct pairing_run *run, const struct event *ev);
unsigned int pairing_run_used(const struct pairing_run *run);

/*
 * The fast path alone (fast_path.c). Reads all of `r`, which must not have been read yet, and pairs it for `p`, which
 * must be fresh: its counts are set then, and *ret_state is what the spans were folded to. False: use the slow path,
 * with the same r and a p restarted.
 */
bool fast_path_run(struct reader *r, struct pairing *p, const struct span_fold *fold,
		   const struct pairing_options *opt, void **ret_state);

#endif
