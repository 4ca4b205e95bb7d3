/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A first pass over a perf.data, for its rows (event/rows.h): where each CPU's samples are, their times, and what was
 * lost. It only looks at the heads of records. Compressed files and what is unusual are left to the batches.
 */
#ifndef HOSTRACE_PERFDATA_SCAN_H
#define HOSTRACE_PERFDATA_SCAN_H

#include "base/hash.h"
#include "readers/perf/perfdata_internal.h"

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
	uint64_t named_at; /* offset of the first sample that names its vCPU; earlier ones have none */
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
	uint64_t lost, by_event; /* see struct perfdata_losses */
	uint64_t newest; /* time */
	uint64_t unknown; /* samples without a usable format, once the formats are parsed */
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
