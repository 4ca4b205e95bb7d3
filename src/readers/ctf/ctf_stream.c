// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * One file of a CTF trace: packets, each with a header (magic number, which stream it is), a
 * context (times, sizes, the CPU, how many events the stream has discarded) and events. An event
 * has a header (id, time), contexts that its stream and its class add, and fields; which, and how
 * they are laid out in bits, the metadata says (tsdl.c).
 *
 * Times are of a clock of 64 bits, of which an event may have only the lowest: the rest is that of
 * the time before, plus one if they wrapped.
 *
 * LTTng discards an event if its packet is full and the next one has not been read yet, and writes
 * the count into the packet when the next one begins: what a packet lost follows its last event.
 * Packets that were overwritten (flight recorder) are gaps of packet_seq_num.
 */
#include <inttypes.h>

#include "readers/ctf/ctf.h"

enum {
	NOTES_MAX = 8,	   /* of one file */
	STEPS_MAX = 65536, /* and 4 for each bit: structures without fields take no space */
};
static const uint64_t magic_number = 0xc1fc1fc1;

/* ---- bits ---- */

static bool bits_align(struct ctf_stream *s, uint32_t align)
{
	uint64_t bit = (s->bit + align - 1) & ~(uint64_t)(align - 1);

	/* structures are aligned to the packet's begin, which is a whole number of bytes */
	if (align > 8) {
		uint64_t packet = 8 * s->packet, in = s->bit - packet;

		bit = packet + ((in + align - 1) & ~(uint64_t)(align - 1));
	}
	if (bit > s->end_bit)
		return false;
	s->bit = bit;
	return true;
}

/* At most 64 bits (else false), the first of which is the lowest of a byte, or the highest if the order is
 * big-endian. */
static bool bits_read(struct ctf_stream *s, unsigned int nr, bool big, uint64_t *ret)
{
	uint64_t v = 0;

	if (nr > 64 || nr > s->end_bit - s->bit)
		return false;
	for (unsigned int done = 0; done < nr;) {
		unsigned int in = s->bit % 8, n = 8 - in;
		uint8_t byte = s->data[s->bit / 8];
		uint64_t part;

		n = n < nr - done ? n : nr - done;
		part = (big ? byte >> (8 - in - n) : byte >> in) & ((1u << n) - 1);
		v = big ? v << n | part : v | part << done;
		done += n;
		s->bit += n;
	}
	*ret = v;
	return true;
}

/* ---- values ---- */

const struct ctf_value *ctf_value_find(const struct ctf_stream *s, unsigned int nr,
				       const char *name)
{
	while (nr > 0 && (!s->value[nr - 1].name || strcmp(s->value[nr - 1].name, name)))
		nr--;
	return nr ? &s->value[nr - 1] : NULL;
}

static void value_add(struct ctf_stream *s, const char *name, const struct ctf_type *type,
		      uint64_t number, const uint8_t *bytes, uint32_t len)
{
	if (name && s->nr < CTF_VALUES_MAX)
		s->value[s->nr++] = (struct ctf_value){name, type, number, bytes, len};
}

static void clock_set(struct ctf_stream *s, const struct ctf_type *type, uint64_t value)
{
	uint64_t mask = type->bits < 64 ? (UINT64_C(1) << type->bits) - 1 : UINT64_MAX,
		 time = (s->clock & ~mask) | value;

	if (mask != UINT64_MAX && time < s->clock)
		time += mask + 1;
	s->clock = time;
	s->which_clock = type->clock - 1;
}

static bool is_big(const struct ctf_stream *s, const struct ctf_type *type)
{
	return type->order == CTF_NATIVE ? s->big : type->order == CTF_BIG;
}

static bool integer_decode(struct ctf_stream *s, const struct ctf_type *type, const char *name)
{
	uint64_t v;

	if (!bits_align(s, type->align) || !bits_read(s, type->bits, is_big(s, type), &v))
		return false;
	if (type->clock && (!name || strcmp(name, "timestamp_end")))
		clock_set(s, type, v);
	if (type->is_signed && type->kind == CTF_INTEGER && type->bits < 64 &&
	    v >> (type->bits - 1))
		v |= UINT64_MAX << type->bits;
	value_add(s, name, type, v, NULL, 0);
	return true;
}

static bool string_decode(struct ctf_stream *s, const struct ctf_type *type, const char *name)
{
	const uint8_t *begin, *nul;

	if (!bits_align(s, 8))
		return false;
	begin = s->data + s->bit / 8;
	nul = memchr(begin, 0, (size_t)((s->end_bit - s->bit) / 8));
	if (!nul)
		return false;
	value_add(s, name, type, 0, begin, (uint32_t)(nul - begin));
	s->bit += 8 * (uint64_t)(nul + 1 - begin);
	return true;
}

static bool decode(struct ctf_stream *s, const struct ctf_type *type, const char *name,
		   unsigned int depth);

