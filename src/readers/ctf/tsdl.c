// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * CTF's metadata: a text in TSDL, a language like C's declarations, that LTTng writes for each trace:
 *
 *	typealias integer { size = 32; align = 8; signed = false; } := uint32_t;
 *	trace { byte_order = le; packet.header := struct { uint32_t magic; uint32_t stream_id; }; };
 *	clock { name = "monotonic"; freq = 1000000000; offset = 1700000000000000000; };
 *	stream { id = 0; event.header := struct event_header_compact; packet.context := struct packet_context; };
 *	event { name = "kvm_x86_exit"; id = 3; stream_id = 0; fields := struct { uint32_t _exit_reason; }; };
 *
 * In a file it is plain, or in packets with a binary header of 37 bytes each, in the byte order of the machine that
 * wrote it. Names of types are known to the end of the block in which they are declared.
 *
 * libbabeltrace2 is not used: it opens files by their names, loads its plugins, and ends the process at what it does
 * not expect, so that a process without rights (confine/) cannot use it.
 */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "readers/ctf/tsdl.h"
#include "readers/ftrace/kernel_events.h"

enum { CTF_EVENT_NAME_MAX = 60 /* text_line.c */ };

/* ---- blocks: trace, env, clock, stream, event ---- */

struct block {
	char kind[16];
	uint64_t id, stream_id;
	char name[CTF_NAME_MAX];
	struct ctf_stream_class stream;
	struct ctf_event_class event;
	struct ctf_clock clock;
};

static void type_assign(struct tsdl *t, struct block *b, const char *name,
			const struct ctf_type *type)
{
	bool is_event = !strcmp(b->kind, "event");

	if (type && type->kind != CTF_STRUCT)
		tsdl_fail(t, "%s is no structure", name);
	else if (!strcmp(name, "packet.header"))
		t->m->packet_header = type;
	else if (!strcmp(name, "packet.context"))
		b->stream.packet_context = type;
	else if (!strcmp(name, "event.header"))
		b->stream.event_header = type;
	else if (!strcmp(name, "event.context"))
		b->stream.event_context = type;
	else if (is_event && !strcmp(name, "context"))
		b->event.context = type;
	else if (is_event && !strcmp(name, "fields"))
		b->event.fields = type;
}

static void value_assign(struct tsdl *t, struct block *b, const char *name,
			 const struct tsdl_value *v)
{
	bool is_env = !strcmp(b->kind, "env");

	if (is_env && (!strcmp(name, "hostname") || !strcmp(name, "host")))
		memcpy(t->m->hostname, v->text, sizeof(v->text));
	else if (is_env && !strcmp(name, "tracer_name"))
		memcpy(t->m->tracer, v->text, sizeof(v->text));
	else if (!strcmp(b->kind, "trace") && !strcmp(name, "byte_order"))
		t->m->order = tsdl_order_of(v);
	else if (!strcmp(name, "id"))
		b->id = v->number;
	else if (!strcmp(name, "stream_id"))
		b->stream_id = v->number;
	else if (!strcmp(name, "name"))
		memcpy(b->name, v->text, sizeof(v->text));
	else if (!strcmp(name, "freq"))
		b->clock.freq = v->number;
	else if (!strcmp(name, "offset"))
		b->clock.offset = v->number;
	else if (!strcmp(name, "offset_s"))
		b->clock.offset_s = (int64_t)v->number;
}

static struct ctf_stream_class *stream_class(struct tsdl *t, uint64_t id)
{
	struct ctf_meta *m = t->m;

	for (unsigned int i = 0; i < m->nr_streams; i++)
		if (m->stream[i].id == id)
			return &m->stream[i];
	if (m->nr_streams == CTF_STREAMS_MAX)
		return tsdl_fail(t, "more than %d streams", CTF_STREAMS_MAX);
	m->stream[m->nr_streams].id = id;
	return &m->stream[m->nr_streams++];
}

static void stream_end(struct tsdl *t, const struct block *b)
{
	struct ctf_stream_class *s = stream_class(t, b->id);

	if (!s)
		return;
	s->packet_context = b->stream.packet_context;
	s->event_header = b->stream.event_header;
	s->event_context = b->stream.event_context;
}

/* Has perf written the fields of a sample, and those that each tracepoint has, before the others? */
static bool is_of_perf(const struct ctf_type *fields)
{
	bool sample = false, tracepoint = false;

	for (uint32_t i = 0; fields && i < fields->nr_fields; i++) {
		const char *name = fields->field[i].name ? fields->field[i].name : "";

		sample |= !strncmp(name, "perf_", 5);
		tracepoint |= !strcmp(name, "common_pid");
	}
	return sample && tracepoint;
}

