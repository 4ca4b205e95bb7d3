// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The scan of a trace: where each CPU's bundles are, which threads belong to which process, how the clocks relate, and
 * what was lost. Numbers are those of perfetto/trace/trace_packet.proto and ftrace_event_bundle.proto.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/error.h"
#include "readers/perfetto/perfetto_internal.h"

enum { TRACE_PACKET = 1 };

enum { /* of TracePacket */
	PACKET_BUNDLE = 1,
	PACKET_PROCESS_TREE = 2,
	PACKET_CLOCKS = 6,
	PACKET_TIME = 8,
	PACKET_SEQUENCE = 10,
	PACKET_TRACK_EVENT = 11,
	PACKET_INTERNED = 12,
	PACKET_FLAGS = 13,
	PACKET_STATS = 34,
	PACKET_DROPPED = 42,
	PACKET_ZLIB = 50,
	PACKET_TRACK_DESCRIPTOR = 60,
	PACKET_MACHINE = 98,
	PACKET_ZSTD = 133,
	PACKET_LAST = 1999,
};

enum { /* of FtraceEventBundle */
	BUNDLE_CPU = 1,
	BUNDLE_LOST = 3,
	BUNDLE_CLOCK = 5,
	BUNDLE_CLOCK_TIME = 6,
	BUNDLE_BOOT_TIME = 7,
	BUNDLE_GENERIC = 11,
};

enum { REALTIME = 1, MONOTONIC = 3, BOOTTIME = 6 };
enum { NOTES_MAX = 16 };

void perfetto_damage(struct perfetto *p, uint64_t at, const char *what)
{
	if (p->nr_notes++ < NOTES_MAX)
		trace_info_caveat(p->info, "%s: offset %" PRIu64 ": %s", p->info->file, at, what);
}

/* Of what is in the file, or in the compressed packets that are scanned. */
static uint64_t offset_of(const struct perfetto *p, const uint8_t *at)
{
	return at >= p->data && at <= p->data + p->bytes ? (uint64_t)(at - p->data) : p->packed_at;
}

/* Bundles after it may lack what was in it. */
static void packet_damage(struct perfetto *p, uint64_t at, const char *what)
{
	p->damages++;
	perfetto_damage(p, at, what);
}

/* ---- is it one? ---- */

/* What TracePacket's first fields are; others are messages, numbers or texts. */
static bool packet_field_fits(const struct wire *w)
{
	static const uint8_t type[] = {
		[PACKET_BUNDLE] = WIRE_BYTES,	  [PACKET_PROCESS_TREE] = WIRE_BYTES,
		[4] = WIRE_BYTES,		  [5] = WIRE_BYTES,
		[PACKET_CLOCKS] = WIRE_BYTES,	  [7] = WIRE_BYTES,
		[9] = WIRE_BYTES,		  [PACKET_TRACK_EVENT] = WIRE_BYTES,
		[PACKET_INTERNED] = WIRE_BYTES,
	};

	if (w->field < sizeof(type))
		return w->type == type[w->field];
	return w->field <= PACKET_LAST && (w->type == WIRE_BYTES || w->type == WIRE_VARINT);
}

static bool is_packet(const uint8_t *bytes, size_t len)
{
	struct wire w = wire_of(bytes, len);

	while (wire_next(&w))
		if (!packet_field_fits(&w))
			return false;
	return !w.bad;
}

/* The first packet is longer than what is here: its fields up to the one that is cut. */
static bool is_packet_begin(const uint8_t *bytes, size_t len)
{
	struct wire w = wire_of(bytes, len);
	unsigned int nr = 0;

	for (; wire_next(&w); nr++)
		if (!packet_field_fits(&w))
			return false;
	/* A bundle, a process tree or compressed packets of more bytes than there are. */
	return nr > 0 || (len > 4 && (bytes[0] == (PACKET_BUNDLE << 3 | WIRE_BYTES) ||
				      bytes[0] == (PACKET_PROCESS_TREE << 3 | WIRE_BYTES) ||
				      (bytes[0] == 0x92 && bytes[1] == 0x03)));
}

/* Text has no bytes below a tab; a packet's numbers do. */
static bool is_binary(const uint8_t *bytes, size_t len)
{
	return array_any(len, i, bytes[i] < '\t' || (bytes[i] > '\r' && bytes[i] < ' ' &&
						     bytes[i] != 0x1b));
}