/* The option whose label the tag's value has. */
static bool variant_decode(struct ctf_stream *s, const struct ctf_type *type, const char *name,
			   unsigned int depth)
{
	const struct ctf_value *tag = type->tag ? ctf_value_find(s, s->nr, type->tag) : NULL;
	const char *label = NULL;

	for (uint32_t i = 0; tag && i < tag->type->nr_labels && !label; i++) {
		const struct ctf_label *l = &tag->type->label[i];

		if (tag->type->is_signed
			    ? (int64_t)tag->number >= l->from && (int64_t)tag->number <= l->to
			    : tag->number >= (uint64_t)l->from && tag->number <= (uint64_t)l->to)
			label = l->name;
	}
	for (uint32_t i = 0; label && i < type->nr_fields; i++)
		if (!strcmp(type->field[i].name ? type->field[i].name : "", label))
			return decode(s, type->field[i].type, name, depth);
	return false;
}

static bool array_decode(struct ctf_stream *s, const struct ctf_type *type, const char *name,
			 unsigned int depth)
{
	const struct ctf_type *e = type->element;
	const struct ctf_value *tag = type->tag ? ctf_value_find(s, s->nr, type->tag) : NULL;
	uint64_t nr = tag ? tag->number : type->length;

	if ((type->tag && !tag) || !bits_align(s, type->align))
		return false;
	if (e->kind == CTF_INTEGER && e->bits == 8 && e->align <= 8 && s->bit % 8 == 0) {
		if (nr > (s->end_bit - s->bit) / 8)
			return false;
		value_add(s, name, e, nr, s->data + s->bit / 8, (uint32_t)nr);
		s->bit += 8 * nr;
		return true;
	}
	for (uint64_t i = 0; i < nr; i++) {
		uint64_t before = s->bit;

		if (!decode(s, e, NULL, depth))
			return false;
		if (s->bit == before)
			break; /* elements of no size */
	}
	return true;
}

/* False: the packet ends before, or a tag has no meaning. Elements of arrays have no names and are
 * not kept. */
static bool decode(struct ctf_stream *s, const struct ctf_type *type, const char *name,
		   unsigned int depth)
{
	if (!type)
		return true;
	if (depth > 4 * CTF_DEPTH_MAX || ++s->steps > STEPS_MAX + 4 * (s->bit - 8 * s->packet))
		return false;
	switch (type->kind) {
	case CTF_INTEGER:
	case CTF_FLOAT:
		return integer_decode(s, type, name);
	case CTF_STRING:
		return string_decode(s, type, name);
	case CTF_VARIANT:
		return variant_decode(s, type, name, depth + 1);
	case CTF_ARRAY:
		return array_decode(s, type, name, depth + 1);
	case CTF_STRUCT:
		break;
	}
	if (!bits_align(s, type->align))
		return false;
	for (uint32_t i = 0; i < type->nr_fields; i++)
		if (!decode(s, type->field[i].type, type->field[i].name, depth + 1))
			return false;
	return true;
}

/* ---- packets ---- */

/* What cannot be read is lost. */
static void damage_note(struct ctf_stream *s, uint64_t at, const char *what)
{
	s->lost_packets = true;
	if (s->nr_notes++ < NOTES_MAX)
		trace_info_caveat(s->info, "%s: offset %" PRIu64 ": %s", s->path, at, what);
}

static bool truncated_note(struct ctf_stream *s, const char *what)
{
	damage_note(s, s->packet, what);
	s->info->truncated = true;
	return false;
}

/* The number of this name in the packet's header and context. False: there is none. */
static bool packet_number(const struct ctf_stream *s, const char *name, uint64_t *ret)
{
	const struct ctf_value *v = ctf_value_find(s, s->nr_packet, name);

	if (v)
		*ret = v->number;
	return v != NULL;
}

static bool class_find(struct ctf_stream *s)
{
	const struct ctf_meta *m = s->meta;
	uint64_t id = m->stream[0].id;

	packet_number(s, "stream_id", &id);
	for (unsigned int i = 0; i < m->nr_streams; i++)
		if (m->stream[i].id == id)
			s->class = &m->stream[i];
	return s->class != NULL;
}

/* Sets where the packet and its events end. False: it says that it is larger than the file. */
static bool packet_measure(struct ctf_stream *s)
{
	uint64_t all = 8 * (s->bytes - s->packet), size = all, content;
	bool whole = true;

	packet_number(s, "packet_size", &size);
	content = size;
	packet_number(s, "content_size", &content);
	if (size > all) {
		whole = false;
		size = all;
	}
	content = content < size ? content : size;
	s->next_packet = s->packet + (size + 7) / 8;
	s->end_bit = 8 * s->packet + content;
	return whole && size;
}

static void counts_learn(struct ctf_stream *s)
{
	uint64_t seq;
	const struct ctf_value *v = ctf_value_find(s, s->nr_packet, "events_discarded");

	if (packet_number(s, "packet_seq_num", &seq)) {
		s->lost_packets |= s->has_seq && seq > s->seq + 1;
		s->has_seq = true;
		s->seq = seq;
	}
	s->new_discarded = v ? v->number : s->discarded;
	s->discarded_bits = v ? v->type->bits : 64;
}

