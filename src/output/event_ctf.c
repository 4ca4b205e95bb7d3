// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * One stream of packets. A packet's header, which has its size and its last time, is written when the packet ends. All
 * values are aligned to bytes, so that there is no padding. Names of fields get a leading underscore, which readers
 * remove: it keeps them apart from the keywords of the metadata's language.
 */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "output/event_formats.h"

enum {
	PACKET_BYTES = 1 << 20,
	NAME_BYTES = EVENT_NAME_MAX + 8, /* of a field: with its underscore and a number */
	SOURCES_MAX = 256,
	COMM_MAX = 64,
};

struct packet_head {
	uint32_t magic, stream_id;
	uint64_t begin, end, content_bits, packet_bits, lost;
} __attribute__((packed));

struct event_ctf {
	FILE *stream;
	struct event_ctf_clock clock;
	struct packet_head packet;
	uint64_t packet_bytes; /* 0: no packet is open */
	uint64_t time, moved;  /* of the newest event; see event_ctf_moved() */
	bool begun;
	bool used[EVENT_TYPES_MAX];
	char *source[SOURCES_MAX];
};

struct event_ctf *event_ctf_new(FILE *stream, const struct event_ctf_clock *clock)
{
	struct event_ctf *ctf = calloc(1, sizeof(*ctf));

	if (!ctf) {
		fail(-ENOMEM, "out of memory");
		return NULL;
	}
	ctf->stream = stream;
	ctf->clock = *clock;
	return ctf;
}

void event_ctf_close(struct event_ctf *ctf)
{
	if (!ctf)
		return;
	for (unsigned int i = 0; i < SOURCES_MAX; i++)
		free(ctf->source[i]);
	free(ctf);
}

uint64_t event_ctf_moved(const struct event_ctf *ctf)
{
	return ctf->moved;
}

/* ---- the stream ---- */

static void ctf_put(struct event_ctf *ctf, const void *data, size_t len)
{
	fwrite(data, 1, len, ctf->stream);
	ctf->packet_bytes += len;
}

static void packet_begin(struct event_ctf *ctf, uint64_t lost)
{
	ctf->packet = (struct packet_head){.magic = 0xc1fc1fc1, .begin = ctf->time, .lost = lost};
	ctf->packet_bytes = 0;
	ctf_put(ctf, &ctf->packet, sizeof(ctf->packet));
}

static int packet_end(struct event_ctf *ctf, uint64_t lost)
{
	ctf->packet.end = ctf->time;
	ctf->packet.content_bits = ctf->packet.packet_bits = 8 * ctf->packet_bytes;
	ctf->packet.lost = lost;
	if (fseeko(ctf->stream, -(off_t)ctf->packet_bytes, SEEK_END) ||
	    fwrite(&ctf->packet, sizeof(ctf->packet), 1, ctf->stream) != 1 ||
	    fseeko(ctf->stream, 0, SEEK_END))
		return fail(-errno, "cannot write the CTF stream: %s", strerror(errno));
	ctf->packet_bytes = 0;
	return 0;
}

/* An empty one: babeltrace2 prints how many events a packet lost only if there is one before it. */
static int first_packet(struct event_ctf *ctf, uint64_t time)
{
	ctf->begun = true;
	ctf->time = time;
	packet_begin(ctf, 0);
	return packet_end(ctf, 0);
}

static void put_text(struct event_ctf *ctf, const char *text)
{
	ctf_put(ctf, text, strlen(text) + 1);
}

static void put_fields(struct event_ctf *ctf, const struct event *ev)
{
	char text[EVENT_RECORD_MAX];

	for (unsigned int i = 0; i < ev->type->nr_fields; i++) {
		const struct field *f = &ev->type->fields[i];
		uint64_t v;

		if (f->kind > FIELD_SINT) {
			put_text(ctf, event_text(ev, f, text, sizeof(text)));
			continue;
		}
		v = event_number_stable(ev, f);
		ctf_put(ctf, &v, f->size); /* little-endian, as this machine */
	}
}

