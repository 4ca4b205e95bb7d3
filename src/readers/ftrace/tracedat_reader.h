/* SPDX-License-Identifier: GPL-2.0-or-later */
/* An open trace.dat: for tracedat.c (events in order of time), tracedat_scan.c (the first pass), tracedat_rows.c. */
#ifndef HOSTRACE_TRACEDAT_READER_H
#define HOSTRACE_TRACEDAT_READER_H

#include "base/saturate.h"
#include "readers/ftrace/tracedat_file.h"
#include "readers/ftrace/vm_threads.h"

enum cpu_stream_head { CPU_STREAM_EVENT, CPU_STREAM_LOST, CPU_STREAM_GAP, CPU_STREAM_END };

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

	enum cpu_stream_head head;
	uint64_t time;	/* of the head, as the file has it */
	uint64_t until; /* CPU_STREAM_LOST, CPU_STREAM_GAP: end of the interval; INT64_MAX: the end of the trace */
	uint64_t lost;	/* CPU_STREAM_LOST: how many events */
	const uint8_t *entry; /* CPU_STREAM_EVENT; valid until the next step */
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

/* A piece of a CPU's pages that has events; times are the file's. */
struct scanned_piece {
	struct tracedat_piece at;
	uint32_t bytes, nr_events;
	uint64_t first, last;
};

/* As CPU_STREAM_LOST. */
struct scanned_loss {
	uint64_t time, until, lost;
	uint16_t cpu; /* index in the file's */
	bool first;   /* no event of its CPU precedes it */
};

/* What a pass over all events has found. Its size is about 1/1000 of that of the unpacked pages. */
struct tracedat_scan {
	struct scanned_piece *piece; /* in order of CPUs, then of the file */
	size_t nr_pieces;
	struct scanned_loss *loss; /* in the same order */
	size_t nr_losses, max_losses;
	struct cpu_totals *total; /* by CPU: as a cpu_stream has them at the end */
	uint64_t *nr, *first_time; /* by slot (ftrace_events_slots()): events, time of the first */
	uint64_t nr_gaps;	   /* see CPU_STREAM_GAP */
	uint64_t unknown;	  /* events without a usable format */
	struct rows_piece *row_piece; /* of tracedat_rows.c, owned; piece[] is then in its order */
	struct rows_loss *row_loss;
	bool unordered; /* a CPU's clock went backwards, or the order of a loss and an event is not known */
};

struct tracedat {
	struct reader reader;
	struct tracedat_file file;
	struct ftrace_events *events;
	struct vm_threads *vms; /* NULL: of a guest */
	struct tracedat_scan *scan; /* NULL: of a guest */
	struct cpu_stream *cpu;
	uint8_t *arena;
	uint64_t unknown; /* events without a usable format */
	bool guest;
	bool ticks;	    /* times are TSC ticks, to be converted by the map */
	double ns_per_tick; /* of the map; ns 0 is tick 0 plus offset */
	int64_t ns_offset;
};

static inline uint64_t tracedat_time(const struct tracedat *t, uint64_t time)
{
	if (!t->ticks)
		return time;
	return uint64_of_double((double)time * t->ns_per_tick + 0.5) + (uint64_t)t->ns_offset;
}

/*
 * A first pass over a host's events, on all CPUs of this machine: only at its end it is known whether several VMs were
 * recorded, and which CPUs lost events. Sets t->vms, t->scan and the CPUs' `unplaced`.
 */
int tracedat_scan(struct tracedat *t);
void tracedat_scan_free(struct tracedat *t);

/* Warns of what was lost, damaged or skipped, after the last event. */
void tracedat_end_report(struct tracedat *t);

#endif
