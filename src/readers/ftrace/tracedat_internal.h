/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the two versions of trace.dat share; for tracedat_*.c and other containers of the same (guest streams). */
#ifndef HOSTRACE_TRACEDAT_INTERNAL_H
#define HOSTRACE_TRACEDAT_INTERNAL_H

#include "base/buffer.h"
#include "readers/ftrace/tracedat_reader.h"

/* Options and sections by number, as trace-cmd.dat.v7(5) lists them. */
enum {
	TRACEDAT_DONE = 0,
	TRACEDAT_CPUSTAT = 2,
	TRACEDAT_BUFFER = 3,
	TRACEDAT_TRACECLOCK = 4,
	TRACEDAT_UNAME = 5,
	TRACEDAT_TRACEID = 11,
	TRACEDAT_TIME_SHIFT = 12,
	TRACEDAT_GUEST = 13,
	TRACEDAT_TSC2NSEC = 14,
	TRACEDAT_HEADERS = 16,
	TRACEDAT_FTRACE_FORMATS = 17,
	TRACEDAT_FORMATS = 18,
	TRACEDAT_KALLSYMS = 19,
	TRACEDAT_CMDLINES = 21,
	TRACEDAT_BUFFER_TEXT = 22,
};

struct tracedat_all_stats {
	struct tracedat_stats *cpu;
	unsigned int nr;
};

/* Bytes of the file, followed by a NUL. To be freed. */
int tracedat_load(const struct tracedat_file *f, uint64_t offset, uint64_t len, uint8_t **ret);

/* A NUL-terminated text, "" and cut if it does not end; u64 length and bytes. */
const char *tracedat_text(struct buffer *b);
const uint8_t *tracedat_sized(struct buffer *b, size_t *ret_len);

/* The parts, as they are in both versions. */
int tracedat_headers(struct tracedat_file *f, struct buffer *b);
int tracedat_ftrace_formats(struct buffer *b, struct ftrace_events *events);
int tracedat_formats(struct buffer *b, struct ftrace_events *events);
int tracedat_kallsyms(struct tracedat_file *f, struct buffer *b);
int tracedat_cmdlines(struct tracedat_file *f, struct buffer *b);
int tracedat_option(struct tracedat_file *f, unsigned int id, struct buffer *b,
		    struct tracedat_all_stats *stats);
/* TIME_SHIFT, of which a file has one; what makes no sense is skipped (shift_broken). */
int tracedat_shifts_take(struct tracedat_file *f, struct buffer *b);
/* One CPU's statistics, as the kernel prints them after a line "CPU: N"; then all to f's CPUs. */
int tracedat_stats_take(struct tracedat_all_stats *all, const char *text);
void tracedat_stats_give(struct tracedat_file *f, const struct tracedat_all_stats *all);
void tracedat_clock_take(struct tracedat_file *f, const char *text);
/* Notes a buffer whose CPUs were added; "": the main one. */
void tracedat_buffer_add(struct tracedat_file *f, const char *name);
int tracedat_cpu_add(struct tracedat_file *f, unsigned int cpu, uint64_t offset, uint64_t size,
		     bool chunked);

/*
 * Are these bytes of the file no other CPU's? Each CPU is read by itself: a file that named the same ones for all would
 * take time for each. -EBADMSG with the error message set.
 */
int tracedat_region_check(const struct tracedat_file *f, unsigned int cpu, uint64_t offset,
			  uint64_t size, bool chunked);

/* Option GUEST. One that is truncated is not used: vCPU threads are then distinguished by what else is known. */
int tracedat_guest_parse(struct tracedat_file *f, struct buffer *b);
/* The vCPU threads of the guests that the file names. NULL: out of memory, with the error message set. */
struct vm_threads;
struct vm_threads *tracedat_vms_new(const struct tracedat_file *f);

int tracedat_v6(struct tracedat_file *f, uint64_t at, struct ftrace_events *events,
		struct tracedat_all_stats *stats);
int tracedat_v7(struct tracedat_file *f, struct buffer *b, struct ftrace_events *events,
		struct tracedat_all_stats *stats);

/* What the workers of the first pass find (tracedat_scan.c), for tracedat_join.c. */

struct piece_found {
	uint64_t first, last; /* times; no event: nr is 0 */
	uint64_t nr_lost, uncounted, damaged;
	uint32_t nr, pages;
	uint32_t borders, early; /* pages that may follow a gap: after an event of the piece, before its first */
	bool cut, late;
};

/* Events lost before a page. */
struct loss_found {
	size_t piece;
	uint64_t from; /* time of the event before it in the piece */
	uint64_t page, next, lost; /* the page's time; that of its first event, UINT64_MAX if it has none */
	bool has_from;
};

struct thread_found {
	uint64_t key; /* tid << 16 | vCPU; RECORD_NO_VCPU: only its name may tell */
	size_t piece;
};

struct scan_job {
	struct tracedat *t;
	const struct tracedat_pieces *pieces;
	struct piece_found *found; /* by piece */
	const uint16_t *own_vcpu;  /* by slot, see ftrace_events_own_vcpus() */
	unsigned int slots;	   /* ftrace_events_slots() */
	size_t next, kept_bytes;
};

struct scan_worker {
	struct scan_job *job;
	struct tracedat_pages pages;
	uint64_t *nr, *first_time; /* by slot */
	uint64_t no_id; /* events too short to have one */
	struct hash_table threads; /* of struct thread_found */
	uint64_t newest_key;
	struct loss_found *loss;
	size_t nr_losses, max_losses;
	int err;
};

/* Fills t->scan, t->vms and the CPUs' `unplaced`. -errno with the error message set. */
int tracedat_scan_join(struct scan_job *job, struct scan_worker *w, unsigned int jobs);

#endif
