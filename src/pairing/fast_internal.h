/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Behind fastlane.h: the plan that all workers share, a worker, and what it knows of chunks, slices and threads. */
#ifndef HOSTRACE_FASTLANE_INTERNAL_H
#define HOSTRACE_FASTLANE_INTERNAL_H

#include "pairing/fast.h"
#include "pairing/pair_private.h"
#include "tracefile/columns.h"
#include "tracefile/map.h"

enum {
	LANE_THREADS_MAX = 16384, /* of one segment */
	LANE_CARRY_MAX = 65536,	  /* events of a thread that wait for the next round */
	LANE_REFUSE = 128,	  /* beside ROLE_*: an event that the lane must not meet */
};

/* "Not here": found by a worker, and no error, as the long way remains. */
#define LANE_NO (-EAGAIN)

/* Where a number of a begin comes from. */
struct lane_value {
	enum {
		LANE_ZERO,
		LANE_PID,
		LANE_TID,
		LANE_VCPU,
		LANE_CPU,
		LANE_FIELD, /* `field`, with `high` above its 32 bits if there is one */
		LANE_DIR,   /* `field` is 2 (kvm_mmio's type: a write) */
		LANE_PAGE,
	} source;
	const struct field *field, *high;
};

struct lane_round {
	size_t first, end; /* chunks */
	uint64_t from_ns, watermark_ns; /* what it hands out lies between */
};

/* A report of lost events that the analyzer looks at. */
struct lane_loss {
	uint64_t time_ns;
	uint64_t blind_until_ns; /* the newest that it or an earlier one told */
};

/* What a segment leaves for the one behind it: by thread. */
struct lane_open {
	uint64_t start_ns, weight, bytes, label[LABELS_MAX];
	uint64_t losses; /* reports before it began; one less if it began within a window of loss */
	bool marked;
};

struct lane_border {
	uint32_t pid, tid;
	enum { LANE_NOTHING, LANE_BEGIN, LANE_END } first; /* what came first */
	uint64_t first_ns;
	bool first_marked; /* a mark came before that: of a span from before */
	enum { LANE_UNKNOWN, LANE_CLOSED, LANE_OPEN } state;
	struct lane_open open;
};

struct lane_segment {
	size_t first, end; /* rounds */
	struct lane_border *border;
	unsigned int nr_borders;
};

struct lane_plan {
	struct trace_source src;
	const struct fastlane_fold *fold;
	bool *wanted; /* by chunk */
	const struct event_type *begin;
	uint8_t role[1 << 16]; /* by id in the file: ROLE_BEGIN, ROLE_END, ROLE_MARK, LANE_REFUSE */
	bool point;	       /* a begin is all there is */
	unsigned int nr_labels;
	struct lane_value label[LABELS_MAX];
	const struct field *weight, *size, *duration, *skip_zero;
	bool has_lost;		  /* as the file says */
	struct lane_loss *losses; /* in order of time */
	size_t nr_losses;
	uint64_t nr_lost_records, lost; /* of all kinds; events that they tell of */
	struct lane_round *rounds;
	struct lane_segment *segments;
	size_t nr_rounds, nr_segments, next_segment;
	size_t round_bytes_max; /* of records, with what waits from before */
	uint64_t bytes;
	unsigned int jobs;
};

/* A chunk, decoded as far as it is needed. Lives as long as its round. */
struct lane_chunk {
	struct chunk_header h;
	unsigned int nr_kinds, begin_kind;
	uint8_t role[COLUMNS_KINDS_MAX];
	const uint64_t *step[COLUMNS_KINDS_MAX]; /* ns since the thread's record before, by row */
	const uint8_t *sequence;
	const uint64_t *label[LABELS_MAX]; /* by row of the begins; NULL: the same for a whole slice */
	const uint64_t *weight, *bytes, *duration;
	const uint64_t *skip; /* 0: leave it out */
};

