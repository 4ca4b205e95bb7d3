/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the two versions of trace.dat share; for tracedat_*.c and other containers of the same (guest streams). */
#ifndef HOSTRACE_TRACEDAT_INTERNAL_H
#define HOSTRACE_TRACEDAT_INTERNAL_H

#include "base/buffer.h"
#include "readers/ftrace/tracedat_file.h"

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
int tracedat_cpu_add(struct tracedat_file *f, unsigned int cpu, uint64_t offset, uint64_t size,
		     bool chunked);

/* Option GUEST. One that is truncated is not used: vCPU threads are then distinguished by what else is known. */
int tracedat_guest_parse(struct tracedat_file *f, struct buffer *b);
/* The vCPU threads of the guests that the file names. NULL: out of memory, with the error message set. */
struct vm_threads;
struct vm_threads *tracedat_vms_new(const struct tracedat_file *f);

int tracedat_v6(struct tracedat_file *f, uint64_t at, struct ftrace_events *events,
		struct tracedat_all_stats *stats);
int tracedat_v7(struct tracedat_file *f, struct buffer *b, struct ftrace_events *events,
		struct tracedat_all_stats *stats);

#endif
