/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A first pass over a perf.data, for its rows (event/rows.h). */
#ifndef HOSTRACE_PERFDATA_SCAN_H
#define HOSTRACE_PERFDATA_SCAN_H

#include "base/hash.h"
#include "event/pending.h"
#include "readers/perf/perfdata.h"
#include "readers/perf/perfdata_file.h"

/* What the files of the reader share: its state, and how a record becomes an event. */

enum { PERFDATA_TYPE_TRACEPOINT = 2 }; /* PERF_TYPE_TRACEPOINT */

/*
 * The oldest sample of each of perf's rounds, and of the one that is being read: see perfdata_loss_end(). Of rounds
 * without a sample that follow each other two are kept, which say as much as all. After PERFDATA_ROUNDS_MAX none is
 * known.
 */
struct perfdata_rounds {
	uint64_t *oldest, now;
	size_t nr, max;
};

/* What was lost of a CPU after PERFDATA_LOSSES_MAX losses: one, from the first of these to the last. */
struct perfdata_loss {
	uint64_t from, until, count; /* count 0: there is none */
};

enum { PERFDATA_LOSSES_MAX = 1 << 18, PERFDATA_ROUNDS_MAX = 1 << 20 };

struct perfdata_losses {
	uint64_t waiting;  /* of LOST records without a time: they precede the next sample */
	uint64_t told;	   /* of LOST records */
	uint64_t by_event; /* of LOST_SAMPLES records at the end: all that an event lost, the others included */
	uint64_t throttled;
	size_t nr;	/* records of losses and gaps */
	uint64_t joined; /* losses that are in `beyond` */
	struct perfdata_loss *beyond; /* of each CPU, the last of an unknown one; NULL: none */
	struct perfdata_rounds rounds;
	size_t last_round[PERFDATA_CPUS_MAX]; /* of the CPU's newest sample */
	uint64_t gap_cpus[PERFDATA_CPUS_MAX / 64]; /* CPUs whose samples are not all occurrences */
};

struct perfdata_chains {
	const struct event_type *type; /* of call chains; NULL: there are too many types */
	uint64_t cut, guests, maps_beyond; /* chains that are too long, that go on in a guest; maps not kept */
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
	struct perfdata_chains chains;
	json_t *threads;
	struct perfdata_scan *scan; /* NULL: it cannot be read as rows */
	bool losses_known;
};

/* Adds a record to those that wait for their turn; sets its type and size. 0 or -ENOMEM. */
int perfdata_record_add(struct perfdata *p, const struct event_type *type, const uint8_t *rec,
			size_t size);

struct record_hdr perfdata_head_of(const struct perfdata *p, const struct perfdata_sample *s);

/* Call chains and what names their addresses: perfdata_chain.c. 0 or -errno with the error message set. */
void perfdata_chains_begin(struct perfdata *p); /* the file is read from its beginning */
int perfdata_chain_add(struct perfdata *p, const struct perfdata_sample *s);
int perfdata_map_take(struct perfdata *p, const struct perfdata_record *rec);
void perfdata_map_fork(struct perfdata *p, const struct perfdata_record *rec, uint32_t pid,
		       uint32_t parent);
void perfdata_map_exec(struct perfdata *p, const struct perfdata_record *rec, uint32_t pid);
void perfdata_chains_end(struct perfdata *p);

/* Has it a frame, so that perfdata_chain_add() makes an event of it? */
bool perfdata_chain_any(const uint8_t *chain, size_t nr);

struct perfdata_scan;

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

extern const struct rows_ops perfdata_rows;

/* A TIME_CONV record: into the metadata, once. 0. */
int perfdata_time_conv(struct perfdata *p, const struct perfdata_record *rec);

/* After the rows: the COMM and FORK records at these offsets of the mapped file, and the last warnings. */
void perfdata_names_read(struct perfdata *p, const uint8_t *map, const uint64_t *at, size_t nr);

enum {
	PERFDATA_HEAD = 8,     /* u32 type, u16 misc, u16 size */
	PERFDATA_AHEAD = 2048, /* bytes to prefetch: a record's place is only known from the one before */
};

