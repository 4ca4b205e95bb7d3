/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The flight recorder's memory: the newest chunks of records, raw, and from discarded chunks the newest naming
 * event of each object, because the kept events refer to them.
 */
#ifndef HOSTRACE_TRACEFILE_RING_H
#define HOSTRACE_TRACEFILE_RING_H

#include "base/cleanup.h"
#include "record.h"
#include "tracefile/out.h"

struct trace_ring;

struct trace_chunk {
	struct chunk_header h;
	struct chunk_count *counts; /* h.nr_counts entries */
	uint8_t *data;		    /* records */
	size_t len;
};

/* NULL: out of memory. */
struct trace_ring *trace_ring_new(uint64_t max_bytes);
void trace_ring_free(struct trace_ring *ring);

/* Keeps a copy; the oldest chunks go as long as max_bytes stay. 0 or -ENOMEM. */
int trace_ring_push(struct trace_ring *ring, const struct trace_chunk *chunk);

/*
 * Passes on what is kept, naming events first, oldest first; of chunks that end before since_ns
 * only the naming events. Stops at the first error and returns it.
 */
int trace_ring_walk(const struct trace_ring *ring, uint64_t since_ns,
		    int (*visit)(void *arg, const struct trace_chunk *chunk), void *arg);

/* Number of naming events dropped because the table was full. */
uint64_t trace_ring_names_dropped(const struct trace_ring *ring);

DEFINE_CLEANUP(trace_ring, struct trace_ring *, trace_ring_free);
#define _cleanup_trace_ring_ _cleanup_(trace_ring_cleanup_)

#endif
