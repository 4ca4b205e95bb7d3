/* SPDX-License-Identifier: GPL-2.0-or-later */
/* CTF 1.8 traces (https://diamon.org/ctf/v1.8.3/): for src/readers/ctf/ only, but for the reader.
 */
#ifndef HOSTRACE_CTF_H
#define HOSTRACE_CTF_H

#include "event/reader.h"

extern const struct reader_ops ctf_reader;

/* ---- tsdl.c: the metadata, which describes every stream and event ---- */

enum {
	CTF_NAME_MAX = 128,
	CTF_CLOCKS_MAX = 16,
	CTF_STREAMS_MAX = 64,	     /* classes */
	CTF_EVENTS_MAX = 16384,	     /* classes */
	CTF_FIELDS_MAX = 512,	     /* of a structure */
	CTF_DEPTH_MAX = 16,	     /* structures in structures */
	CTF_METADATA_MAX = 16 << 20, /* bytes */
};

enum ctf_kind { CTF_INTEGER, CTF_FLOAT, CTF_STRING, CTF_STRUCT, CTF_VARIANT, CTF_ARRAY };
enum ctf_order { CTF_NATIVE, CTF_LITTLE, CTF_BIG };

struct ctf_type {
	enum ctf_kind kind;
	enum ctf_order order; /* CTF_NATIVE: the trace's */
	bool is_signed, is_text, is_hex;
	uint32_t bits, align; /* align in bits */
	unsigned int clock;   /* which it is a time of, + 1; 0: none */
	struct ctf_field {
		const char *name; /* without the underscore in front of it */
		const struct ctf_type *type;
	} * field; /* of a structure; the options of a variant */
	uint32_t nr_fields;
	struct ctf_label {
		const char *name;
		int64_t from, to;
	} * label; /* of an enumeration, which is an integer */
	uint32_t nr_labels;
	const char *tag; /* name of the integer with a variant's option or an array's length */
	uint64_t length; /* of an array without tag */
	const struct ctf_type *element;
};

struct ctf_clock {
	char name[CTF_NAME_MAX];
	uint64_t freq, offset;
	int64_t offset_s;
};

struct ctf_event_class {
	const char *name;	/* as a kernel's tracepoint */
	const char *system;	/* of the tracepoint; "": not known */
	bool is_ours, is_sched; /* kernel_events.def has it; it is one of the scheduler's */
	bool is_perf; /* perf data convert wrote it: a sample's fields are before its own */
	const struct ctf_type *context, *fields;
};

struct ctf_stream_class {
	uint64_t id;
	const struct ctf_type *packet_context, *event_header, *event_context;
	struct ctf_event_class *event; /* by id */
	uint64_t nr_events;
};

struct ctf_meta {
	enum ctf_order order;
	const struct ctf_type *packet_header;
	struct ctf_clock clock[CTF_CLOCKS_MAX];
	unsigned int nr_clocks;
	struct ctf_stream_class stream[CTF_STREAMS_MAX];
	unsigned int nr_streams;
	char hostname[CTF_NAME_MAX], tracer[CTF_NAME_MAX];
	void **memory; /* all that the above points to */
	size_t nr_memory;
};

/* Parses metadata, which is text or packets of text. 0 or -errno with the error message set.
 * ctf_meta_deinit() in any case. */
int ctf_meta_parse(struct ctf_meta *m, const char *path, const uint8_t *data, size_t len);
void ctf_meta_deinit(struct ctf_meta *m);

/* ---- ctf_stream.c: the packets of one file ---- */

enum { CTF_VALUES_MAX = 512 };

struct ctf_value {
	const char *name;
	const struct ctf_type *type;
	uint64_t number;      /* of an integer; of a float the bits */
	const uint8_t *bytes; /* of a text or an array of bytes */
	uint32_t len;
};

struct ctf_stream {
	const struct ctf_meta *meta;
	struct trace_info *info; /* for notes */
	char *path;
	uint8_t *data;
	uint64_t bytes;
	int64_t clock_offset_ns; /* of the trace's clock, from that of the first trace */

	uint64_t packet, next_packet; /* offsets in bytes */
	uint64_t bit, end_bit;	      /* in the file */
	uint64_t steps;		      /* of decoding in this packet */
	bool open, big, broken;
	const struct ctf_stream_class *class;
	uint64_t clock; /* newest time */
	unsigned int which_clock;
	bool has_seq;
	uint64_t discarded, new_discarded, seq;
	unsigned int discarded_bits, nr_notes;

	struct ctf_value value[CTF_VALUES_MAX];
	unsigned int nr, nr_packet,
		nr_head; /* all; those of the packet; of the event before its fields */
	const struct ctf_event_class *event;
	uint64_t time_ns;
	uint64_t lost, lost_from_ns; /* events discarded before it, and since when */
	bool lost_packets; /* an unknown number was overwritten or is unreadable before it */
	uint32_t cpu;	   /* RECORD_CPU_UNKNOWN: its packets do not have it */
};

void ctf_stream_rewind(struct ctf_stream *s);

/*
 * The next event: event, value, time_ns, cpu, lost. False at the end, after which events may be
 * lost, too. What cannot be read becomes a note.
 */
bool ctf_stream_next(struct ctf_stream *s);

/* The newest value of this name among the first `nr`; NULL: none. */
const struct ctf_value *ctf_value_find(const struct ctf_stream *s, unsigned int nr,
				       const char *name);

#endif
