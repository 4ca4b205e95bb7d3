/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A trace file being written: its header, whole chunks one after the other, finally the index. Knows nothing of
 * records; used by the writer (write.c) and the flight recorder (ring.c).
 */
#ifndef HOSTRACE_TRACEFILE_OUT_H
#define HOSTRACE_TRACEFILE_OUT_H

#include "base/cleanup.h"
#include "record.h"
#include "tracefile/format.h"

struct trace_out;

/*
 * Creates the file (base/growing_file.h). A trace or an empty file of that name is replaced when the first records are
 * written; another file is -EEXIST. `zstd` compresses chunks that become smaller by it. `whole`: the file appears when
 * it is finished, and not after an error.
 */
int trace_out_create(const char *path, const struct trace_header *h, bool zstd, bool whole,
		     struct trace_out **ret);

/*
 * Writes to a descriptor, which it takes over, for example a pipe; `name` is for messages. What could not be written
 * whole cannot be removed again: after such an error nothing follows.
 */
int trace_out_stream(int fd, const char *name, const struct trace_header *h, bool zstd,
		     struct trace_out **ret);

struct event_type;

/*
 * Appends a chunk: h's kind, nr_counts, nr_records, times and bloom are the caller's, the rest is filled in here.
 * `types` (by id, NULL for other kinds) describes the fields of records, which pack better by fields than by bytes.
 * A chunk that cannot be written whole is removed again, so that the file stays valid (-ENOSPC, -EIO, ...). -ENOENT,
 * -EIO: the file was deleted or truncated meanwhile. Records leave space for what follows trace_out_ending(), in files
 * that are not `whole`: -ENOSPC, -EDQUOT, -EFBIG if there is none.
 */
int trace_out_chunk(struct trace_out *o, struct chunk_header *h, const struct chunk_count *counts,
		    const struct event_type *const *types, const void *raw, size_t len);

/* Bytes of records, unpacked, of which a chunk should have no more, as the file has little room. */
uint64_t trace_out_chunk_max(const struct trace_out *o);

/* There was no file of this name: one that only has the counts of what is missing is better than none. */
bool trace_out_replaces_nothing(const struct trace_out *o);

/* What is written from now on may use the reserve. */
void trace_out_ending(struct trace_out *o);

/* A chunk of JSON: CHUNK_META or CHUNK_SCHEMA. */
int trace_out_json(struct trace_out *o, enum chunk_kind kind, const json_t *json);

/* Bytes written so far. */
uint64_t trace_out_bytes(const struct trace_out *o);

/* Waits until what was written is on the disk (growing_file_sync()). */
int trace_out_sync(struct trace_out *o);

/*
 * Writes index and trailer and closes; with `sync`, after they are on the disk. Frees o in any case. After an error, as
 * trace_out_abandon(). *ret_bytes (may be NULL): the size of the file that is then at its name; 0: none is.
 */
int trace_out_finish(struct trace_out *o, bool sync, uint64_t *ret_bytes);

/* Closes without an index; records that were written remain in the file, a file without records is deleted. */
void trace_out_abandon(struct trace_out *o);

DEFINE_CLEANUP(trace_out, struct trace_out *, trace_out_abandon);
#define _cleanup_trace_out_ _cleanup_(trace_out_cleanup_)

struct trace_ring;

struct trace_chunk {
	struct chunk_header h;
	struct chunk_count *counts; /* h.nr_counts entries */
	uint8_t *data;		    /* records */
	size_t len;
};

/* NULL: out of memory. */
struct trace_ring *trace_ring_new(uint64_t max_bytes);
void trace_ring_free(struct trace_ring *ring);

/* Keeps a copy; the oldest chunks go as long as max_bytes stay. 0 or -ENOMEM. */
int trace_ring_push(struct trace_ring *ring, const struct trace_chunk *chunk);

/*
 * Passes on what is kept, naming events first, oldest first; of chunks that end before since_ns
 * only the naming events. Stops at the first error and returns it.
 */
int trace_ring_walk(const struct trace_ring *ring, uint64_t since_ns,
		    int (*visit)(void *arg, const struct trace_chunk *chunk), void *arg);

/* Number of naming events dropped because the table was full. */
uint64_t trace_ring_names_dropped(const struct trace_ring *ring);

DEFINE_CLEANUP(trace_ring, struct trace_ring *, trace_ring_free);

#endif