/* perf calls tracepoints SYSTEM:NAME, or SYSTEM:NAME:MODIFIERS: sets the system. Returns the name. */
static char *system_split(struct tsdl *t, struct block *b)
{
	char *colon = b->event.is_perf ? strchr(b->name, ':') : NULL;

	b->event.system = "";
	if (!colon)
		return b->name;
	b->event.system = tsdl_text_keep(t, b->name, (size_t)(colon - b->name));
	colon[1 + strcspn(colon + 1, ":")] = '\0';
	return colon + 1;
}

/* LTTng calls KVM's tracepoints of x86 kvm_x86_...; a program's events are PROVIDER:NAME. */
static const char *event_name_keep(struct tsdl *t, const char *name)
{
	static const char x86[] = "kvm_x86_";
	bool is_x86 = !strncmp(name, x86, sizeof(x86) - 1);
	char plain[CTF_EVENT_NAME_MAX];

	snprintf(plain, sizeof(plain), "%s%.*s", is_x86 ? "kvm_" : "", CTF_EVENT_NAME_MAX - 5,
		 !*name	  ? "unnamed"
		 : is_x86 ? name + sizeof(x86) - 1
			  : name);
	for (char *p = plain; *p; p++)
		*p = isalnum((unsigned char)*p) ? *p : '_';
	return tsdl_text_keep(t, plain, strlen(plain));
}

/* hostrace export ctf has the names of our own events. */
static void fields_rename(const struct ctf_event_class *e)
{
	for (uint32_t i = 0; e->is_ours && e->fields && i < e->fields->nr_fields; i++)
		if (e->fields->field[i].name)
			e->fields->field[i].name =
				kernel_field_name(e->name, e->fields->field[i].name);
}

static void event_end(struct tsdl *t, struct block *b)
{
	struct ctf_stream_class *s = stream_class(t, b->stream_id);

	if (!s || b->id >= CTF_EVENTS_MAX) {
		tsdl_fail(t, "an event's id is too large");
		return;
	}
	if (b->id >= s->nr_events) {
		uint64_t nr = b->id + 1 > 2 * s->nr_events ? b->id + 1 : 2 * s->nr_events;
		struct ctf_event_class *more = tsdl_keep(t, nr, sizeof(*more));

		if (!more)
			return;
		if (s->nr_events)
			memcpy(more, s->event, s->nr_events * sizeof(*more));
		s->event = more;
		s->nr_events = nr;
	}
	b->event.is_perf = is_of_perf(b->event.fields);
	b->event.name = event_name_keep(t, system_split(t, b));
	b->event.is_ours =
		b->event.name && kernel_event_find("", 0, b->event.name, strlen(b->event.name));
	b->event.is_sched = b->event.name && !strncmp(b->event.name, "sched_", 6);
	if (!strcmp(t->m->tracer, "hostrace"))
		fields_rename(&b->event);
	s->event[b->id] = b->event;
}

static void clock_end(struct tsdl *t, struct block *b)
{
	struct ctf_meta *m = t->m;

	memcpy(b->clock.name, b->name, sizeof(b->name));
	if (!b->clock.freq)
		b->clock.freq = 1000000000;
	if (m->nr_clocks == CTF_CLOCKS_MAX)
		tsdl_fail(t, "more than %d clocks", CTF_CLOCKS_MAX);
	else
		m->clock[m->nr_clocks++] = b->clock;
}

static void block_entry(struct tsdl *t, struct block *b)
{
	char name[CTF_NAME_MAX];
	struct tsdl_value v;

	snprintf(name, sizeof(name), "%.*s", (int)(t->len < 100 ? t->len : 100), t->at);
	tsdl_next(t);
	if (tsdl_accept(t, ":=")) {
		type_assign(t, b, name, tsdl_type_parse(t, NULL));
	} else if (tsdl_expect(t, "=")) {
		tsdl_value_read(t, &v);
		value_assign(t, b, name, &v);
	}
	tsdl_expect(t, ";");
}

