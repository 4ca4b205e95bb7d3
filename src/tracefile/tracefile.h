/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Our trace file, .hrt version 1: writer and reader. The format is specified in doc/format.md, apart from this
 * code. In short: a header, then chunks, each with its length, CRC32C, time range, event types and counts; an
 * index at the end that can be rebuilt by scanning. A file cut at any byte reads up to its last whole chunk.
 */
#ifndef HOSTRACE_TRACEFILE_H
#define HOSTRACE_TRACEFILE_H

#include <jansson.h>

#include "event/event.h"
#include "event/losses.h"
#include "event/reader.h"

struct trace_writer;

/* What the writer's own file has, without dumps. */
struct trace_written {
	uint64_t count[EV_LIMIT]; /* records of each of our types */
	uint64_t missing;	  /* events that could not be written, which the file reports as lost */
	uint64_t bytes;		  /* set when the writer is closed; 0: there is no file of that name by it */
};

struct trace_writer_options {
	bool zstd;	     /* compress record chunks */
	bool whole;	     /* the file appears when it is complete, and not after an error */
	bool sync;	     /* the file is on the disk when the writer is closed, a dump when it is written */
	uint64_t sync_ns;    /* also at the end of a round after this time; 0: no */
	uint64_t max_bytes;  /* flight recorder: keep about this many bytes of the newest records; 0 = all */
	struct trace_written *written; /* may be NULL */
	int stream; /* a descriptor to write to, for example of a pipe; 0: a file of that name is created */
};

/*
 * What a crash costs. Of the writer: records that were added since the last chunk, which are at most a second old if
 * rounds end in time. Of the system: what was written since the last sync, at most the last sync_ns and that second;
 * without sync_ns and before the end, what the kernel had not yet written of its own accord (by default 30 s). What is
 * readable afterwards is true: a chunk that is not complete fails its CRC.
 *
 * Creates the file, mode 0600, never through a symlink; an existing regular file of ours is replaced. `meta` is
 * written at once (borrowed; see doc/format.md for its keys). Errors: -errno with the error message set.
 */
int trace_writer_open(const char *path, const struct trace_writer_options *opt, json_t *meta,
		      struct trace_writer **ret);

/*
 * Appends a record. Records of one CPU must be nearly in time order; across CPUs any order within a round. A type
 * that is not ours must have been registered (event_type_register) and its schema announced with
 * trace_writer_type() before its first record. Errors: of such a record, with the error message set. Those of the file
 * come from trace_writer_round() and trace_writer_end().
 */
int trace_writer_record(struct trace_writer *w, const struct record_hdr *rec);
int trace_writer_type(struct trace_writer *w, const struct event_type *type, uint16_t *ret_id);

/*
 * Ends a round: every record older than watermark_ns has been added. The reader may sort and return all
 * older ones. Also decides whether the current chunk is written now (large enough, or a second old). Errors: -ENOSPC,
 * -EIO, ..., now or before; what was written before stays valid, and records that are not in the file, later ones too,
 * are counted: its end reports them as lost.
 */
int trace_writer_round(struct trace_writer *w, uint64_t watermark_ns);

/* Bytes written so far, for progress. */
uint64_t trace_writer_bytes(const struct trace_writer *w);

/*
 * Flight recorder only (max_bytes): writes the records in memory as a complete file, including `final_meta` (borrowed,
 * may be NULL), and continues recording. Naming events of the kept ones (thread, virtio_device, vcpu_tsc, clock_pair)
 * is in it even if it was recorded long before. Chunks that end before since_ns are left out.
 */
int trace_writer_dump(struct trace_writer *w, const char *path, uint64_t since_ns,
		      json_t *final_meta);

/* No record follows: writes those that are pending. Returns the writer's first error; the file is to be closed. */
int trace_writer_end(struct trace_writer *w);

/* Writes what is pending, the final metadata (borrowed, may be NULL) and the index; frees w in any case. */
int trace_writer_close(struct trace_writer *w, json_t *final_meta);

/* Closes without writing what is left; a file without records is deleted, the one that it would replace stays. */
void trace_writer_abandon(struct trace_writer *w);

extern const struct reader_ops tracefile_reader;
extern const struct reader_ops tracefile_live_reader; /* of what is being written; for read_hint.follow */
extern const struct reader_ops textfile_reader;

/* ---- what a converted recording keeps of the one that it was made from ---- */

/*
 * Metadata for the end of the new file: the number of lost events that no record of it places (`placed`: the sum of
 * those that do), and the notes. `info` is that of the reader, at its end. New reference, {} if there is nothing.
 */
json_t *meta_losses_make(const struct trace_info *info, uint64_t placed);

/* For readers: adds these from info->meta. To be called after each metadata object; *taken is 0 at first. */
void meta_losses_read(struct trace_info *info, uint64_t *taken);

/* ---- the text form; its format is in doc/format.md ---- */

/* Its head: the format line and the metadata. */
void textfile_head(const struct trace_info *info, FILE *out);

/* A further line of metadata; nothing if there are none. */
void textfile_meta(const json_t *meta, FILE *out);

/* "# type {...}": is before the first event of a type that is not ours. */
void textfile_type(const struct event_type *type, FILE *out);

/*
 * Is an event's type told by its line, where its name means an event of ours? It is ours, or lacks only such fields
 * as a reader takes for not recorded where the line lacks them.
 */
bool textfile_implies(const struct event_type *type);

/* One event as a line, without the newline. */
void textfile_print(const struct event *ev, FILE *out);

#endif