static int source_keep(struct event_ctf *ctf, const struct event_row *row)
{
	unsigned int source = row->ev->source;

	if (source >= SOURCES_MAX)
		return fail(-E2BIG, "more than %d inputs in one CTF trace", SOURCES_MAX);
	if (!ctf->source[source])
		ctf->source[source] = strdup(row->source);
	return ctf->source[source] ? 0 : fail(-ENOMEM, "out of memory");
}

int event_ctf_row(struct event_ctf *ctf, const struct event_row *row, uint64_t lost)
{
	const struct event *ev = row->ev;
	int32_t cpu = ev->cpu == RECORD_CPU_UNKNOWN ? -1 : ev->cpu;
	int32_t vcpu = row->vcpu == RECORD_NO_VCPU ? -1 : row->vcpu;
	uint16_t id = ev->type->index;
	uint8_t source = (uint8_t)ev->source;
	char comm[COMM_MAX];
	int err = source_keep(ctf, row);

	if (!err && !ctf->begun)
		err = first_packet(ctf, ev->time_ns);
	if (!err && ctf->packet_bytes >= PACKET_BYTES)
		err = packet_end(ctf, lost);
	if (err)
		return err;
	ctf->moved += ev->time_ns < ctf->time;
	ctf->time = ev->time_ns < ctf->time ? ctf->time : ev->time_ns;
	if (!ctf->packet_bytes)
		packet_begin(ctf, lost);
	ctf->used[id] = true;
	ctf_put(ctf, &id, sizeof(id));
	ctf_put(ctf, &ctf->time, sizeof(ctf->time));
	ctf_put(ctf, &source, sizeof(source));
	ctf_put(ctf, &cpu, sizeof(cpu));
	ctf_put(ctf, &vcpu, sizeof(vcpu));
	ctf_put(ctf, &ev->pid, sizeof(ev->pid));
	ctf_put(ctf, &ev->tid, sizeof(ev->tid));
	snprintf(comm, sizeof(comm), "%s", row->comm);
	put_text(ctf, comm);
	put_fields(ctf, ev);
	return 0;
}

/* ---- the metadata, in CTF's language TSDL ---- */

static const char head[] =
	"/* CTF 1.8 */\n"
	"typealias integer { size = 8; align = 8; signed = false; } := uint8_t;\n"
	"typealias integer { size = 16; align = 8; signed = false; } := uint16_t;\n"
	"typealias integer { size = 32; align = 8; signed = false; } := uint32_t;\n"
	"typealias integer { size = 64; align = 8; signed = false; } := uint64_t;\n"
	"typealias integer { size = 8; align = 8; signed = true; } := int8_t;\n"
	"typealias integer { size = 16; align = 8; signed = true; } := int16_t;\n"
	"typealias integer { size = 32; align = 8; signed = true; } := int32_t;\n"
	"typealias integer { size = 64; align = 8; signed = true; } := int64_t;\n"
	"typealias integer { size = 8; align = 8; signed = false; base = 16; } := xint8_t;\n"
	"typealias integer { size = 16; align = 8; signed = false; base = 16; } := xint16_t;\n"
	"typealias integer { size = 32; align = 8; signed = false; base = 16; } := xint32_t;\n"
	"typealias integer { size = 64; align = 8; signed = false; base = 16; } := xint64_t;\n"
	"trace {\n\tmajor = 1; minor = 8; byte_order = le;\n"
	"\tpacket.header := struct { uint32_t magic; uint32_t stream_id; };\n};\n"
	"env { domain = \"host\"; tracer_name = \"hostrace\"; };\n";

static void print_clock(const struct event_ctf_clock *clock, FILE *out)
{
	int64_t s = clock->offset_ns / 1000000000, ns = clock->offset_ns % 1000000000;

	if (ns < 0) {
		ns += 1000000000;
		s--;
	}
	fprintf(out,
		"clock {\n\tname = \"%s\"; freq = 1000000000; offset_s = %" PRId64
		"; offset = %" PRId64 ";\n\tdescription = \"%s\";\n};\n",
		clock->ticks ? "ticks" : "monotonic", s, ns,
		clock->ticks ? "ticks of unknown rate, shown as ns"
			     : "CLOCK_MONOTONIC of the host");
	fprintf(out,
		"typealias integer { size = 64; align = 8; map = clock.%s.value; } := stamp_t;\n",
		clock->ticks ? "ticks" : "monotonic");
}

