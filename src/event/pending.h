/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Records that wait until it is certain that no older one can follow. A recorder drains its CPUs one after the
 * other, so its output is a sequence of nearly sorted runs; with every round it records up to which time all records
 * are present (the watermark). A reader adds records, sorts, and returns those older than the watermark.
 *
 *   slots:  | returned | ready, sorted | waiting: sorted up to the newest round ...
 *           0            head            ready                                     nr
 *
 * Memory is bounded: beyond PENDING_BYTES_MAX the older half becomes ready at once, and records that then arrive too
 * late are returned late and counted. Blocks and the copy that compacts them need up to half as much again.
 */
#ifndef HOSTRACE_PENDING_H
#define HOSTRACE_PENDING_H

#include "event/reader.h"
#include "event/records.h"

enum {
	PENDING_BYTES_MAX = 32 << 20, /* records waiting, with their slots */
	PENDING_BLOCK = 1 << 20,      /* maximum size of one pending_memory() */
};

struct pending_slot {
	uint64_t time_ns;
	const uint8_t *data; /* in a block of pending's */
};

struct pending_block;

struct pending {
	struct pending_slot *slots, *spare;
	uint32_t *runs;
	size_t head, ready, nr, max;
	struct pending_block *blocks, *pool;
	size_t block_bytes; /* of the blocks in use */
	size_t live_bytes;  /* of the records from head to nr */
	uint64_t newest_ns; /* newest time made ready */
	uint64_t late;	    /* records added after a newer one was made ready */
	uint64_t since_ns,
		until_ns; /* `lost` records are counted in this window; see struct read_hint */
	struct event_shapes shapes;
};

void pending_deinit(struct pending *p);

/*
 * Memory for len <= PENDING_BLOCK bytes of records, 8-aligned; NULL: out of memory. What was returned before
 * becomes invalid.
 */
uint8_t *pending_memory(struct pending *p, size_t len);

/* Space for nr more slots: 0 or -ENOMEM with the error message set. */
int pending_reserve(struct pending *p, size_t nr);

/* Adds a record that is in pending_memory(); its space must have been reserved. */
static inline void pending_add(struct pending *p, uint64_t time_ns, const uint8_t *data,
			       size_t size)
{
	p->slots[p->nr++] = (struct pending_slot){time_ns, data};
	p->live_bytes += size;
	p->late += time_ns < p->newest_ns;
}

/* Sorts the waiting records and makes those older than watermark_ns ready (UINT64_MAX: all). */
void pending_release(struct pending *p, uint64_t watermark_ns);

/* True if more records wait than memory allows: then pending_release_half() must be called. */
static inline bool pending_full(const struct pending *p)
{
	return p->live_bytes + (p->nr - p->head) * 2 * sizeof(*p->slots) > PENDING_BYTES_MAX;
}

void pending_release_half(struct pending *p);

/*
 * Returns up to BATCH_MAX ready records (head < ready). `types` has a type for each id that a record added may
 * have. Counts events and losses in info.
 */
void pending_batch(struct pending *p, const struct event_type *const *types,
		   struct trace_info *info, struct batch *batch);

#endif
