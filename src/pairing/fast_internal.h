/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Internals of the fast path: the plan that all workers share, a worker, its chunks, slices and threads. */
#ifndef HOSTRACE_FAST_INTERNAL_H
#define HOSTRACE_FAST_INTERNAL_H

#include "pairing/pair_private.h"
#include "pairing/run.h"
#include "tracefile/columns.h"
#include "tracefile/map.h"

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

/*
 * Reads all of `r`, which must not have been read yet, and pairs it for `p`, which must be fresh: its counts are set
 * then, and *ret_state is what the spans were folded to. False: use the slow path, with the same r and a p restarted.
 */
bool fast_path_run(struct reader *r, struct pairing *p, const struct span_fold *fold,
		   const struct pairing_options *opt, void **ret_state);

enum {
	FAST_JOBS_MAX = 64,
	FAST_THREADS_MAX = 16384, /* of one segment */
	FAST_CARRY_MAX = 65536,	  /* events of a thread kept for the next round */
	ROLE_FOREIGN = 128,	  /* besides ROLE_*: an event that the fast path does not handle */
	FAST_CPU_UNKNOWN = 1 << 16,
};

/* Found by a worker: the slow path must be used. Not an error. */
#define FAST_UNSUITED (-EAGAIN)

/* Source of a label of a begin. */
struct fast_value {
	enum {
		FAST_LACKING, /* the event does not have it */
		FAST_PID,
		FAST_TID,
		FAST_VCPU,
		FAST_CPU,
		FAST_FIELD, /* `field`, with `high` (if not NULL) in the upper 32 bits */
		FAST_DIR,   /* `field` is 2 (kvm_mmio's type: a write) */
		FAST_PAGE,
	} source;
	const struct field *field, *high;
};

/* A part of the input that is loaded at once: a chunk of a .hrt file, or a reader's rows (event/rows.h). */
struct fast_piece {
	uint64_t first_ns, last_ns;
	uint64_t watermark_ns; /* no event of a later piece is older; 0: not known */
	uint32_t bytes;
	bool wanted;
};

struct fast_round {
	size_t first, end; /* pieces */
	uint64_t from_ns, watermark_ns; /* times of the events that it pairs */
};

/* A report of lost events that the analyzer looks at. */
struct fast_loss {
	uint64_t time_ns;
	uint64_t blind_until_ns; /* newest end of loss in this or an earlier report */
	uint32_t cpu; /* FAST_CPU_UNKNOWN, or: the order among events of this CPU is known. It comes ... */
	bool first;   /* ... before those of the same time, else after them */
};

/* An open begin. */
struct fast_open {
	uint64_t start_ns, weight, bytes, label[LABELS_MAX];
	uint64_t losses; /* reports before it began; one less if it began within a window of loss */
	bool marked;
};

/* What a segment leaves, by thread, to be joined with the segments before and after it. */
struct fast_border {
	uint32_t pid, tid;
	enum { FAST_NOTHING, FAST_BEGIN, FAST_END } first; /* its first begin or end */
	uint64_t first_ns;
	uint32_t first_cpu;
	bool first_marked; /* a mark came before it: of a span of an earlier segment */
	enum { FAST_UNKNOWN, FAST_CLOSED, FAST_OPEN } state;
	struct fast_open open;
};

struct fast_segment {
	size_t first, end; /* rounds */
	struct fast_border *border;
	unsigned int nr_borders;
};

struct fast_plan {
	struct trace_source src; /* of a .hrt file */
	const struct rows_ops *rows; /* of another reader; NULL: it is a .hrt file */
	struct reader *reader;
	struct rows_source rows_source;
	struct rows_request request;
	struct rows_plan *rows_plan;
	const struct span_fold *fold;
	struct fast_piece *pieces;
	size_t nr_pieces;
	const struct event_type *begin;
	uint8_t role[1 << 16]; /* by id in the file, or kind of rows: ROLE_BEGIN, ROLE_END, ROLE_MARK, ROLE_FOREIGN */
	bool point;	       /* the analyzer has no end */
	unsigned int nr_labels;
	struct fast_value label[LABELS_MAX];
	const struct field *weight, *size, *duration, *skip_zero;
	bool has_lost;		  /* according to the file */
	struct fast_loss *losses; /* in order of time */
	size_t nr_losses;
	uint64_t nr_lost_records, lost; /* reports of any type; events that they report as lost */
	struct fast_round *rounds;
	struct fast_segment *segments;
	size_t nr_rounds, nr_segments, next_segment;
	size_t round_bytes_max; /* of records */
	uint64_t bytes;
	uint64_t since_ns, until_ns; /* the time window; see pairing_window() */
	unsigned int jobs;
};

/* A piece, decoded as far as it is needed. Freed at the end of its round. */
struct fast_chunk {
	uint64_t first_ns, last_ns;
	uint32_t cpu; /* of all its events, or FAST_CPU_UNKNOWN */
	unsigned int nr_kinds, begin_kind;
	uint8_t role[COLUMNS_KINDS_MAX];
	const uint64_t *step[COLUMNS_KINDS_MAX]; /* ns since the thread's previous record, by row */
	const uint8_t *sequence;
	const uint64_t *label[LABELS_MAX]; /* by row of the begins; NULL: constant within a slice */
	const uint64_t *weight, *bytes, *duration;
	const uint64_t *skip; /* where it is 0, the begin is skipped */
};

