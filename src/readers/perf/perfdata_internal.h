/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the files of the reader share: its state, and how a record becomes an event. */
#ifndef HOSTRACE_PERFDATA_INTERNAL_H
#define HOSTRACE_PERFDATA_INTERNAL_H

#include "event/pending.h"
#include "readers/perf/perfdata.h"
#include "readers/perf/perfdata_file.h"

enum { PERFDATA_TYPE_TRACEPOINT = 2 }; /* PERF_TYPE_TRACEPOINT */

/* The oldest sample of each of perf's rounds, and of the one that is being read: see perfdata_loss_end(). */
struct perfdata_rounds {
	uint64_t *oldest, now;
	size_t nr, max;
};

struct perfdata_losses {
	uint64_t waiting;  /* of LOST records without a time: they precede the next sample */
	uint64_t told;	   /* of LOST records */
	uint64_t by_event; /* of LOST_SAMPLES records at the end: all that an event lost, the others included */
	uint64_t throttled;
	struct perfdata_rounds rounds;
	size_t last_round[PERFDATA_CPUS_MAX]; /* of the CPU's newest sample */
	uint64_t gap_cpus[PERFDATA_CPUS_MAX / 64]; /* CPUs whose samples are not all occurrences */
};

struct perfdata {
	struct reader reader;
	struct perfdata_file file;
	struct perfdata_stream stream;
	struct ftrace_events *events;
	struct pending pending;
	const struct event_type *types[EVENT_TYPES_MAX];
	uint8_t *scratch;
	bool guest, ended;
	uint64_t newest, before, older; /* the newest time seen; when the last two rounds ended */
	uint64_t last[PERFDATA_CPUS_MAX];
	uint64_t unknown, no_time, foreign;
	struct perfdata_losses losses;
	json_t *threads;
	struct perfdata_scan *scan; /* NULL: it cannot be read as rows */
	bool losses_known;
};

/* Adds a record to those that wait for their turn; sets its type and size. 0 or -ENOMEM. */
int perfdata_record_add(struct perfdata *p, const struct event_type *type, const uint8_t *rec,
			size_t size);

struct record_hdr perfdata_head_of(const struct perfdata *p, const struct perfdata_sample *s);

struct perfdata_scan;

/* ---- losses: perfdata_lost.c; 0 or -errno with the error message set ---- */

int perfdata_lost(struct perfdata *p, const struct perfdata_record *rec);
int perfdata_lost_samples(struct perfdata *p, const struct perfdata_record *rec);
int perfdata_throttle(struct perfdata *p, const struct perfdata_record *rec);

/* For each sample, before it is added: what it says of losses before it. */
int perfdata_sample_losses(struct perfdata *p, const struct perfdata_attr *a,
			   const struct perfdata_sample *s);

/*
 * A pass over the stream that adds all losses; or those that a scan has found. The stream cannot be used any more; the
 * state is as before otherwise.
 */
int perfdata_losses_find(struct perfdata *p);
int perfdata_losses_add(struct perfdata *p, const struct perfdata_scan *s);

/* When a loss began: after its CPU's newest sample, or some rounds ago if there is none; not after `until`. */
uint64_t perfdata_loss_begin(uint64_t last, uint64_t older, uint64_t until);

/*
 * When it ended at the latest. perf empties all buffers in each round, and an empty buffer loses nothing: the CPU whose
 * newest sample came in round r lost nothing after r, and what is read in round r + 2 was recorded after r.
 */
uint64_t perfdata_loss_end(const struct perfdata_rounds *r, size_t last_round, uint64_t from,
			   uint64_t until);
int perfdata_round_add(struct perfdata_rounds *r);
int perfdata_loss_add(struct perfdata *p, uint32_t cpu, uint64_t from, uint64_t until,
		      uint64_t count);

/* After the last record: warnings. */
void perfdata_losses_end(struct perfdata *p);

/* Does a LOST_SAMPLES record count what a BPF filter dropped? Is a tracepoint of the file sampled? */
bool perfdata_is_filtered(const struct perfdata_record *rec);
bool perfdata_is_partial(const struct perfdata_file *f);

/* ---- rows: perfdata_rows.c ---- */

extern const struct rows_ops perfdata_rows;

/* A TIME_CONV record: into the metadata, once. 0. */
int perfdata_time_conv(struct perfdata *p, const struct perfdata_record *rec);

/* After the rows: the COMM and FORK records at these offsets of the mapped file, and the last warnings. */
void perfdata_names_read(struct perfdata *p, const uint8_t *map, const uint64_t *at, size_t nr);

#endif
