/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The offsets of the chunks of a trace file: from its index, or, if that is missing or wrong, from the chunks
 * themselves, skipping damaged ones.
 */
#ifndef HOSTRACE_TRACEFILE_MAP_H
#define HOSTRACE_TRACEFILE_MAP_H

#include "event/reader.h"
#include "tracefile/format.h"

struct chunk_ref {
	uint64_t offset;
	struct chunk_header h;
};

struct trace_map {
	struct chunk_ref *refs; /* in file order, index chunks skipped */
	size_t nr, max;
	uint64_t
		index_offset; /* the index chunk that carries the file's counts; 0: there is none */
	struct chunk_header index;
};

/* Maps the file; missing or damaged parts become caveats of info. Fails only for lack of memory or disk errors. */
int trace_map_load(int fd, struct trace_info *info, struct trace_map *ret);
void trace_map_deinit(struct trace_map *map);

/*
 * Reads a chunk's payload and unpacks it into out, ref->h.raw bytes. Of records whose type is not `wanted` (by id;
 * NULL: all are) only the headers are certain to be there. -EBADMSG with the error message set if it is
 * damaged; other chunks may still be intact.
 */
struct chunk_loader;
struct chunk_loader *chunk_loader_new(int fd, const char *file);
void chunk_loader_free(struct chunk_loader *l);
/* Chunks are no longer read from the file, but from these bytes, which are at this offset of it; they are borrowed. */
void chunk_loader_window(struct chunk_loader *l, const uint8_t *data, size_t len, uint64_t offset);

int chunk_load(struct chunk_loader *l, const struct chunk_ref *ref, const bool *wanted,
	       uint8_t *out);

/*
 * The same for a records chunk, but as columns (columns.h); a chunk in another form is converted in memory.
 * The payload is valid until the next call. -EBADMSG: it is damaged, or cannot be converted to columns.
 */
int chunk_load_columns(struct chunk_loader *l, const struct chunk_ref *ref,
		       const struct event_type *const *types, const uint8_t **ret, size_t *ret_len);

/* Reads a chunk's table of counts: h.nr_counts entries, allocated. */
int chunk_load_counts(struct chunk_loader *l, const struct chunk_ref *ref,
		      struct chunk_count **ret);

/*
 * The data of an open trace file that the fast path needs; owned by the reader. Declared here for code that
 * reads chunks itself, and that applies the time window itself.
 */
struct trace_source {
	int fd;
	const char *file;
	const struct chunk_ref *refs;
	size_t nr;
	const struct event_type *const *types; /* by id in the file; NULL: not declared */
	const bool *wanted;		       /* by id */
};

/* False: it is another reader, or one that reads a part only. */
bool tracefile_source(struct reader *r, struct trace_source *ret);

/* Would the reader load this chunk? */
bool tracefile_wants_chunk(struct reader *r, size_t i);

#endif