/* Where the parts of an event's samples are, from the record's start. Their place is the same in every sample. */
struct perfdata_layout {
	uint16_t tid, time, cpu, raw; /* raw: of its u32 size */
	uint16_t chain; /* the call chain before raw, whose length is added to `raw`; 0: none */
	bool tracepoint;
};

/* Records of one CPU that follow each other in the file: samples. */
struct perfdata_extent {
	uint64_t at;
	uint32_t len, next; /* of the same piece; 0: the last */
};

struct perfdata_piece {
	uint64_t first, last; /* times */
	uint32_t extent, newest_extent; /* first and last */
	uint32_t bytes, nr_events;
	uint32_t cpu;
};

struct perfdata_thread {
	uint64_t tid; /* as its events have it: of the host's namespace */
	uint64_t named_at; /* offset of the first sample that has its vCPU; UINT64_MAX: it has only a name that tells */
	uint16_t vcpu;
};

struct perfdata_scan {
	const uint8_t *map;
	size_t map_len;
	struct perfdata_layout layout[PERFDATA_ATTRS_MAX];
	uint16_t id_at; /* of the event's id; 0: there is one event */
	bool uniform;	/* all layouts are the same */
	struct perfdata_extent *extent; /* [0] is not used */
	struct perfdata_piece *piece;
	struct rows_piece *row_piece;
	struct rows_loss *loss;
	uint64_t *loss_count; /* of each: events */
	size_t nr_extents, max_extents, nr_pieces, max_pieces, nr_losses, max_losses, max_counts;
	struct hash_table threads; /* of struct perfdata_thread, by tid */
	uint64_t *nr; /* tracepoint samples by id of the event, FTRACE_IDS */
	uint64_t nr_plain; /* other samples */
	uint64_t *nr_chains, nr_plain_chains; /* of these, with call chains */
	uint64_t lost, by_event; /* see struct perfdata_losses */
	uint64_t newest; /* time */
	uint64_t unknown, unknown_chains; /* samples without a usable format, once the formats are parsed */
	bool parsed;
	uint64_t *name_at; /* offsets of COMM and FORK records */
	size_t nr_names, max_names;
};

/* NULL: it cannot be read as rows; debug output gives the reason. */
struct perfdata_scan *perfdata_scan(struct perfdata *p);
void perfdata_scan_free(struct perfdata_scan *s);

/* A sample's layout, by its event's id; NULL: an unknown event. `rec` has `size` bytes. */
struct perfdata_layout_cache {
	struct {
		uint64_t id;
		const struct perfdata_layout *layout;
	} slot[256];
};

const struct perfdata_layout *perfdata_layout_find(const struct perfdata_file *f,
						   const struct perfdata_scan *s,
						   struct perfdata_layout_cache *cache,
						   uint64_t id);

static inline const struct perfdata_layout *perfdata_layout_of(const struct perfdata_file *f,
							       const struct perfdata_scan *s,
							       struct perfdata_layout_cache *cache,
							       const uint8_t *rec, uint32_t size)
{
	uint64_t id;

	if (!s->id_at)
		return &s->layout[0];
	if (s->id_at + sizeof(id) > size)
		return NULL;
	memcpy(&id, rec + s->id_at, sizeof(id));
	if (cache->slot[id % 256].id == id && cache->slot[id % 256].layout)
		return cache->slot[id % 256].layout;
	return perfdata_layout_find(f, s, cache, id);
}

/* A tracepoint's own bytes in a sample. False: they are not all there. */
static inline bool perfdata_raw(const struct perfdata_layout *l, const uint8_t *rec, uint32_t size,
				const uint8_t **ret, uint32_t *ret_len)
{
	uint64_t at = l->raw, chain;

	if (l->chain) {
		if (l->chain + sizeof(chain) > size)
			return false;
		memcpy(&chain, rec + l->chain, sizeof(chain));
		if (chain > size / 8)
			return false;
		at += 8 * chain;
	}
	if (at + sizeof(*ret_len) > size)
		return false;
	memcpy(ret_len, rec + at, sizeof(*ret_len));
	*ret = rec + at + sizeof(*ret_len);
	return *ret_len >= FTRACE_COMMON && *ret_len <= size - at - sizeof(*ret_len);
}

#endif
