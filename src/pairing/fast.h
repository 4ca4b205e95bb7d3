/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The fast lane. Where a span begins and ends in one thread, nobody needs the events of all threads in one order: each
 * thread's are paired straight from the columns of the chunks (tracefile/columns.h), many at a time, on all CPUs, and
 * what the workers folded is merged at the end.
 *
 *   rounds of the file:  | r0 | r1 | r2 | r3 | r4 | r5 | ...        a round ends where the watermark rises
 *   segments:            '---- worker 1 ----''---- worker 2 ----'   pieces of work
 *   at a segment's end, by thread:  what its first begin or end met | what it left open
 *
 * It must come to the same as the long way (reader, pair.c, view->span), to the last byte of the report. So it only
 * runs where that can be proved: one .hrt file, whole, nothing damaged or late, keys and labels that need no
 * other events. Else it says no, and the caller goes the long way, which also tells what was wrong.
 */
#ifndef HOSTRACE_FASTLANE_H
#define HOSTRACE_FASTLANE_H

#include "event/reader.h"
#include "pairing/pair.h"
#include "pairing/spans.h"

/* Who folds the spans. All functions but spans() are called by the caller's thread. */
struct fastlane_fold {
	void *arg;
	void *(*open)(void *arg); /* a state for one worker; NULL: out of memory */
	int (*spans)(void *state, const struct spans *s);
	int (*merge)(void *arg, void *state); /* into the whole; -errno: it cannot be */
	void (*close)(void *state);
	bool wants_ends; /* spans.end_ns */
};

/*
 * Reads all of `r`, which must not have been read yet, and pairs it for `p`, which must be fresh: its counts are set.
 * jobs: workers, 0 for one a CPU. 1: done; 0: go the long way, with r as it is and p and the folded whole made anew.
 */
int fastlane_run(struct reader *r, struct pairing *p, unsigned int jobs,
		 const struct fastlane_fold *fold);

/* Is the analyzer of such a kind that the fast lane may be worth a try? */
bool fastlane_suits(const struct pairing *p);

/* For tests, whose files are small: how much a worker takes at a time; 0: as usual. */
extern size_t fastlane_segment_bytes;

#endif