static void print_quoted(const char *text, FILE *out)
{
	fputc('"', out);
	for (const char *p = text; *p; p++)
		fputc(*p == '"' || *p == '\\' || (unsigned char)*p < 0x20 ? '_' : *p, out);
	fputc('"', out);
}

static void print_stream(const struct event_ctf *ctf, FILE *out)
{
	const char *comma = "";

	fputs("stream {\n\tid = 0;\n"
	      "\tpacket.context := struct { stamp_t timestamp_begin; stamp_t timestamp_end;\n"
	      "\t\tuint64_t content_size; uint64_t packet_size; uint64_t events_discarded; };\n"
	      "\tevent.header := struct { uint16_t id; stamp_t timestamp; };\n"
	      "\tevent.context := struct {\n\t\tenum : uint8_t {",
	      out);
	for (unsigned int i = 0; i < SOURCES_MAX; i++)
		if (ctf->source[i]) {
			fprintf(out, "%s ", comma);
			print_quoted(ctf->source[i], out);
			fprintf(out, " = %u", i);
			comma = ",";
		}
	fputs(*comma ? "" : " \"host\" = 0", out);
	fputs(" } _source;\n\t\tint32_t _cpu; int32_t _vcpu; uint32_t _pid; uint32_t _tid;"
	      " string _comm;\n\t};\n};\n",
	      out);
}

static bool is_hex(const struct field *f)
{
	return !strcmp(f->fmt, "hex") || !strcmp(f->fmt, "addr") || !strcmp(f->fmt, "frame");
}

/* Identifiers; a name that is the same as an earlier one gets its own number. */
static void field_names(const struct event_type *type, char name[][NAME_BYTES])
{
	for (unsigned int i = 0; i < type->nr_fields; i++) {
		snprintf(name[i], NAME_BYTES, "_%.*s", EVENT_NAME_MAX, type->fields[i].name);
		for (char *p = name[i]; *p; p++)
			if (!isalnum((unsigned char)*p))
				*p = '_';
		for (unsigned int k = 0; k < i; k++)
			if (!strcmp(name[i], name[k])) {
				size_t len = strlen(name[i]);

				snprintf(name[i] + len, NAME_BYTES - len, "_%u", i);
				break;
			}
	}
}

static void print_type(const struct event_type *type, FILE *out)
{
	char name[EVENT_FIELDS_MAX][NAME_BYTES];

	field_names(type, name);
	fprintf(out, "event {\n\tid = %u; stream_id = 0; name = ", type->index);
	print_quoted(type->name, out);
	fputs(";\n\tfields := struct {\n", out);
	for (unsigned int i = 0; i < type->nr_fields; i++) {
		const struct field *f = &type->fields[i];

		if (f->kind > FIELD_SINT)
			fprintf(out, "\t\tstring %s;\n", name[i]);
		else
			fprintf(out, "\t\t%sint%u_t %s;\n",
				f->kind == FIELD_SINT ? ""
				: is_hex(f)	      ? "x"
						      : "u",
				8U * f->size, name[i]);
	}
	fputs("\t};\n};\n", out);
}

int event_ctf_finish(struct event_ctf *ctf, uint64_t lost, FILE *out)
{
	int err;

	if (!ctf->packet_bytes)
		packet_begin(ctf, lost);
	err = packet_end(ctf, lost);
	if (err)
		return err;
	fputs(head, out);
	print_clock(&ctf->clock, out);
	print_stream(ctf, out);
	for (unsigned int i = 0; i < event_types_count() && i < EVENT_TYPES_MAX; i++)
		if (ctf->used[i])
			print_type(event_type_at(i), out);
	return 0;
}