static void block_parse(struct tsdl *t)
{
	unsigned int names = t->nr_names;
	struct block b = {.id = 0};

	snprintf(b.kind, sizeof(b.kind), "%.*s", (int)(t->len < 15 ? t->len : 15), t->at);
	tsdl_next(t);
	tsdl_expect(t, "{");
	while (tsdl_in_block(t))
		if (tsdl_is(t, "struct") || tsdl_is(t, "enum") || tsdl_is(t, "variant")) {
			tsdl_type_parse(t, NULL);
			tsdl_expect(t, ";");
		} else if (!tsdl_alias_parse(t)) {
			block_entry(t, &b);
		}
	tsdl_expect(t, "}");
	tsdl_accept(t, ";");
	t->nr_names = names;
	if (t->err)
		return;
	if (!strcmp(b.kind, "stream"))
		stream_end(t, &b);
	else if (!strcmp(b.kind, "event"))
		event_end(t, &b);
	else if (!strcmp(b.kind, "clock"))
		clock_end(t, &b);
}

static void text_parse(struct tsdl *t)
{
	static const char *const blocks[] = {"trace",  "env",	"clock",
					     "stream", "event", "callsite"};

	tsdl_next(t);
	while (t->token != T_END && !t->err) {
		if (array_any(sizeof(blocks) / sizeof(blocks[0]), i, tsdl_is(t, blocks[i]))) {
			block_parse(t);
		} else if (tsdl_is(t, "struct") || tsdl_is(t, "enum") || tsdl_is(t, "variant")) {
			tsdl_type_parse(t, NULL);
			tsdl_expect(t, ";");
		} else if (!tsdl_alias_parse(t) && !tsdl_accept(t, ";")) {
			tsdl_fail(t, "unexpected '%.*s'", (int)(t->len < 32 ? t->len : 32), t->at);
		}
	}
}

/* ---- packets of text ---- */

enum { PACKET_MAGIC = 0x75d11d57, PACKET_HEAD = 37, CONTENT_AT = 24, SIZE_AT = 28 };

static uint32_t u32_at(const uint8_t *p, bool big)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return big ? __builtin_bswap32(v) : v;
}

/* Appends the text of all packets. */
static int packets_join(const char *path, const uint8_t *data, size_t len, bool big, char *text,
			size_t *ret_len)
{
	size_t at = 0;

	*ret_len = 0;
	while (at < len) {
		size_t left = len - at, content, size;

		if (left < PACKET_HEAD || u32_at(data + at, big) != PACKET_MAGIC)
			return fail(-EBADMSG, "%s: offset %zu: this is no packet of CTF metadata",
				    path, at);
		content = u32_at(data + at + CONTENT_AT, big) / 8;
		size = u32_at(data + at + SIZE_AT, big) / 8;
		if (content < PACKET_HEAD || size < content || size > left)
			return fail(-EBADMSG, "%s: offset %zu: a packet of metadata is truncated",
				    path, at);
		memcpy(text + *ret_len, data + at + PACKET_HEAD, content - PACKET_HEAD);
		*ret_len += content - PACKET_HEAD;
		at += size;
	}
	return 0;
}

int ctf_meta_parse(struct ctf_meta *m, const char *path, const uint8_t *data, size_t len)
{
	struct tsdl *t = calloc(1, sizeof(*t));
	char *text = malloc(len + 1);
	size_t text_len = len;
	int err = t && text ? 0 : fail(-ENOMEM, "%s: out of memory", path);

	*m = (struct ctf_meta){.order = CTF_LITTLE};
	if (!err && len >= 4 &&
	    (u32_at(data, false) == PACKET_MAGIC || u32_at(data, true) == PACKET_MAGIC))
		err = packets_join(path, data, len, u32_at(data, true) == PACKET_MAGIC, text,
				   &text_len);
	else if (!err)
		memcpy(text, data, len);
	if (!err && text_len && (*text == '{' || *text == '\x1e'))
		err = fail_hint(fail(-EPROTONOSUPPORT, "%s: CTF 2 is not supported", path),
				"convert it to CTF 1.8: babeltrace2 IN -c sink.ctf.fs "
				"-p 'path=\"OUT\",ctf-version=\"1\"'");
	if (!err) {
		*t = (struct tsdl){
			.m = m, .path = path, .p = text, .end = text + text_len, .line = 1};
		text_parse(t);
		err = t->err;
	}
	if (!err && !m->nr_streams)
		err = fail(-EBADMSG, "%s: the metadata describes no stream", path);
	free(text);
	free(t);
	return err;
}

void ctf_meta_deinit(struct ctf_meta *m)
{
	for (size_t i = 0; i < m->nr_memory; i++)
		free(m->memory[i]);
	free(m->memory);
	*m = (struct ctf_meta){.nr_streams = 0};
}
