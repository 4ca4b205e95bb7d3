/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Traces of Perfetto (https://perfetto.dev/docs/reference/trace-packet-proto): for src/readers/perfetto/ only.
 *
 * A trace is a row of packets. Those of the ftrace data source are bundles: events of one CPU, in order. The packets of
 * all CPUs are mixed, so a scan of the file notes where each CPU's bundles are, and the CPUs are merged by time.
 */
#ifndef HOSTRACE_PERFETTO_INTERNAL_H
#define HOSTRACE_PERFETTO_INTERNAL_H

#include "base/hash.h"
#include "event/reader.h"
#include "ftrace_packets.pb-c.h"
#include "readers/perfetto/wire.h"
#include "readers/text/source_line.h"

enum {
	PERFETTO_STREAMS_MAX = 4096,	  /* CPUs times writers */
	PERFETTO_BUNDLES_MAX = 1 << 21,	  /* of all CPUs */
	PERFETTO_SEQUENCES_MAX = 4096,	  /* writers */
	PERFETTO_THREADS_MAX = 65536,	  /* whose process and name are known */
	PERFETTO_GENERIC_MAX = 4096,	  /* types of events that the trace describes */
	PERFETTO_FIELDS_MAX = 256,	  /* of one of them */
	PERFETTO_NAMES_MAX = 4096,	  /* interned in a bundle */
	PERFETTO_MESSAGE_MAX = 4 << 20,	  /* bytes of one that protobuf-c unpacks */
	PERFETTO_UNPACKED_MAX = 16 << 20, /* bytes of a compressed packet's content */
	PERFETTO_HELD_MAX = 256 << 20,	  /* bytes of all contents that are in use at once */
	PERFETTO_COMM = 16,
};

enum perfetto_packing { PACKING_NONE, PACKING_ZLIB, PACKING_ZSTD };

struct perfetto_bundle {
	uint64_t at;  /* in the file, of the bundle or of the compressed packets that it is in */
	uint32_t len; /* likewise */
	uint32_t inner_at, inner_len; /* in the unpacked content */
	uint8_t packing;
	bool lost; /* events before it are missing */
};

/* Content of compressed packets, while a stream reads it. */
struct perfetto_content {
	uint64_t at;
	uint8_t *bytes;
	size_t len;
	unsigned int users;
	struct perfetto_content *next;
};

struct perfetto_thread {
	uint64_t tid;
	uint32_t tgid; /* 0: unknown */
	char comm[PERFETTO_COMM];
};

/* An event that the trace itself describes (denser_generic_event_encoding, Perfetto 50). */
struct perfetto_generic {
	uint64_t field_id;
	Ftrace__DescriptorProto *type;
};

struct perfetto_sequence {
	uint64_t id;
	uint32_t drops; /* how often packets were dropped */
};

/* What an event is: of a bundle, or made of its compact form. */
struct perfetto_event {
	uint64_t time; /* of the trace's clock */
	uint32_t tid;
	bool has_tid;
	enum { EVENT_NONE, EVENT_MESSAGE, EVENT_SWITCH, EVENT_WAKING } kind;
	struct wire message; /* the FtraceEvent's fields */

	/* The compact form. */
	const uint8_t *comm; /* NULL: unknown */
	size_t comm_len;
	int32_t prev_pid, pid, prio, target_cpu;
	bool has_prev, has_prio, has_target;
	int64_t prev_state;
};

/* One of the two lists of the compact form: an array for each of its fields. */
struct perfetto_compact {
	struct wire time, pid, state_or_cpu, prio, comm;
	uint64_t now;
	bool has; /* the next one's time is `now` */
};

struct perfetto_stream {
	uint32_t cpu;
	uint64_t sequence;
	struct perfetto_bundle *bundle;
	size_t nr, next;
	uint32_t drops;	  /* of the sequence, at the last bundle */
	uint32_t damages; /* of the file, likewise */
	bool lost_at_end;

	/* The bundle that is read. */
	struct perfetto_content *content;
	struct wire fields; /* the bundle's, where the next event is looked for */
	struct perfetto_event message;
	bool has_message;
	struct perfetto_compact switches, wakings;
	struct wire *name; /* interned */
	uint32_t nr_names;

	/* Which task runs, as far as the events say. */
	bool has_running;
	int32_t running;
	uint8_t running_comm[PERFETTO_COMM];

	struct perfetto_event event; /* the next one */
	uint64_t time_ns, lost_from_ns;
	bool lost; /* an unknown number before it */
};

struct perfetto {
	struct trace_info *info;
	uint8_t *data;
	uint64_t bytes;

	struct perfetto_stream *stream[PERFETTO_STREAMS_MAX];
	unsigned int nr_streams;
	struct hash_table stream_by_key, sequences, threads, generic;
	size_t nr_bundles;
	bool has_tracks, has_stats;
	uint32_t damages; /* of packets */
	uint64_t packed_at; /* the compressed packets that are scanned */
	uint64_t other_machines; /* bundles of them */
	uint64_t kernel_lost[2]; /* at the begin and at the end, by the kernel's own count */

	/* Nanoseconds from the clock of events to CLOCK_MONOTONIC, or 0. */
	int64_t offset_ns;
	uint64_t realtime, monotonic, boottime; /* of the first snapshot that has them; 0: none */
	uint32_t ftrace_clock;			/* 0: CLOCK_BOOTTIME */
	int64_t ftrace_time, ftrace_boottime;	/* of the same moment */

	struct perfetto_content *contents;
	size_t held;
	uint8_t *arena; /* of one event that protobuf-c unpacks */
	size_t arena_used;
	struct hash_table unknown; /* numbers of types of events that are not read */
	uint64_t unknown_events;
	bool bare_exits; /* kvm_exit without fields */
	unsigned int nr_notes;
	int err;
};

/* ---- perfetto_scan.c ---- */

/* Is this the begin of a trace? */
bool perfetto_probe(const uint8_t *head, size_t len);

/* Notes where bundles are, and what packets say of threads and clocks. 0 or -errno with the error message set. */
int perfetto_scan(struct perfetto *p);

void perfetto_deinit(struct perfetto *p);

/* Something there cannot be read, which is noted. */
void perfetto_damage(struct perfetto *p, uint64_t at, const char *what);

/* ---- perfetto_unpack.c ---- */

/* What the compressed packets at this offset hold; NULL: unreadable, or p->err is set. */
struct perfetto_content *perfetto_unpack(struct perfetto *p, uint64_t at, size_t len,
					 enum perfetto_packing packing);
void perfetto_release(struct perfetto *p, struct perfetto_content *c);

/* A message whose memory is valid until the next one is unpacked; NULL: it is damaged or too large. */
ProtobufCMessage *perfetto_message(struct perfetto *p, const ProtobufCMessageDescriptor *type,
				   const uint8_t *bytes, size_t len);

/* ---- perfetto_bundle.c ---- */

void perfetto_stream_rewind(struct perfetto *p, struct perfetto_stream *s);

/* The next event of the CPU: event, time_ns, lost. False at the end, after which events may be lost, too. */
bool perfetto_stream_next(struct perfetto *p, struct perfetto_stream *s);

/* ---- perfetto_print.c ---- */

void perfetto_event_print(struct perfetto *p, struct source_line *l,
			  const struct perfetto_stream *s);

#endif