bool perfetto_probe(const uint8_t *head, size_t len)
{
	struct wire w = wire_of(head, len);
	unsigned int nr = 0;
	uint64_t size = 0;

	if (!len || *head != (TRACE_PACKET << 3 | WIRE_BYTES) || !is_binary(head, len))
		return false;
	for (; wire_next(&w); nr++)
		if (w.field != TRACE_PACKET || w.type != WIRE_BYTES ||
		    !is_packet(w.bytes, (size_t)w.number))
			return false;
	if (nr || !w.bad)
		return nr > 0;
	w.bad = false;
	w.pos++;
	return wire_varint(&w, &size) && size > len - (size_t)(w.pos - head) &&
	       is_packet_begin(w.pos, len - (size_t)(w.pos - head));
}

/* ---- threads, clocks, losses ---- */

static void *message_unpack(struct perfetto *p, const ProtobufCMessageDescriptor *type,
			    const struct wire *w)
{
	ProtobufCMessage *m =
		w->number <= PERFETTO_MESSAGE_MAX
			? protobuf_c_message_unpack(type, NULL, (size_t)w->number, w->bytes)
			: NULL;

	if (!m)
		perfetto_damage(p, offset_of(p, w->bytes), "a message is damaged or too large");
	return m;
}

static void threads_learn(struct perfetto *p, const struct wire *w)
{
	Ftrace__ProcessTree *tree = message_unpack(p, &ftrace__process_tree__descriptor, w);

	for (size_t i = 0; tree && i < tree->n_processes; i++) {
		uint32_t pid = (uint32_t)tree->processes[i]->pid;
		struct perfetto_thread *t = hash_add_u64(&p->threads, pid, NULL);

		if (t)
			t->tgid = pid;
	}
	for (size_t i = 0; tree && i < tree->n_threads; i++) {
		const Ftrace__ProcessTree__Thread *from = tree->threads[i];
		struct perfetto_thread *t = hash_add_u64(&p->threads, (uint32_t)from->tid, NULL);

		if (t && from->has_tgid)
			t->tgid = (uint32_t)from->tgid;
		if (t && from->name)
			snprintf(t->comm, sizeof(t->comm), "%s", from->name);
	}
	if (tree)
		protobuf_c_message_free_unpacked(&tree->base, NULL);
}

static void clocks_learn(struct perfetto *p, const struct wire *w)
{
	Ftrace__ClockSnapshot *m = message_unpack(p, &ftrace__clock_snapshot__descriptor, w);
	uint64_t time[BOOTTIME + 1] = {0};

	for (size_t i = 0; m && i < m->n_clocks; i++)
		if (m->clocks[i]->clock_id <= BOOTTIME)
			time[m->clocks[i]->clock_id] = m->clocks[i]->timestamp;
	if (m)
		protobuf_c_message_free_unpacked(&m->base, NULL);
	if (p->monotonic || !time[MONOTONIC])
		return;
	p->monotonic = time[MONOTONIC];
	p->realtime = time[REALTIME];
	p->boottime = time[BOOTTIME];
}

static void stats_learn(struct perfetto *p, const struct wire *w)
{
	enum { START = 1, END = 2 };
	Ftrace__FtraceStats *m = message_unpack(p, &ftrace__ftrace_stats__descriptor, w);
	uint64_t sum = 0;

	for (size_t i = 0; m && i < m->n_cpu_stats; i++)
		sum += m->cpu_stats[i]->overrun + m->cpu_stats[i]->dropped_events;
	if (m && m->phase == END)
		p->kernel_lost[1] = sum;
	else if (m && m->phase == START && !p->has_stats)
		p->kernel_lost[0] = sum;
	p->has_stats |= m && m->phase == START;
	if (m)
		protobuf_c_message_free_unpacked(&m->base, NULL);
}

static void generic_learn(struct perfetto *p, const struct wire *w)
{
	Ftrace__GenericEventDescriptor *m =
		message_unpack(p, &ftrace__generic_event_descriptor__descriptor, w);
	Ftrace__DescriptorProto *type =
		m && m->event_descriptor.len
			? ftrace__descriptor_proto__unpack(NULL, m->event_descriptor.len,
							   m->event_descriptor.data)
			: NULL;
	struct perfetto_generic *g = NULL;
	bool is_new = false;

	if (type && type->name && type->n_field <= PERFETTO_FIELDS_MAX)
		g = hash_add_u64(&p->generic, (uint32_t)m->field_id, &is_new);
	if (g && is_new)
		g->type = type;
	else if (type)
		ftrace__descriptor_proto__free_unpacked(type, NULL);
	if (m)
		protobuf_c_message_free_unpacked(&m->base, NULL);
}

/* ---- bundles ---- */

static struct perfetto_stream *stream_of(struct perfetto *p, uint64_t sequence, uint32_t cpu)
{
	struct {
		uint64_t key;
		struct perfetto_stream *stream;
	} *e;

