/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Internals of the fast path: the plan that all workers share, a worker, its chunks, slices and threads. */
#ifndef HOSTRACE_FAST_INTERNAL_H
#define HOSTRACE_FAST_INTERNAL_H

#include "base/hash.h"
#include "event/reader.h"
#include "pairing/fast_path.h"
#include "pairing/pair_private.h"
#include "tracefile/columns.h"
#include "tracefile/map.h"

enum {
	FAST_JOBS_MAX = 64,
	FAST_THREADS_MAX = 16384, /* of one segment */
	FAST_CARRY_MAX = 65536,	  /* events of a thread kept for the next round */
	ROLE_FOREIGN = 128,	  /* besides ROLE_*: an event that the fast path does not handle */
	FAST_CPU_UNKNOWN = 1 << 16,
};

#define CALM_STEP (1ull << 48) /* ns; 65,536 steps below it cannot overflow */

/* Found by a worker: the slow path must be used. Not an error. */
#define FAST_UNSUITED (-EAGAIN)

/* Source of a label of a begin. */
struct fast_value {
	enum {
		FAST_ZERO,
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
	uint32_t cpu;
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

/* A position in a slice. */
struct fast_walk {
	uint32_t i;
	uint64_t time; /* of the previous record */
	uint32_t row[COLUMNS_KINDS_MAX];
};

struct fast_thread {
	struct fast_border b;
	struct fast_slice *slices, **tail; /* of the round */
	struct fast_item *carry;	   /* events younger than the watermark, in order */
	unsigned int nr_carry, max_carry;
};

struct fast_block;

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
	uint64_t spans, before, begins, unmatched_begin, unmatched_end, unknown, gaps,
		lost_records;
	struct {
		uint64_t after_ns, before_ns; /* between them, both excluded, ... */
		uint64_t losses, blind_until_ns; /* ... this holds */
	} now;
	uint32_t cpu; /* of the events that are being paired */
	bool doubt; /* an event has the time of a loss: their order is not known */
};

/* Memory until the end of the round, at most 1 MiB. NULL: out of memory, or too much. */
void *fast_alloc(struct fast_worker *w, size_t len);

/* Frees the decoded pieces of the round. */
void fast_round_end(struct fast_worker *w);
void fast_blocks_free(struct fast_worker *w);

int fast_chunk_load(struct fast_worker *w, size_t i);
int fast_rows_load(struct fast_worker *w, size_t i);

/* Loads a piece and appends its slices to their threads. 0, FAST_UNSUITED or -errno. */
static inline int fast_piece_load(struct fast_worker *w, size_t i)
{
	return w->plan->rows ? fast_rows_load(w, i) : fast_chunk_load(w, i);
}

/* For these two: decodes what the begins need; appends a thread's events, whose first row by kind is *row, moved. */
bool fast_begins_decode(struct fast_worker *w, struct fast_chunk *c, unsigned int kind);
int fast_slice_add(struct fast_worker *w, const struct fast_chunk *c, const struct column_thread *t,
		   bool calm, uint32_t *row);

/* The values of a field of a kind of w->columns or w->rows, as event_u64() returns them. NULL: not available. */
uint64_t *fast_field(struct fast_worker *w, unsigned int kind, const struct field *f);
uint64_t *fast_steps(struct fast_worker *w, unsigned int kind); /* its time column */

/* The state of a thread; NULL: too many threads. */
struct fast_thread *fast_thread_get(struct fast_worker *w, uint32_t pid, uint32_t tid);

/*
 * Pairs all threads' events of this round that are older than its watermark, and keeps the others for the next round.
 * `prime`: keeps the others, but pairs nothing: the older ones belong to another segment.
 */
int fast_round_pair(struct fast_worker *w, uint64_t watermark_ns, bool prime);

/*
 * One thread's events, in order of time: a slice in place up to the watermark, the others are kept (prime: these
 * alone); or one by one.
 */
int fast_slice_run(struct fast_worker *w, struct fast_thread *th, const struct fast_slice *s,
		   uint64_t watermark_ns, bool prime);
void fast_item_read(const struct fast_worker *w, const struct fast_slice *s, unsigned int role,
		    uint32_t row, uint64_t time, struct fast_item *it);
int fast_item_step(struct fast_worker *w, struct fast_thread *th, const struct fast_item *it);
int fast_carry_add(const struct fast_worker *w, struct fast_thread *th, const struct fast_item *it);

/* The number of reports of lost events before an event of this time on CPU w->cpu; sets w->now. */
uint64_t fast_losses(struct fast_worker *w, uint64_t time_ns);

/* May events be missing within the span that ends now, on CPU w->cpu? As crosses_gap() in pair.c. */
bool fast_crosses_gap(struct fast_worker *w, const struct fast_open *o, uint64_t end_ns);

/* Reads all reports of lost events of the file into the plan. False: they cannot be read. */
bool fast_losses_read(struct fast_worker *w, const struct pairing *p);

/* Has the time window begun? Events from its end on are not paired. */
static inline bool fast_in_window(const struct fast_worker *w, uint64_t ns)
{
	return ns >= w->plan->since_ns;
}

/* Hands the spans in w->out to the fold. */
int fast_flush(struct fast_worker *w);

/* Adds the span from this begin to end_ns to w->out. */
int fast_emit(struct fast_worker *w, const struct fast_open *o, uint64_t end_ns);

#endif
