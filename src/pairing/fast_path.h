/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The fast path. Where a span begins and ends in one thread, the events of different threads need not be put in one
 * order: each thread's are paired straight from columns (tracefile/columns.h, event/rows.h), many at a time, on all
 * CPUs, and what the workers folded is merged at the end.
 *
 *   rounds of the file:  | r0 | r1 | r2 | r3 | r4 | r5 | ...        a round ends where the watermark rises
 *   segments:            '---- worker 1 ----''---- worker 2 ----'   pieces of work
 *   at a segment's end, by thread:  what its first begin or end met | what it left open
 *
 * Its result must equal that of the slow path (reader, pair.c, one span at a time) to the last byte of the report. So
 * it is only used where that is certain: one complete recording, nothing damaged or late, keys and labels that
 * depend on no other events. Otherwise the caller uses the slow path, which also reports what was wrong.
 */
#ifndef HOSTRACE_FAST_PATH_H
#define HOSTRACE_FAST_PATH_H

#include "pairing/run.h"

/*
 * Reads all of `r`, which must not have been read yet, and pairs it for `p`, which must be fresh: its counts are set
 * then, and *ret_state is what the spans were folded to. False: use the slow path, with the same r and a p restarted.
 */
bool fast_path_run(struct reader *r, struct pairing *p, const struct span_fold *fold,
		   const struct pairing_options *opt, void **ret_state);

#endif
