// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A timeline for ui.perfetto.dev: a Trace is a row of TracePackets (perfetto/trace/trace_packet.proto), written one by
 * one as slices end. The viewer sorts them by time. All belong to one sequence, whose first packet clears the interned
 * names and says which clock times are of; a slice's begin names its track and its name's number, which stands in the
 * same packet when it is new.
 *
 * Each machine is a process: the VM's own on the host, and for a guest one that does not exist (its pid is above what
 * Linux gives), with its tasks as plain tracks, since thread ids of host and guest may be the same. TracePacket's own
 * machine_id (98) is not used: trace_processor gives each machine a FlowTracker of its own, so arrows would end at the
 * border, and a machine's name can only come from a manifest file next to the trace, not from a packet.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyzers/timeline/timeline.h"
#include "base/hash.h"
#include "output/protobuf.h"
#include "output/report.h"

/* Field numbers, by message. */
enum { TRACE_PACKET = 1 };
enum {
	PACKET_CLOCK_SNAPSHOT = 6,
	PACKET_TIMESTAMP = 8,
	PACKET_SEQUENCE_ID = 10,
	PACKET_TRACK_EVENT = 11,
	PACKET_INTERNED_DATA = 12,
	PACKET_SEQUENCE_FLAGS = 13,
	PACKET_DEFAULTS = 59,
	PACKET_TRACK_DESCRIPTOR = 60,
	DEFAULTS_CLOCK_ID = 58,
};
enum { SNAPSHOT_CLOCKS = 1, SNAPSHOT_PRIMARY = 2, CLOCK_ID = 1, CLOCK_TIMESTAMP = 2 };
enum {
	DESCRIPTOR_UUID = 1,
	DESCRIPTOR_NAME = 2,
	DESCRIPTOR_PROCESS = 3,
	DESCRIPTOR_THREAD = 4,
	DESCRIPTOR_PARENT = 5,
	DESCRIPTOR_COUNTER = 8,
	DESCRIPTOR_ORDERING = 11,
	DESCRIPTOR_RANK = 12,
	PROCESS_PID = 1,
	PROCESS_NAME = 6,
	THREAD_PID = 1,
	THREAD_TID = 2,
	THREAD_NAME = 5,
	COUNTER_UNIT = 3,
};
enum {
	EVENT_TYPE = 9,
	EVENT_NAME_IID = 10,
	EVENT_TRACK = 11,
	EVENT_CATEGORY = 22,
	EVENT_NAME = 23,
	EVENT_COUNTER = 30,
	EVENT_FLOW = 47,
	EVENT_FLOW_END = 48,
	INTERNED_NAMES = 2,
	INTERNED_IID = 1,
	INTERNED_TEXT = 2,
};
enum { TYPE_BEGIN = 1, TYPE_END = 2, TYPE_INSTANT = 3, TYPE_COUNTER = 4 };
enum { UNIT_COUNT = 2 };
enum { CLEARED = 1, NEEDS_STATE = 2 };	      /* sequence flags */
enum { MONOTONIC = 3, ORDER_EXPLICIT = 3 };   /* built-in clock; ordering of children */
enum { SEQUENCE = 1, GUEST_PID = 0x40000000 }; /* Linux gives pids up to 2^22 */

enum { NAMES_MAX = 1 << 12 }; /* interned; further names are written in full with each slice */

struct name {
	char *text;
	uint32_t iid;
};

struct perfetto {
	struct hash_table names;
};

static void packet_write(struct timeline *t, struct pb *packet)
{
	struct pb head = {0};

	if (packet->full)
		return;
	pb_varint(&head, TRACE_PACKET << 3 | 2);
	pb_varint(&head, packet->len);
	fwrite(head.data, 1, head.len, t->report->out->file);
	fwrite(packet->data, 1, packet->len, t->report->out->file);
}

static uint64_t group_uuid(uint32_t group)
{
	return 1 + (uint64_t)group;
}

static uint64_t track_uuid(uint32_t track)
{
	return (1ull << 32) + track;
}

