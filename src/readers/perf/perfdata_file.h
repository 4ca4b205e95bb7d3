/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The container of perf's perf.data (tools/perf/Documentation/perf.data-file-format.txt and the kernel's
 * include/uapi/linux/perf_event.h) in its two forms.
 */
#ifndef HOSTRACE_PERFDATA_FILE_H
#define HOSTRACE_PERFDATA_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "base/buffer.h"
#include "readers/ftrace/ftrace.h"

enum {
	PERFDATA_ATTRS_MAX = 4096,	    /* events that were requested */
	PERFDATA_IDS_MAX = 1 << 20,	    /* an event has one id for each CPU and thread */
	PERFDATA_SECTION_MAX = 64 << 20,    /* bytes of one section or of the formats */
	PERFDATA_TEXT_MAX = 256,
	PERFDATA_CPUS_MAX = 4096,
	PERFDATA_RECORD_MAX = 1 << 16, /* a record's size is 16 bits */
};

/* Records by number: the kernel's up to 63, the tool's from 64 on (tools/lib/perf/include/perf/event.h). */
enum {
	PERFDATA_MMAP = 1,
	PERFDATA_LOST = 2,
	PERFDATA_COMM = 3,
	PERFDATA_THROTTLE = 5,
	PERFDATA_UNTHROTTLE = 6,
	PERFDATA_FORK = 7,
	PERFDATA_SAMPLE = 9,
	PERFDATA_MMAP2 = 10,
	PERFDATA_LOST_SAMPLES = 13,
	PERFDATA_HEADER_ATTR = 64,
	PERFDATA_TRACING_DATA = 66,
	PERFDATA_FINISHED_ROUND = 68,
	PERFDATA_AUXTRACE = 71,
	PERFDATA_TIME_CONV = 79,
	PERFDATA_FEATURE = 80,
	PERFDATA_COMPRESSED = 81,
	PERFDATA_COMPRESSED2 = 83,
};

/* Features that are looked at (tools/perf/util/header.h). */
enum {
	PERFDATA_F_TRACING_DATA = 1,
	PERFDATA_F_BUILD_ID = 2,
	PERFDATA_F_HOSTNAME = 3,
	PERFDATA_F_OSRELEASE = 4,
	PERFDATA_F_NRCPUS = 7,
	PERFDATA_F_EVENT_DESC = 12,
	PERFDATA_F_DIR_FORMAT = 24,
	PERFDATA_F_CLOCK_DATA = 29,
};

struct perfdata_attr {
	uint32_t type;
	uint64_t config, sample_type, read_format;
	bool sample_id_all, use_clockid;
	bool partial; /* samples are not all occurrences: every Nth (-c), or as many as a rate allows (-F) */
	int32_t clockid;
	char name[64]; /* "" if unknown */
	const struct event_type *made; /* for samples that are not a tracepoint's; set by the reader */
};

struct perfdata_id {
	uint64_t id;
	uint32_t attr;
};

struct perfdata_file {
	int fd;
	const char *path; /* borrowed */
	struct open_files *files; /* set before the file is opened: as in struct read_hint */
	uint64_t bytes;
	bool directory; /* of perf record --threads: perfdata_parts.c */
	bool has_parts; /* the records are in data.0, data.1, ... beside it */
	bool pipe;
	uint64_t data_at, data_end;
	bool unended; /* the recorder ended before it wrote the sizes */
	struct perfdata_attr *attr;
	uint32_t nr_attrs;
	struct perfdata_id *id; /* sorted by perfdata_attr_of() */
	uint32_t nr_ids;
	bool ids_sorted, have_formats;
	uint32_t nr_cpus; /* that were online; 0: unknown */
	char host[PERFDATA_TEXT_MAX], release[PERFDATA_TEXT_MAX];
	bool have_wall; /* wall_ns of CLOCK_REALTIME was clock_ns of the trace's clock */
	uint64_t wall_ns, clock_ns;
	json_t *build_ids; /* by file name, hexadecimal; NULL: none */
	bool want_symbols; /* set before the file is opened */
	char *symbols; /* of the kernel, as /proc/kallsyms, if they are wanted and there; not terminated */
	size_t symbols_len;
};

bool perfdata_probe(const uint8_t *head, size_t len);