	e = hash_add_u64(&p->stream_by_key, sequence << 32 | cpu, NULL);
	if (!e || (!e->stream && p->nr_streams == PERFETTO_STREAMS_MAX)) {
		p->err = fail(-E2BIG, "%s: more than %d CPUs", p->info->file,
			      PERFETTO_STREAMS_MAX);
		return NULL;
	}
	if (e->stream)
		return e->stream;
	e->stream = calloc(1, sizeof(*e->stream));
	if (!e->stream) {
		p->err = fail(-ENOMEM, "%s: out of memory", p->info->file);
		return NULL;
	}
	e->stream->cpu = cpu;
	e->stream->sequence = sequence;
	p->stream[p->nr_streams++] = e->stream;
	return e->stream;
}

/* Of what the packet is in: the file, or compressed packets. */
struct place {
	const uint8_t *base; /* of unpacked content; NULL: the file */
	uint64_t at;
	size_t len;
	enum perfetto_packing packing;
};

/* What a bundle says of itself, without its events. */
static bool bundle_head(struct perfetto *p, const struct wire *bundle, uint32_t *cpu, bool *lost)
{
	struct wire w = wire_of(bundle->bytes, (size_t)bundle->number);

	while (wire_next(&w)) {
		switch (w.field) {
		case BUNDLE_CPU:
			*cpu = (uint32_t)w.number;
			break;
		case BUNDLE_LOST:
			*lost = w.number;
			break;
		case BUNDLE_CLOCK:
			p->ftrace_clock = (uint32_t)w.number;
			break;
		case BUNDLE_CLOCK_TIME:
			p->ftrace_time = p->ftrace_time ? p->ftrace_time : (int64_t)w.number;
			break;
		case BUNDLE_BOOT_TIME:
			p->ftrace_boottime =
				p->ftrace_boottime ? p->ftrace_boottime : (int64_t)w.number;
			break;
		case BUNDLE_GENERIC:
			if (w.bytes)
				generic_learn(p, &w);
			break;
		default:
			break;
		}
	}
	return !w.bad;
}

static void bundle_add(struct perfetto *p, const struct place *place, const struct wire *bundle,
		       const struct perfetto_sequence *seq)
{
	struct perfetto_bundle b = {
		.at = place->at, .len = (uint32_t)place->len, .packing = (uint8_t)place->packing};
	struct perfetto_stream *s;
	uint32_t cpu = 0;

	if (place->base) {
		b.inner_at = (uint32_t)(bundle->bytes - place->base);
		b.inner_len = (uint32_t)bundle->number;
	} else {
		b.at = (uint64_t)(bundle->bytes - p->data);
		b.len = (uint32_t)bundle->number;
	}
	if (!bundle_head(p, bundle, &cpu, &b.lost))
		packet_damage(p, b.at, "the rest of a bundle of events is unreadable");
	s = stream_of(p, seq->id, cpu);
	if (!s)
		return;
	if (p->nr_bundles == PERFETTO_BUNDLES_MAX) {
		p->err = fail(-E2BIG, "%s: more than %d bundles of events", p->info->file,
			      PERFETTO_BUNDLES_MAX);
		return;
	}
	b.lost |= (s->nr && s->drops != seq->drops) || s->damages != p->damages;
	s->drops = seq->drops;
	s->damages = p->damages;
	p->err = array_room(s->bundle, s->nr);
	if (p->err)
		return;
	s->bundle[s->nr++] = b;
	p->nr_bundles++;
}

/* ---- packets ---- */

static void packets_scan(struct perfetto *p, struct wire *packets, const struct place *place);

static void compressed_scan(struct perfetto *p, const struct wire *w, enum perfetto_packing packing)
{
	struct place place = {
		.at = (uint64_t)(w->bytes - p->data), .len = (size_t)w->number, .packing = packing};
	struct perfetto_content *c = perfetto_unpack(p, place.at, place.len, packing);
	struct wire inner;

	if (!c && !p->err)
		packet_damage(p, place.at, "a compressed packet cannot be unpacked");
	if (!c)
		return;
	p->packed_at = place.at;
	place.base = c->bytes;
	inner = wire_of(c->bytes, c->len);
	packets_scan(p, &inner, &place);
	perfetto_release(p, c);
}