static uint32_t group_pid(const struct timeline *t, uint32_t group)
{
	return t->group[group].pid ? t->group[group].pid : GUEST_PID + group;
}

/* ---- tracks ---- */

static void clock_write(struct timeline *t)
{
	struct pb clock = {0}, snapshot = {0}, defaults = {0}, packet = {0};

	pb_uint(&clock, CLOCK_ID, MONOTONIC);
	pb_uint(&clock, CLOCK_TIMESTAMP, t->start_ns);
	pb_message(&snapshot, SNAPSHOT_CLOCKS, &clock);
	pb_uint(&snapshot, SNAPSHOT_PRIMARY, MONOTONIC);
	pb_uint(&defaults, DEFAULTS_CLOCK_ID, MONOTONIC);
	pb_message(&packet, PACKET_CLOCK_SNAPSHOT, &snapshot);
	pb_uint(&packet, PACKET_SEQUENCE_ID, SEQUENCE);
	pb_uint(&packet, PACKET_SEQUENCE_FLAGS, CLEARED);
	pb_message(&packet, PACKET_DEFAULTS, &defaults);
	packet_write(t, &packet);
}

static int perfetto_open(struct timeline *t)
{
	struct perfetto *p = t->state = calloc(1, sizeof(*p));

	if (!p)
		return -ENOMEM;
	p->names = HASH_TABLE_OF_TEXTS(struct name, NAMES_MAX);
	clock_write(t);
	return 0;
}

static void descriptor_write(struct timeline *t, const struct pb *descriptor)
{
	struct pb packet = {0};

	pb_uint(&packet, PACKET_SEQUENCE_ID, SEQUENCE);
	pb_message(&packet, PACKET_TRACK_DESCRIPTOR, descriptor);
	packet_write(t, &packet);
}

static void perfetto_group(struct timeline *t, uint32_t group)
{
	struct pb process = {0}, descriptor = {0};

	pb_uint(&process, PROCESS_PID, group_pid(t, group));
	pb_text(&process, PROCESS_NAME, t->group[group].name);
	pb_uint(&descriptor, DESCRIPTOR_UUID, group_uuid(group));
	pb_text(&descriptor, DESCRIPTOR_NAME, t->group[group].name);
	pb_message(&descriptor, DESCRIPTOR_PROCESS, &process);
	pb_uint(&descriptor, DESCRIPTOR_ORDERING, ORDER_EXPLICIT);
	descriptor_write(t, &descriptor);
}

static void perfetto_track(struct timeline *t, uint32_t track)
{
	const struct timeline_track *tr = &t->track[track];
	struct pb thread = {0}, counter = {0}, descriptor = {0};

	pb_uint(&descriptor, DESCRIPTOR_UUID, track_uuid(track));
	pb_text(&descriptor, DESCRIPTOR_NAME, tr->name);
	if (tr->tid) {
		pb_uint(&thread, THREAD_PID, group_pid(t, tr->group));
		pb_uint(&thread, THREAD_TID, tr->tid);
		pb_text(&thread, THREAD_NAME, tr->name);
		pb_message(&descriptor, DESCRIPTOR_THREAD, &thread);
	} else {
		pb_uint(&descriptor, DESCRIPTOR_PARENT, group_uuid(tr->group));
	}
	if (tr->is_counter) {
		pb_uint(&counter, COUNTER_UNIT, UNIT_COUNT);
		pb_message(&descriptor, DESCRIPTOR_COUNTER, &counter);
	}
	/* A rank is 32 bits with a sign: four for its kind, the rest for the number. */
	pb_uint(&descriptor, DESCRIPTOR_RANK,
		(tr->order >> 32) << 27 | (tr->order & ((1u << 27) - 1)));
	descriptor_write(t, &descriptor);
}

/* ---- slices ---- */

/* The name's number; 0: there are too many. `ret_new`: this is its first use. */
static uint32_t name_number(struct perfetto *p, const char *name, bool *ret_new)
{
	struct name *n = hash_add_text(&p->names, name, ret_new);

	if (!*ret_new)
		return n ? n->iid : 0;
	n->text = strdup(name);
	if (!n->text) {
		*ret_new = false;
		hash_remove(&p->names, n);
		return 0;
	}
	return n->iid = p->names.nr;
}

