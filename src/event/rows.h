/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a reader may offer besides batches: some fields of some events, as columns, piece by piece and in any order,
 * from several threads at once. The fast path (pairing/fast_path.c) pairs from them, since within one thread it needs
 * neither the other threads' events nor a record of all fields.
 *
 *   piece      a part of the input of one CPU, whose events are in order of time; its range of times is known before
 *   run        events of one thread that follow each other in the piece: no other thread's wanted event is in between
 *   kind       one of the event types that were asked for; each has its own columns, a row for each of its events
 *
 * Whatever is unusual (events out of order, damaged or missing data) is not offered: the reader declines, and its
 * batches, which report what is wrong, are read instead.
 */
#ifndef HOSTRACE_ROWS_H
#define HOSTRACE_ROWS_H

#include "event/event.h"

struct reader;

enum {
	ROWS_MAX = 32767,     /* events of one piece */
	ROWS_KINDS_MAX = 16,  /* event types of one request */
	ROWS_VALUES_MAX = 16, /* fields of one request */
};

struct rows_piece {
	uint64_t first_ns, last_ns;
	uint32_t bytes, nr_events; /* events of any type, <= ROWS_MAX */
};

/* Events were lost: what event.h's EV_lost says, in the input's order. */
struct rows_loss {
	uint64_t time_ns, until_ns;
	uint16_t cpu;
	bool first; /* it precedes all events of its CPU; else it follows those of the same time */
};

/* Valid until the reader is closed. */
struct rows_source {
	const struct rows_piece *piece; /* sorted by first_ns; of one CPU in its order */
	size_t nr_pieces;
	const struct rows_loss *loss;
	size_t nr_losses;
};

/* Types of ours (event_type_ours()) and fields of theirs. */
struct rows_request {
	unsigned int nr_kinds, nr_values;
	const struct event_type *kind[ROWS_KINDS_MAX];
	struct {
		unsigned int kind;
		const struct field *field;
	} value[ROWS_VALUES_MAX];
};

struct rows_run {
	uint64_t first_ns;
	uint32_t start, nr; /* in rows.kind */
	uint32_t pid, tid;
	uint16_t vcpu;
};

/* One piece. The caller provides arrays for piece.nr_events entries each. */
struct rows_data {
	uint32_t nr, nr_runs;
	uint32_t nr_of[ROWS_KINDS_MAX];
	uint16_t cpu;
	uint8_t *kind;			  /* of each event */
	uint64_t *step[ROWS_KINDS_MAX];	  /* ns since the previous event of the run; 0 for its first */
	uint64_t *value[ROWS_VALUES_MAX]; /* as event_u64() returns them */
	struct rows_run *run;
};

struct rows_ops {
	/* False: this input cannot be read so. Called once, before anything was read. */
	bool (*open)(struct reader *r, struct rows_source *ret);

	/* Adds the number of events of each wanted type, by registry index. 0 or -errno with the error message set. */
	int (*counts)(struct reader *r, uint64_t *counts);

	/*
	 * Compiles a request, which several threads may use at once; to be freed with free(). NULL: it has what cannot
	 * be read so.
	 */
	struct rows_plan *(*plan)(struct reader *r, const struct rows_request *request);

	/* One thread's memory for reading pieces. NULL: out of memory. */
	struct rows_cursor *(*cursor)(struct reader *r);
	void (*cursor_free)(struct rows_cursor *c);

	/* False: the input is not what it was when it was opened. */
	bool (*read)(struct rows_cursor *c, const struct rows_plan *plan, size_t piece,
		     struct rows_data *to);

	/* All pieces were read: completes r->info as batches would have done. */
	void (*finish)(struct reader *r);
};

#endif
