/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One CPU of a trace.dat: its events in order, and where some are missing. The kernel and trace-cmd say this in three
 * ways, of which only the first has a place:
 *
 *   a page's own flag    events were lost before this page, with or without their number    -> STREAM_LOST
 *   the statistics       entries: still in the kernel's buffer when the recording ended     -> STREAM_LOST, at the end
 *   the statistics       overrun, dropped: more than the pages say; read: more than the file holds, as trace-cmd lost
 *                        whole pages. They may be missing at every boundary of two pages     -> STREAM_GAP at each
 */
#ifndef HOSTRACE_CPU_STREAM_H
#define HOSTRACE_CPU_STREAM_H

#include "readers/ftrace/ftrace.h"
#include "readers/ftrace/tracedat_file.h"

enum stream_head { STREAM_EVENT, STREAM_LOST, STREAM_GAP, STREAM_END };

/* What one CPU has had so far. */
struct cpu_totals {
	uint64_t last;	       /* time of the newest event, 0: none yet */
	uint64_t nr_read, nr_lost; /* events so far; lost ones with a place */
	uint64_t uncounted;    /* places that do not say how many were lost: each counts as one */
	uint64_t damaged;      /* pages read only in part */
	bool cut, end_reported;
};

struct cpu_stream {
	const struct tracedat_file *file;
	const struct tracedat_cpu *info;
	struct tracedat_pages pages;
	struct ftrace_page page;
	bool unplaced; /* there are losses without a place: boundaries of pages are gaps */

	enum stream_head head;
	uint64_t time;	/* of the head, as the file has it */
	uint64_t until; /* STREAM_LOST, STREAM_GAP: end of the interval; INT64_MAX: the end of the trace */
	uint64_t lost;	/* STREAM_LOST: how many events */
	const uint8_t *entry; /* STREAM_EVENT; valid until the next step */
	size_t len;

	struct cpu_totals total;
};

/* Begins from the first page, also again; steps to the first head. 0 or -errno with the error message set. */
int cpu_stream_begin(struct cpu_stream *s, const struct tracedat_file *f,
		     const struct tracedat_cpu *info, bool unplaced);
void cpu_stream_deinit(struct cpu_stream *s);

/* To the next event, loss, gap or end. 0 or -errno with the error message set. */
int cpu_stream_step(struct cpu_stream *s);

/* After the end: events that are missing somewhere in the middle; those that stayed in the kernel's buffer. */
uint64_t cpu_unplaced(const struct tracedat_cpu *info, const struct cpu_totals *t);
uint64_t cpu_left(const struct tracedat_cpu *info, const struct cpu_totals *t);

#endif
