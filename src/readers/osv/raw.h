/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The rings in an OSv guest's memory, one per vCPU, as read by a debugger or from a memory
 * image:
 *
 *   +0 u64 tracepoint   +8 u64 thread   +16 char name[16]   +32 u64 time   +40 u32 cpu   +44 u32 flags
 *   flags bit 0: ten return addresses follow; then the arguments; padded to 8 bytes
 *
 * A record never crosses a 4096-byte page: where it would, a tracepoint of 0 closes the page. While
 * a record is being written its tracepoint is all ones. The write offset runs freely; the oldest
 * whole page is the one after it; older data in its own page is lost.
 *
 * The guest may have written anything there: an invalid record ends its page, and is counted.
 */
#ifndef HOSTRACE_OSV_RAW_H
#define HOSTRACE_OSV_RAW_H

#include "readers/osv/osv.h"

enum {
	OSV_RING_PAGE = 4096,
	OSV_RING_BYTES_MAX = 256 << 20, /* of one vCPU; OSv's are 1 to 4 MiB */
	OSV_RING_TRACEPOINTS_MAX = 16384,
	OSV_RING_TEXT_MAX = 1024, /* of a tracepoint's name or format */
};

struct osv_ring {
	const uint8_t *mem; /* borrowed while osv_raw_open() runs */
	uint64_t size;	    /* a multiple of OSV_RING_PAGE */
	uint64_t last;	    /* free-running write offset */
};

struct osv_raw_counts {
	uint64_t records;
	uint64_t unfinished; /* vCPUs that were writing a record: what follows it is not read */
	uint64_t bad;	     /* pages with invalid data */
};

/* Of a trace that was opened; all 0 if it is not made of rings. Owned by the trace. */
const struct osv_raw_counts *osv_raw_counts(const struct sample_trace *t);

/* A tracepoint as described by its owner; strings are allocated and owned by the receiver. */
struct osv_raw_tracepoint {
	char *name, *signature, *format;
};

/* Called once for each key that a ring holds. 0, or -errno: the key is not a tracepoint. */
typedef int osv_raw_lookup(void *ctx, uint64_t key, struct osv_raw_tracepoint *ret);

/*
 * A trace of these rings, in the order of their vCPUs; the samples are copied. `name` is for
 * messages. 0, or -errno with the error message set.
 */
int osv_raw_open(const char *name, const struct osv_ring *rings, unsigned int nr,
		 osv_raw_lookup *lookup, void *ctx, struct sample_trace **ret,
		 struct osv_raw_counts *counts);

/* ---- images in files: a description in JSON, see raw.c ---- */

bool osv_is_rings(const uint8_t *head, size_t len);
int osv_raw_files_open(const char *path, struct sample_trace **ret);

#endif
