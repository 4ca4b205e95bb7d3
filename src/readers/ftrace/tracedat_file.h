/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The container of trace-cmd's trace.dat, versions 6 and 7 (trace-cmd.dat.v6(5), trace-cmd.dat.v7(5)). */
#ifndef HOSTRACE_TRACEDAT_FILE_H
#define HOSTRACE_TRACEDAT_FILE_H

#include "base/hash.h"
#include "event/reader.h"
#include "readers/ftrace/ftrace.h"

enum {
	TRACEDAT_CPUS_MAX = 4096,
	TRACEDAT_SECTION_MAX = 64 << 20, /* bytes of one section of metadata, unpacked */
	/* Of one chunk of pages, unpacked: trace-cmd packs 10 pages; larger ones up to 1 MiB, and of all CPUs. */
	TRACEDAT_CHUNK_PAGES_MAX = 16,
	TRACEDAT_CHUNK_MAX = 1 << 20,
	TRACEDAT_CHUNKS_MAX = 256 << 20,
	TRACEDAT_KEPT_MAX = 32 << 20,	 /* bytes of unpacked chunks that are kept for the next pass */
	TRACEDAT_OPTIONS_MAX = 1 << 16,
	TRACEDAT_TEXT_MAX = 4096,
	TRACEDAT_SHIFTS_MAX = 4096, /* of all CPUs */
	TRACEDAT_GUESTS_MAX = 64,   /* options GUEST; further ones are not used */
};

enum tracedat_packing { TRACEDAT_PLAIN, TRACEDAT_ZLIB, TRACEDAT_ZSTD };

/* A page that lies by itself, as in a guest stream: shorter than page_size, the rest is zeros. */
struct tracedat_frame {
	uint64_t offset;
	uint32_t bytes;
};

/*
 * What trace-cmd found when host and guest were traced together, from `time` on: host time = time + offset; with a
 * scale, which is KVM's (guest = (host * scale >> scale_bits) - offset), ((time + offset) << scale_bits) / scale.
 */
struct tracedat_shift {
	unsigned int cpu;
	uint64_t time; /* the guest's */
	int64_t offset;
	uint64_t scale;
	uint32_t scale_bits; /* 0: no scale */
};

/* What the kernel said of one CPU's buffer when the recording ended; `known` if it did. */
struct tracedat_stats {
	bool known;
	uint64_t entries, overrun, commit_overrun, dropped, read;
};

/* A guest that was recorded together with this host (option GUEST). */
struct tracedat_guest {
	char name[128];
	uint64_t trace_id; /* what the guest's own file says in its option TRACEID */
	unsigned int nr_cpus;
	struct {
		uint32_t vcpu, tid; /* host thread of this vCPU */
	} *cpu;			    /* owned */
};

/* A chunk that a first pass has unpacked; data NULL: it was not kept. */
struct tracedat_kept {
	uint8_t *data; /* owned */
	uint32_t len, packed;
};

struct tracedat_cpu {
	unsigned int cpu;
	uint64_t offset, size; /* in the file */
	bool chunked;
	bool is_instance; /* of a buffer with a name: the statistics are not those of it */
	struct tracedat_frame *frame; /* owned; instead of offset and size */
	size_t nr_frames;
	struct tracedat_kept *kept; /* owned; by chunk; NULL: none is kept */
	uint32_t nr_kept;
	int fd;		/* its own file, owned; -1: it is in the one file */
	uint64_t bytes; /* of its own file */
	struct tracedat_stats stats;
};

struct tracedat_file {
	int fd;
	const char *path; /* borrowed */
	uint64_t bytes;
	int version;
	uint32_t page_size;
	size_t commit_size;
	enum tracedat_packing packing;
	struct tracedat_cpu *cpu;
	unsigned int nr_cpus;
	char clock[32]; /* "" if unknown */
	char uname[256];
	char *cmdlines; /* "PID COMM\n" ..., or NULL */
	size_t cmdlines_len;
	uint32_t parts; /* of version 7: a bit by option, of those that are read */
	struct open_files *files; /* set before the file is opened: as in struct read_hint */
	bool want_symbols; /* set before the file is opened: also its kallsyms, not terminated */
	char *symbols;
	size_t symbols_len;
	bool tsc_to_ns; /* ns = ticks * mult >> shift (+ offset) */
	uint32_t tsc_mult, tsc_shift;
	uint64_t tsc_offset;
	struct tracedat_shift *shift; /* by CPU, then by time */
	unsigned int nr_shifts;
	bool shift_linear;	/* between two of them time runs evenly; else the former holds until the next */
	bool shift_broken;	/* it makes no sense: then shift is empty */
	uint64_t trace_id;	/* option TRACEID, 0: not given */
	struct tracedat_guest guest[TRACEDAT_GUESTS_MAX];
	unsigned int nr_guests;
	bool latency;		/* it holds text, not pages */
	unsigned int instances; /* further buffers, which are not read */
	unsigned int nr_buffers; /* that are read */
	char buffers[256];	 /* their names, cut */
	unsigned int nr_stats;
	int (*frame_right)(const struct tracedat_file *f, const struct tracedat_frame *frame,
			    const uint8_t *page); /* is a frame's content what was written? */
};

