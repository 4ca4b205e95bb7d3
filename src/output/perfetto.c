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

#include "analyzers/timeline/timeline.h"
#include "base/hash.h"
#include "output/protobuf.h"
#include "output/report.h"
#include "perfetto.pb-c.h"

enum { CLEARED = 1, NEEDS_STATE = 2 };	       /* sequence flags */
enum { MONOTONIC = 3 };			       /* built-in clock */
enum { SEQUENCE = 1, GUEST_PID = 0x40000000 }; /* Linux gives pids up to 2^22 */

enum { NAMES_MAX = 1 << 12 }; /* interned; further names are written in full with each slice */

struct name {
	char *text;
	uint32_t iid;
};

/* Found newest, by the address of the text that was asked for: most names of slices are constants. */
struct name_hint {
	const char *text; /* the table's copy */
	uint32_t iid;
};

enum { HINTS = 64 };

struct perfetto {
	struct hash_table names;
	struct name_hint hint[HINTS];
};

/* `bytes`: they have not more; 0: unknown. */
static void packets_write(struct timeline *t, Perfetto__Protos__TracePacket **packets, size_t nr,
			  size_t bytes)
{
	Perfetto__Protos__Trace trace = PERFETTO__PROTOS__TRACE__INIT;

	for (size_t i = 0; i < nr; i++) {
		packets[i]->has_trusted_packet_sequence_id = true;
		packets[i]->trusted_packet_sequence_id = SEQUENCE;
	}
	trace.n_packet = nr;
	trace.packet = packets;
	protobuf_put_sized(&trace.base,
			   bytes ? bytes : protobuf_c_message_get_packed_size(&trace.base),
			   t->report->out->file);
}