/* A thread's records in one chunk. */
struct fast_slice {
	struct fast_slice *next;
	const struct fast_chunk *chunk;
	uint32_t start, nr;  /* in chunk->sequence */
	uint32_t pid, tid;
	uint16_t vcpu;
	uint64_t first_ns, last_ns, base_ns; /* base: what the first step is relative to */
	bool rising; /* in order of time */
	bool pure;   /* begins and ends alternate, and there is nothing else */
	const uint32_t *row_end; /* by kind: after its last row */
	uint32_t row[];		 /* by kind: its first row */
};

/* One event, read from its columns. */
struct fast_item {
	uint64_t time_ns, order;
	uint32_t cpu;
	uint8_t role;
	const struct fast_slice *slice; /* NULL: from an earlier round */
	struct fast_open open;		/* of a begin */
};

struct fast_thread {
	struct fast_border b;
	struct fast_slice *slices, **tail; /* of the round */
	struct fast_item *carry;	   /* events younger than the watermark, in order */
	unsigned int nr_carry, max_carry;
};

struct fast_block;

/* The place of a thread in fast_worker.threads. */
struct fast_thread_place {
	uint64_t id;
	uint32_t index;
};

static inline uint64_t fast_thread_id(uint32_t pid, uint32_t tid)
{
	return (uint64_t)pid << 32 | tid;
}

struct fast_worker {
	struct fast_plan *plan;
	struct chunk_loader *loader; /* these two: of a .hrt file */
	struct columns *columns;
	struct rows_cursor *cursor; /* of another reader */
	const struct rows_data *rows;    /* while a piece of it is loaded, else NULL */
	void *state; /* the fold's */
	int err;

	struct fast_block *blocks, *spare; /* memory for the chunks and slices of a round */
	uint64_t *scratch;

	struct fast_thread *threads;
	struct hash_table places; /* in threads, by pid and tid */
	unsigned int nr_threads, max_threads; /* so far: their `carry` is allocated */
	struct fast_item *items; /* a round's events that had to be sorted */
	size_t max_items;

	struct { /* spans not yet handed to the fold */
		unsigned int nr;
		uint64_t ns[SPANS_BATCH], end_ns[SPANS_BATCH], weight[SPANS_BATCH],
			bytes[SPANS_BATCH], label[LABELS_MAX][SPANS_BATCH];
		uint8_t marked[SPANS_BATCH];
	} out;
	uint64_t same[LABELS_MAX][SPANS_BATCH]; /* labels that are constant within a slice */
	uint64_t ends[SPANS_BATCH];
	uint64_t spans, before, begins, unmatched_begin, unmatched_end, unknown,
		lost_records;
	struct {
		uint64_t after_ns, before_ns; /* between them, both excluded, ... */
		uint64_t losses, blind_until_ns; /* ... this holds */
	} now;
	uint32_t cpu; /* of the events that are being paired */
	bool doubt; /* an event has the time of a loss: their order is not known */
};

/* ---- fast_plan.c ---- */

/* Fills a zeroed plan. False: the slow path must be used; debug output gives the reason. */
bool fast_plan_make(struct fast_plan *plan, struct reader *r, struct pairing *p,
		    const struct span_fold *fold, const struct pairing_options *opt);
void fast_plan_free(struct fast_plan *plan);

/* The number of reports of lost events before an event of this time on CPU w->cpu; sets w->now. */
uint64_t fast_losses(struct fast_worker *w, uint64_t time_ns);

/* ---- fast_load.c ---- */

/* Loads a piece and appends its slices to their threads. 0, FAST_UNSUITED or -errno. */
int fast_piece_load(struct fast_worker *w, size_t i);

/* Sorts the slices of a thread that moved from one CPU to another and back, by their first times. */
void fast_slices_sort(struct fast_thread *th);

/* The values of a field of a kind of w->columns or w->rows, as event_u64() returns them. NULL: not available. */
uint64_t *fast_field(struct fast_worker *w, unsigned int kind, const struct field *f);
uint64_t *fast_steps(struct fast_worker *w, unsigned int kind); /* its time column */

/* Frees the decoded pieces of the round. */
void fast_round_end(struct fast_worker *w);
void fast_blocks_free(struct fast_worker *w);

/* ---- fast_pair.c ---- */

/*
 * Pairs all threads' events of this round that are older than its watermark, and keeps the others for the next round.
 * `prime`: keeps the others, but pairs nothing: the older ones belong to another segment.
 */
int fast_round_pair(struct fast_worker *w, uint64_t watermark_ns, bool prime);

/* Adds the span from this begin to end_ns to w->out; hands the spans in w->out to the fold. */
int fast_emit(struct fast_worker *w, const struct fast_open *o, uint64_t end_ns);
int fast_flush(struct fast_worker *w);

#endif