static void name_put(struct perfetto *p, const char *name, struct pb *event, struct pb *packet)
{
	struct pb entry = {0}, interned = {0};
	bool fresh;
	uint32_t iid = name_number(p, name, &fresh);

	if (!iid) {
		pb_text(event, EVENT_NAME, name);
		return;
	}
	pb_uint(event, EVENT_NAME_IID, iid);
	if (!fresh)
		return;
	pb_uint(&entry, INTERNED_IID, iid);
	pb_text(&entry, INTERNED_TEXT, name);
	pb_message(&interned, INTERNED_NAMES, &entry);
	pb_message(packet, PACKET_INTERNED_DATA, &interned);
}

static void begin_write(struct timeline *t, const struct timeline_slice *s)
{
	struct pb event = {0}, packet = {0};

	pb_uint(&event, EVENT_TYPE, s->kind == SLICE_INSTANT ? TYPE_INSTANT : TYPE_BEGIN);
	pb_uint(&event, EVENT_TRACK, track_uuid(s->track));
	pb_text(&event, EVENT_CATEGORY, slice_kind_name(s->kind));
	for (unsigned int i = 0; i < s->nr_flows; i++)
		pb_fixed64(&event, s->flows_end >> i & 1 ? EVENT_FLOW_END : EVENT_FLOW, s->flow[i]);
	pb_uint(&packet, PACKET_TIMESTAMP, s->start_ns);
	pb_uint(&packet, PACKET_SEQUENCE_ID, SEQUENCE);
	pb_uint(&packet, PACKET_SEQUENCE_FLAGS, NEEDS_STATE);
	name_put(t->state, s->name, &event, &packet);
	pb_message(&packet, PACKET_TRACK_EVENT, &event);
	packet_write(t, &packet);
}

static void end_write(struct timeline *t, const struct timeline_slice *s)
{
	struct pb event = {0}, packet = {0};

	pb_uint(&event, EVENT_TYPE, TYPE_END);
	pb_uint(&event, EVENT_TRACK, track_uuid(s->track));
	pb_uint(&packet, PACKET_TIMESTAMP, s->end_ns);
	pb_uint(&packet, PACKET_SEQUENCE_ID, SEQUENCE);
	pb_uint(&packet, PACKET_SEQUENCE_FLAGS, NEEDS_STATE);
	pb_message(&packet, PACKET_TRACK_EVENT, &event);
	packet_write(t, &packet);
}

static void perfetto_slice(struct timeline *t, const struct timeline_slice *s)
{
	begin_write(t, s);
	if (s->kind != SLICE_INSTANT)
		end_write(t, s);
}

static void perfetto_count(struct timeline *t, uint32_t track, uint64_t ns, uint64_t value)
{
	struct pb event = {0}, packet = {0};

	pb_uint(&event, EVENT_TYPE, TYPE_COUNTER);
	pb_uint(&event, EVENT_TRACK, track_uuid(track));
	pb_uint(&event, EVENT_COUNTER, value);
	pb_uint(&packet, PACKET_TIMESTAMP, ns);
	pb_uint(&packet, PACKET_SEQUENCE_ID, SEQUENCE);
	pb_uint(&packet, PACKET_SEQUENCE_FLAGS, NEEDS_STATE);
	pb_message(&packet, PACKET_TRACK_EVENT, &event);
	packet_write(t, &packet);
}

static int perfetto_close(struct timeline *t)
{
	struct perfetto *p = t->state;
	const struct name *n;

	for (uint32_t at = 0; (n = hash_next(&p->names, &at));)
		free(n->text);
	hash_deinit(&p->names);
	return 0;
}

static const struct timeline_ops perfetto_timeline = {
	.open = perfetto_open,
	.group = perfetto_group,
	.track = perfetto_track,
	.slice = perfetto_slice,
	.close = perfetto_close,
	.count = perfetto_count,
};

const struct format perfetto_format = {
	.name = "perfetto",
	.timeline = &perfetto_timeline,
};