/*
 * Another container of the same things, read as trace.dat is. open() fills everything but the pages, formats go to
 * `events`; -errno with the error message set.
 */
struct tracedat_container {
	const char *kind;
	const struct reader_ops *ops;
	bool guest; /* always a guest's */
	int (*open)(struct tracedat_file *f, struct trace_info *info, struct ftrace_events *events);
};

int tracedat_open_as(const struct tracedat_container *container, const char *path,
		     const struct read_hint *hint, struct reader **ret);

/* For reader_ops of a container. */
int tracedat_next(struct reader *r, struct batch *batch);
int tracedat_counts(struct reader *r, uint64_t *counts);
void tracedat_close(struct reader *r);

bool tracedat_probe(const uint8_t *head, size_t len);

/* Reads everything but the pages; formats go to `events`. -errno with the error message set; deinit in any case. */
int tracedat_file_open(struct tracedat_file *f, const char *path, struct ftrace_events *events);
void tracedat_file_deinit(struct tracedat_file *f);

/* Adds what the file says of its machine and of itself: "host", "kernel", "trace_id". */
void tracedat_describe(struct tracedat_file *f, json_t *meta);

/* ---- the pages of one CPU, in order ---- */

struct tracedat_pages {
	const struct tracedat_file *file;
	const struct tracedat_cpu *cpu;
	size_t next_frame;
	uint64_t at, left;	/* in the file: what has not been read */
	uint32_t chunks, chunk; /* that are left; the number of the next */
	bool begun, cut; /* cut: the file ends before the data does */
	const uint8_t *data; /* what was read last: buf, or a chunk that was kept */
	uint8_t *buf, *packed;
	size_t len, next, buf_room, packed_room;
	void *unzstd; /* ZSTD_DCtx, when first needed */
};

void tracedat_pages_init(struct tracedat_pages *p, const struct tracedat_file *f,
			 const struct tracedat_cpu *cpu);
void tracedat_pages_deinit(struct tracedat_pages *p);

/*
 * Pieces of a CPU's pages that can be read by themselves, in order: some pages where they lie plain, a chunk where they
 * are packed. If the file is truncated or a chunk's head corrupt, reading the last piece fails as reading on would.
 */
struct tracedat_piece {
	uint64_t offset;
	uint32_t bytes, chunk;
	uint16_t cpu; /* index in the file's */
	bool cut;
};

struct tracedat_pieces {
	struct tracedat_piece *piece; /* owned */
	size_t nr, max;
};

/* Adds those of one CPU, and makes space for the chunks that are kept. -errno with the error message set. */
int tracedat_pages_split(struct tracedat_pieces *to, struct tracedat_file *f, unsigned int cpu);

/* After a piece's last page: keeps it if it was a chunk, unless *kept_bytes (of all threads) would exceed the limit. */
void tracedat_pages_keep(struct tracedat_pages *p, const struct tracedat_piece *piece,
			 size_t *kept_bytes);

/* To a piece's first page; after tracedat_pages_init(), and again for other pieces. */
void tracedat_pages_seek(struct tracedat_pages *p, const struct tracedat_file *f,
			 const struct tracedat_piece *piece);

/* The next page (valid until the next call): 1, 0 at the end, -errno with the error message set. */
int tracedat_pages_next(struct tracedat_pages *p, const uint8_t **ret);

/* Unpacks all of `from` into exactly len bytes. -EBADMSG or -ENOTSUP with the error message set. */
int tracedat_unpack(enum tracedat_packing packing, const uint8_t *from, size_t from_len,
		    uint8_t *to, size_t len, const char *path);

struct tick_rate {
	double pvclock; /* ns per tick; 0: unknown */
	struct hash_table exits;
	double *halt; /* ticks per ns of each halt */
	size_t nr_halts;
	struct tick_pair {
		uint64_t tick, ns;
	} first, last;
};

#define TICK_RATE (struct tick_rate){.exits = HASH_TABLE(struct tick_exit, 1, 1 << 16)}

/* A thread's newest kvm_exit. */
struct tick_exit {
	uint64_t tid, tick;
};

struct event;
struct trace_info;

/* The same from an event whose time is in ticks: of these types, or of others, which are ignored. */
void tick_rate_event(struct tick_rate *r, const struct event *ev);
void tick_rate_now(struct tick_rate *r, uint64_t tick, uint64_t now_ns);
void tick_rate_deinit(struct tick_rate *r);

/* ns per tick, and the name of the events that show it; 0: unknown. */
double tick_rate_find(const struct tick_rate *r, const char **ret_event);

/*
 * Describes a host's clock in the metadata: its rate ("tsc_map", "tsc_khz"), with a note if it was estimated from
 * `event` (NULL: it is given); or that the times are in ticks, if the rate is not valid. Returns the ns per tick to
 * convert with, 1 if they are not converted.
 */
double tick_rate_describe(struct trace_info *info, double ns_per_tick, const char *event);

/* Is this a rate that a real clock can have, 1 kHz to less than 1 THz? */
bool tick_rate_is_valid(double ns_per_tick);

#endif