/* Reads a packet's header and context. False: the stream ends here. */
static bool packet_open(struct ctf_stream *s)
{
	const struct ctf_value *magic;
	uint64_t number = magic_number, cpu;

	s->packet = s->next_packet;
	s->bit = 8 * s->packet;
	s->end_bit = 8 * s->bytes;
	s->class = NULL;
	s->steps = s->nr = 0;
	if (s->packet >= s->bytes || s->broken)
		return false;
	if (!decode(s, s->meta->packet_header, NULL, 0))
		return truncated_note(s, "a packet's header is truncated");
	s->nr_packet = s->nr;
	magic = ctf_value_find(s, s->nr, "magic");
	number = magic ? magic->number : number;
	if (number != magic_number || !class_find(s)) {
		damage_note(
			s, s->packet,
			number != magic_number
				? "no packet begins here; the rest of the file is skipped"
				: "a packet of an unknown stream; the rest of the file is skipped");
		return false;
	}
	if (!decode(s, s->class->packet_context, NULL, 0))
		return truncated_note(s, "a packet's header is truncated");
	s->nr_packet = s->nr;
	number = s->bit;
	if (!packet_measure(s))
		s->broken = !truncated_note(s, "the last packet is truncated");
	if (s->end_bit < number || s->next_packet <= s->packet)
		return false;
	if (packet_number(s, "cpu_id", &cpu))
		s->cpu = (uint32_t)cpu;
	counts_learn(s);
	s->open = true;
	return true;
}

/* The packet has no more events: those discarded since it was full are before the next event. */
static void packet_close(struct ctf_stream *s)
{
	uint64_t mask = s->discarded_bits < 64 ? (UINT64_C(1) << s->discarded_bits) - 1
					       : UINT64_MAX,
		 lost = (s->new_discarded - s->discarded) & mask;

	s->open = false;
	s->discarded = s->new_discarded;
	if (lost < mask / 2) /* a count that falls is none */
		s->lost += lost;
}

/* ---- events ---- */

static const struct ctf_event_class *event_class(struct ctf_stream *s)
{
	const struct ctf_stream_class *class = s->class;
	uint64_t id = 0;
	const struct ctf_value *v = ctf_value_find(s, s->nr, "id");

	if (v && v >= s->value + s->nr_packet)
		id = v->number;
	return id < class->nr_events && class->event[id].name ? &class->event[id] : NULL;
}

static uint64_t clock_ns(const struct ctf_stream *s)
{
	const struct ctf_clock *c = s->which_clock < s->meta->nr_clocks
					    ? &s->meta->clock[s->which_clock]
					    : &(const struct ctf_clock){.freq = 1000000000};

	if (c->freq == 1000000000)
		return s->clock + (uint64_t)s->clock_offset_ns;
	return (uint64_t)((unsigned __int128)s->clock * 1000000000 / c->freq) +
	       (uint64_t)s->clock_offset_ns;
}

/* What is wrong with the event; NULL: it was read. */
static const char *event_try(struct ctf_stream *s)
{
	static const char cut[] = "an event is truncated; the rest of its packet is skipped";
	uint64_t bit = s->bit;

	s->nr = s->nr_packet;
	if (!decode(s, s->class->event_header, NULL, 0))
		return cut;
	s->event = event_class(s);
	if (!s->event)
		return "an event that the metadata does not describe; the rest of its packet is "
		       "skipped";
	if (!decode(s, s->class->event_context, NULL, 0) || !decode(s, s->event->context, NULL, 0))
		return cut;
	s->nr_head = s->nr;
	if (!decode(s, s->event->fields, NULL, 0))
		return cut;
	return s->bit == bit ? "events of no size; the rest of the packet is skipped" : NULL;
}

/* False: the rest of the packet cannot be read, which is noted. */
static bool event_decode(struct ctf_stream *s)
{
	uint64_t at = s->bit / 8;
	const char *wrong = event_try(s);

	if (wrong)
		damage_note(s, at, wrong);
	else
		s->time_ns = clock_ns(s);
	return !wrong;
}

bool ctf_stream_next(struct ctf_stream *s)
{
	s->lost_from_ns = s->time_ns;
	s->lost = 0;
	s->lost_packets = false;
	while (s->open || packet_open(s)) {
		if (s->bit < s->end_bit && event_decode(s))
			return true;
		packet_close(s);
	}
	return false;
}

void ctf_stream_rewind(struct ctf_stream *s)
{
	s->packet = s->next_packet = s->clock = s->discarded = s->time_ns = 0;
	s->open = s->broken = s->has_seq = false;
	s->which_clock = s->nr_notes = 0;
	s->cpu = RECORD_CPU_UNKNOWN;
}
