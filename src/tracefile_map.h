/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where the chunks of a trace file lie: from its index, or, where that is missing or wrong, from the chunks
 * themselves, past what is damaged.
 */
#ifndef HOSTRACE_TRACEFILE_MAP_H
#define HOSTRACE_TRACEFILE_MAP_H

#include "reader.h"
#include "tracefile_format.h"

struct chunk_ref {
	uint64_t offset;
	struct chunk_header h;
};

struct trace_map {
	struct chunk_ref *refs; /* in file order, index chunks left out */
	size_t nr, max;
	uint64_t
		index_offset; /* the index chunk that carries the file's counts; 0: there is none */
	struct chunk_header index;
};

/* Maps the file; what is missing or damaged becomes caveats of info. Errors only of memory and the disk. */
int trace_map_load(int fd, struct trace_info *info, struct trace_map *ret);
void trace_map_deinit(struct trace_map *map);

/*
 * Reads a chunk's payload and unpacks it into out, ref->h.raw bytes. -EBADMSG with the sentence set if it is
 * damaged, which says nothing of the other chunks.
 */
struct chunk_loader;
struct chunk_loader *chunk_loader_new(int fd, const char *file);
void chunk_loader_free(struct chunk_loader *l);
int chunk_load(struct chunk_loader *l, const struct chunk_ref *ref, uint8_t *out);

/* Reads a chunk's table of counts: h.nr_counts entries, allocated. */
int chunk_load_counts(struct chunk_loader *l, const struct chunk_ref *ref,
		      struct chunk_count **ret);

#endif