/* The packet's writer, to which packets before it are missing. */
static struct perfetto_sequence *sequence_of(struct perfetto *p, const struct wire *packet,
					     bool *ret_other_machine)
{
	struct wire w = wire_of(packet->bytes, (size_t)packet->number);
	struct perfetto_sequence *seq;
	uint64_t id = 0;
	bool dropped = false, is_new;

	*ret_other_machine = false;
	while (wire_next(&w)) {
		if (w.field == PACKET_SEQUENCE)
			id = (uint32_t)w.number;
		else if (w.field == PACKET_DROPPED)
			dropped = w.number;
		else if (w.field == PACKET_MACHINE)
			*ret_other_machine = w.number;
	}
	seq = hash_add_u64(&p->sequences, id, &is_new);
	if (!seq)
		p->err = fail(-E2BIG, "%s: more than %d writers", p->info->file,
			      PERFETTO_SEQUENCES_MAX);
	else if (dropped && !is_new) /* the first packet has the mark, too */
		seq->drops++;
	return seq;
}

static void packet_scan(struct perfetto *p, const struct wire *packet, const struct place *place)
{
	struct wire w = wire_of(packet->bytes, (size_t)packet->number);
	bool other_machine;
	struct perfetto_sequence *seq = sequence_of(p, packet, &other_machine);

	while (seq && !p->err && wire_next(&w)) {
		if (w.field == PACKET_TRACK_EVENT || w.field == PACKET_TRACK_DESCRIPTOR)
			p->has_tracks = true;
		if (!w.bytes)
			continue;
		if (other_machine && w.field == PACKET_BUNDLE)
			p->other_machines++;
		else if (w.field == PACKET_BUNDLE)
			bundle_add(p, place, &w, seq);
		else if ((w.field == PACKET_ZLIB || w.field == PACKET_ZSTD) && !place->base)
			compressed_scan(p, &w,
					w.field == PACKET_ZLIB ? PACKING_ZLIB : PACKING_ZSTD);
		else if (other_machine)
			continue;
		else if (w.field == PACKET_PROCESS_TREE)
			threads_learn(p, &w);
		else if (w.field == PACKET_CLOCKS)
			clocks_learn(p, &w);
		else if (w.field == PACKET_STATS)
			stats_learn(p, &w);
	}
	if (w.bad)
		packet_damage(p, offset_of(p, w.pos), "the rest of a packet is unreadable");
}

static void packets_scan(struct perfetto *p, struct wire *packets, const struct place *place)
{
	while (!p->err && wire_next(packets))
		if (packets->field == TRACE_PACKET && packets->bytes)
			packet_scan(p, packets, place);
	if (!packets->bad)
		return;
	p->info->truncated |= !place->base;
	packet_damage(
		p, offset_of(p, packets->pos),
		place->base ? "the rest of a compressed packet is unreadable"
			    : "the last packet is truncated or damaged; what follows is not read");
}

/* Events that were dropped after the last bundle of a CPU. */
static void ends_learn(struct perfetto *p)
{
	for (unsigned int i = 0; i < p->nr_streams; i++) {
		struct perfetto_stream *s = p->stream[i];
		const struct perfetto_sequence *seq = hash_find_u64(&p->sequences, s->sequence);

		s->lost_at_end = s->damages != p->damages || (seq && seq->drops != s->drops);
	}
}

int perfetto_scan(struct perfetto *p)
{
	struct wire w = wire_of(p->data, p->bytes);

	p->stream_by_key = HASH_TABLE(
		struct {
			uint64_t key;
			struct perfetto_stream *s;
		},
		1, PERFETTO_STREAMS_MAX + 1);
	p->sequences = HASH_TABLE(struct perfetto_sequence, 1, PERFETTO_SEQUENCES_MAX);
	p->threads = HASH_TABLE(struct perfetto_thread, 1, PERFETTO_THREADS_MAX);
	p->generic = HASH_TABLE(struct perfetto_generic, 1, PERFETTO_GENERIC_MAX);
	p->unknown = HASH_TABLE(uint64_t, 1, PERFETTO_GENERIC_MAX);
	packets_scan(p, &w, &(struct place){0});
	ends_learn(p);
	return p->err;
}

void perfetto_deinit(struct perfetto *p)
{
	const struct perfetto_generic *g;
	uint32_t at = 0;

	for (unsigned int i = 0; i < p->nr_streams; i++) {
		perfetto_stream_rewind(p, p->stream[i]);
		free(p->stream[i]->bundle);
		free(p->stream[i]);
	}
	while ((g = hash_next(&p->generic, &at)))
		ftrace__descriptor_proto__free_unpacked(g->type, NULL);
	hash_deinit(&p->stream_by_key);
	hash_deinit(&p->sequences);
	hash_deinit(&p->threads);
	hash_deinit(&p->generic);
	hash_deinit(&p->unknown);
	free(p->arena);
}