static void packet_write(struct timeline *t, Perfetto__Protos__TracePacket *packet)
{
	packets_write(t, &packet, 1, 0);
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
	Perfetto__Protos__ClockSnapshot__Clock
		clock = PERFETTO__PROTOS__CLOCK_SNAPSHOT__CLOCK__INIT,
		*clocks = &clock;
	Perfetto__Protos__ClockSnapshot snapshot = PERFETTO__PROTOS__CLOCK_SNAPSHOT__INIT;
	Perfetto__Protos__TracePacketDefaults defaults =
		PERFETTO__PROTOS__TRACE_PACKET_DEFAULTS__INIT;
	Perfetto__Protos__TracePacket packet = PERFETTO__PROTOS__TRACE_PACKET__INIT;

	clock.has_clock_id = clock.has_timestamp = true;
	clock.clock_id = MONOTONIC;
	clock.timestamp = t->start_ns;
	snapshot.n_clocks = 1;
	snapshot.clocks = &clocks;
	snapshot.has_primary_trace_clock = defaults.has_timestamp_clock_id = true;
	snapshot.primary_trace_clock = defaults.timestamp_clock_id = MONOTONIC;
	packet.clock_snapshot = &snapshot;
	packet.trace_packet_defaults = &defaults;
	packet.has_sequence_flags = true;
	packet.sequence_flags = CLEARED;
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

static void descriptor_write(struct timeline *t, Perfetto__Protos__TrackDescriptor *descriptor,
			     uint64_t uuid, const char *name)
{
	Perfetto__Protos__TracePacket packet = PERFETTO__PROTOS__TRACE_PACKET__INIT;

	descriptor->has_uuid = true;
	descriptor->uuid = uuid;
	descriptor->name = (char *)name;
	packet.track_descriptor = descriptor;
	packet_write(t, &packet);
}

static void perfetto_group(struct timeline *t, uint32_t group)
{
	Perfetto__Protos__ProcessDescriptor process = PERFETTO__PROTOS__PROCESS_DESCRIPTOR__INIT;
	Perfetto__Protos__TrackDescriptor descriptor = PERFETTO__PROTOS__TRACK_DESCRIPTOR__INIT;

	process.has_pid = true;
	process.pid = (int32_t)group_pid(t, group);
	process.process_name = (char *)t->group[group].name;
	descriptor.process = &process;
	descriptor.has_child_ordering = true;
	descriptor.child_ordering =
		PERFETTO__PROTOS__TRACK_DESCRIPTOR__CHILD_TRACKS_ORDERING__EXPLICIT;
	descriptor_write(t, &descriptor, group_uuid(group), t->group[group].name);
}

static void perfetto_track(struct timeline *t, uint32_t track)
{
	const struct timeline_track *tr = &t->track[track];
	Perfetto__Protos__ThreadDescriptor thread = PERFETTO__PROTOS__THREAD_DESCRIPTOR__INIT;
	Perfetto__Protos__CounterDescriptor counter = PERFETTO__PROTOS__COUNTER_DESCRIPTOR__INIT;
	Perfetto__Protos__TrackDescriptor descriptor = PERFETTO__PROTOS__TRACK_DESCRIPTOR__INIT;

	if (tr->tid) {
		thread.has_pid = thread.has_tid = true;
		thread.pid = (int32_t)group_pid(t, tr->group);
		thread.tid = tr->tid;
		thread.thread_name = (char *)tr->name;
		descriptor.thread = &thread;
	} else {
		descriptor.has_parent_uuid = true;
		descriptor.parent_uuid = group_uuid(tr->group);
	}
	if (tr->is_counter) {
		counter.has_unit = true;
		counter.unit = PERFETTO__PROTOS__COUNTER_DESCRIPTOR__UNIT__UNIT_COUNT;
		descriptor.counter = &counter;
	}
	/* A rank is 32 bits with a sign: four for its kind, the rest for the number. */
	descriptor.has_sibling_order_rank = true;
	descriptor.sibling_order_rank =
		(int32_t)((tr->order >> 32) << 27 | (tr->order & ((1u << 27) - 1)));
	descriptor_write(t, &descriptor, track_uuid(track), tr->name);
}

/* ---- slices ---- */

/* The name's number; 0: there are too many. `ret_new`: this is its first use. */
static uint32_t name_number(struct perfetto *p, const char *name, bool *ret_new)
{
	struct name_hint *hint = &p->hint[(uintptr_t)name % HINTS];
	struct name *n;

	*ret_new = false;
	if (hint->text && !strcmp(hint->text, name))
		return hint->iid;
	n = hash_add_text(&p->names, name, ret_new);
	if (n && !*ret_new)
		*hint = (struct name_hint){n->text, n->iid};
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

static Perfetto__Protos__TracePacket packet_of(uint64_t ns, uint32_t track,
					       Perfetto__Protos__TrackEvent__Type type,
					       Perfetto__Protos__TrackEvent *event)
{
	Perfetto__Protos__TracePacket packet = PERFETTO__PROTOS__TRACE_PACKET__INIT;

	event->has_type = event->has_track_uuid = true;
	event->type = type;
	event->track_uuid = track_uuid(track);
	packet.has_timestamp = packet.has_sequence_flags = true;
	packet.timestamp = ns;
	packet.sequence_flags = NEEDS_STATE;
	packet.track_event = event;
	return packet;
}

/* Its begin, or the instant, and its end: their lengths need not be counted, but for the name's. */
enum { SLICE_BYTES = 512 };

static void perfetto_slice(struct timeline *t, const struct timeline_slice *s)
{
	Perfetto__Protos__TrackEvent event = PERFETTO__PROTOS__TRACK_EVENT__INIT,
				     end = PERFETTO__PROTOS__TRACK_EVENT__INIT;
	Perfetto__Protos__TracePacket packet[2], *packets[] = {&packet[0], &packet[1]};
	Perfetto__Protos__EventName name = PERFETTO__PROTOS__EVENT_NAME__INIT, *names = &name;
	Perfetto__Protos__InternedData interned = PERFETTO__PROTOS__INTERNED_DATA__INIT;
	uint64_t flows[TIMELINE_FLOWS], ends[TIMELINE_FLOWS];
	char *category = (char *)slice_kind_name(s->kind);
	bool is_new, instant = s->kind == SLICE_INSTANT;

	event.n_categories = 1;
	event.categories = &category;
	event.flow_ids = flows;
	event.terminating_flow_ids = ends;
	for (unsigned int i = 0; i < s->nr_flows; i++)
		if (s->flows_end >> i & 1)
			ends[event.n_terminating_flow_ids++] = s->flow[i];
		else
			flows[event.n_flow_ids++] = s->flow[i];
	name.name = (char *)s->name;
	name.iid = event.name_iid = name_number(t->state, s->name, &is_new);
	name.has_iid = event.has_name_iid = name.iid;
	if (!name.iid)
		event.name = name.name;
	interned.n_event_names = 1;
	interned.event_names = &names;
	packet[0] = packet_of(s->start_ns, s->track,
			      instant ? PERFETTO__PROTOS__TRACK_EVENT__TYPE__TYPE_INSTANT
				      : PERFETTO__PROTOS__TRACK_EVENT__TYPE__TYPE_SLICE_BEGIN,
			      &event);
	packet[0].interned_data = name.iid && is_new ? &interned : NULL;
	packet[1] = packet_of(s->end_ns, s->track,
			      PERFETTO__PROTOS__TRACK_EVENT__TYPE__TYPE_SLICE_END, &end);
	packets_write(t, packets, 2 - instant, SLICE_BYTES + strlen(s->name));
}

static void perfetto_count(struct timeline *t, uint32_t track, uint64_t ns, uint64_t value)
{
	Perfetto__Protos__TrackEvent event = PERFETTO__PROTOS__TRACK_EVENT__INIT;
	Perfetto__Protos__TracePacket packet;

	event.has_counter_value = true;
	event.counter_value = (int64_t)value;
	packet = packet_of(ns, track, PERFETTO__PROTOS__TRACK_EVENT__TYPE__TYPE_COUNTER, &event);
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