/* Reads all but the records; formats go to `events`. -errno with the error message set; deinit in any case. */
int perfdata_file_open(struct perfdata_file *f, const char *path, struct ftrace_events *events);
void perfdata_file_deinit(struct perfdata_file *f);

/* Metadata in the stream of a piped recording. `b` is after the record's head. */
int perfdata_attr_record(struct perfdata_file *f, struct buffer *b);
int perfdata_feature_record(struct perfdata_file *f, struct buffer *b);
/* A TRACING_DATA blob: the same head as a trace.dat of version 6. */
int perfdata_formats(struct perfdata_file *f, const uint8_t *data, size_t len, uint64_t offset,
		     struct ftrace_events *events);

/* Which event's id it is; NULL if none. */
struct perfdata_attr *perfdata_attr_of(struct perfdata_file *f, uint64_t id);

/* Bytes of the file. */
int perfdata_load(const struct perfdata_file *f, uint64_t offset, size_t len, uint8_t *to);

/* ---- records, one after the other, unpacked ---- */

struct perfdata_record {
	uint32_t type;
	uint16_t misc;
	const uint8_t *data; /* after its head; valid until the next call */
	size_t len;
	uint64_t offset; /* of data in the file, or in what was unpacked */
};

struct perfdata_stream {
	struct perfdata_file *file;
	struct ftrace_events *events;
	uint64_t at;
	struct perfdata_parts *parts; /* of a directory; else the members that follow */
	size_t block_bytes;
	uint8_t *block, *plain; /* of the file; unpacked */
	size_t next, len, plain_next, plain_len;
	size_t packed_left, packed_end; /* bytes of a packed record that wait in `block`; where it ends */
	void *zstd;
	bool plain_full, cut;
	bool ended; /* or damaged: nothing follows */
};

/* block_bytes: read at once, at least twice PERFDATA_RECORD_MAX; 0: of one file */
int perfdata_stream_init(struct perfdata_stream *s, struct perfdata_file *f,
			 struct ftrace_events *events, size_t block_bytes);
void perfdata_stream_deinit(struct perfdata_stream *s);

/*
 * The next record that carries something: records that describe others have been parsed into the file by then.
 * Returns 1, 0 at the end, -errno with the error message set. A file that ends within a record sets `cut`.
 */
int perfdata_stream_next(struct perfdata_stream *s, struct perfdata_record *ret);

/* The streams of all files of a directory as one, in order of time. */
int perfdata_parts_open(const struct perfdata_file *f, struct ftrace_events *events,
			struct perfdata_parts **ret);
int perfdata_parts_next(struct perfdata_parts *p, const struct perfdata_file *f,
			struct perfdata_record *ret, bool *cut);
void perfdata_parts_close(struct perfdata_parts *p);
/* Of a file that is not given by its directory: -errno with the error message set if its records are in others. */
int perfdata_parts_demand(const struct perfdata_file *f);
/* Says so if files of the directory are missing. */
void perfdata_parts_caveat(const struct perfdata_parts *p, const struct perfdata_file *f,
			   struct trace_info *info);

/* ---- samples ---- */

struct perfdata_sample {
	uint64_t id, ip, time, period;
	uint32_t pid, tid, cpu;
	bool have_id, have_time, have_cpu, have_tid;
	const uint8_t *raw; /* a tracepoint's record; NULL: none */
	size_t raw_len;
	const uint8_t *chain; /* nr_chain addresses and markers; NULL: none */
	size_t nr_chain;
};

/* Of a SAMPLE record. -EBADMSG: its parts do not fit into it. */
int perfdata_sample_parse(const struct perfdata_file *f, const struct perfdata_record *rec,
			  struct perfdata_sample *ret);

/*
 * Where an event's samples have their parts, if that is the same in every sample; ret_id_at: the event's id, 0: none.
 * False: they lack a time, or a tracepoint's lack the thread, CPU or raw data, or something of any length is before.
 */
struct perfdata_layout;
bool perfdata_layout_make(const struct perfdata_attr *a, struct perfdata_layout *ret,
			  uint16_t *ret_id_at);

/* Of any other record of the kernel's: they end in time, CPU and so on, if sample_id_all is set. */
void perfdata_trailer_parse(const struct perfdata_file *f, const struct perfdata_record *rec,
			    struct perfdata_sample *ret);

#endif