/* A thread's records in one chunk. */
struct lane_slice {
	struct lane_slice *next;
	const struct lane_chunk *chunk;
	uint32_t start, nr;  /* in chunk->sequence */
	uint32_t pid, tid;
	uint16_t vcpu;
	uint64_t first_ns, last_ns, base_ns; /* base: what the first step is counted from */
	bool rising; /* no record is older than the one before */
	bool pure;   /* begins and ends alternate, and there is nothing else */
	const uint32_t *row_end; /* by kind: behind its last row */
	uint32_t row[];		 /* by kind: its first row */
};

/* One event on its own, with all that is needed of it. */
struct lane_item {
	uint64_t time_ns, order;
	uint8_t role;
	const struct lane_slice *slice; /* whence; NULL: from an earlier round */
	struct lane_open open;		/* of a begin */
};

struct lane_thread {
	struct lane_border b;
	struct lane_slice *slices, **tail; /* of the round */
	struct lane_item *carry;	   /* events younger than the watermark, in order */
	unsigned int nr_carry, max_carry;
};

struct lane_block;

struct lane_worker {
	struct lane_plan *plan;
	struct chunk_loader *loader;
	struct columns *columns;
	void *state; /* the fold's */
	int err;

	struct lane_block *blocks, *spare; /* what chunks and slices of a round are made of */
	uint64_t *scratch;

	struct lane_thread *threads;
	uint32_t *slot; /* threads by hash, counted from 1 */
	unsigned int nr_threads, max_threads; /* ever: their `carry` is kept */
	struct lane_item *items; /* a round's events that had to be sorted */
	size_t max_items;

	struct { /* spans on their way to the fold */
		unsigned int nr;
		uint64_t ns[SPANS_BATCH], end_ns[SPANS_BATCH], weight[SPANS_BATCH],
			bytes[SPANS_BATCH], label[LABELS_MAX][SPANS_BATCH];
		uint8_t marked[SPANS_BATCH];
	} out;
	uint64_t same[LABELS_MAX][SPANS_BATCH]; /* labels that a whole slice has in common */
	uint64_t ends[SPANS_BATCH];
	uint64_t spans, begins, unmatched_begin, unmatched_end, unknown, lost_records;
	struct {
		uint64_t after_ns, before_ns; /* between them, both excluded, ... */
		uint64_t losses, blind_until_ns; /* ... this holds */
	} now;
	bool doubt; /* an event has the time of a loss: which came first? */
};

/* Frees what the round's chunks were decoded to. */
void lane_round_end(struct lane_worker *w);
void lane_blocks_free(struct lane_worker *w);

/* Loads a chunk and hands its slices to their threads. 0, LANE_NO or -errno. */
int lane_chunk_load(struct lane_worker *w, const struct chunk_ref *ref);

/* The values of a field of a kind of w->columns, as event_u64() gives them. NULL: there are none to be had. */
uint64_t *lane_field(struct lane_worker *w, unsigned int kind, const struct field *f);
uint64_t *lane_steps(struct lane_worker *w, unsigned int kind); /* its time column */

/* The state of a thread; NULL: there are too many. */
struct lane_thread *lane_thread_get(struct lane_worker *w, uint32_t pid, uint32_t tid);

/*
 * Pairs what all threads have in this round and is older than its watermark, and keeps the rest. `prime`: only keeps
 * what is not older, the rest is another segment's.
 */
int lane_round_pair(struct lane_worker *w, uint64_t watermark_ns, bool prime);

/* How many reports of lost events come before this time; and w->now is right for it. */
uint64_t lane_losses(struct lane_worker *w, uint64_t time_ns);

/* All reports of lost events of the file, for the plan. False: they cannot be told apart from others. */
bool lane_losses_read(struct lane_worker *w, const struct pairing *p);

/* Hands what was gathered to the fold. */
int lane_flush(struct lane_worker *w);

/* One span, from its begin's side, that ends at end_ns. */
int lane_emit(struct lane_worker *w, const struct lane_open *o, uint64_t end_ns);

#endif
