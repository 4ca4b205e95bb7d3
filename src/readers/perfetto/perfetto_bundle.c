// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The events of a CPU from its bundles, in order. A bundle has up to three rows, each in order of time: events as
 * messages, and in the compact form task switches and wakeups (compact_sched), a list for each of their fields, with
 * times as differences. A compact switch has no previous task: that is the next one of the switch before it.
 */
#include <stdlib.h>
#include <string.h>

#include "readers/perfetto/perfetto_internal.h"

enum { BUNDLE_EVENT = 2, BUNDLE_COMPACT = 4 };
enum { EVENT_TIME = 1, EVENT_TID = 2, SCHED_SWITCH = 4 };

enum { /* of CompactSched */
	SWITCH_TIME = 1,
	SWITCH_STATE = 2,
	SWITCH_PID = 3,
	SWITCH_PRIO = 4,
	NAMES = 5,
	SWITCH_COMM = 6,
	WAKING_TIME = 7,
	WAKING_PID = 8,
	WAKING_CPU = 9,
	WAKING_PRIO = 10,
	WAKING_COMM = 11,
};

/* ---- the compact form ---- */

static void compact_advance(struct perfetto_compact *c)
{
	uint64_t delta;

	c->has = wire_varint(&c->time, &delta);
	c->now += c->has ? delta : 0;
}

/* The bundle's interned names. Without memory they are unknown. */
static void names_learn(struct perfetto_stream *s, const struct wire *compact)
{
	struct wire w = wire_of(compact->bytes, (size_t)compact->number);
	uint32_t nr = 0;

	while (wire_next(&w))
		nr += w.field == NAMES;
	free(s->name);
	s->nr_names = 0;
	s->name = nr <= PERFETTO_NAMES_MAX ? calloc(nr + 1u, sizeof(*s->name)) : NULL;
	w = wire_of(compact->bytes, (size_t)compact->number);
	while (s->name && wire_next(&w))
		if (w.field == NAMES)
			s->name[s->nr_names++] = w;
}

static void compact_begin(struct perfetto_stream *s, const struct wire *compact)
{
	struct wire w = wire_of(compact->bytes, (size_t)compact->number);
	struct wire *const to[] = {
		[SWITCH_TIME] = &s->switches.time, [SWITCH_STATE] = &s->switches.state_or_cpu,
		[SWITCH_PID] = &s->switches.pid,   [SWITCH_PRIO] = &s->switches.prio,
		[SWITCH_COMM] = &s->switches.comm, [WAKING_TIME] = &s->wakings.time,
		[WAKING_PID] = &s->wakings.pid,	   [WAKING_CPU] = &s->wakings.state_or_cpu,
		[WAKING_PRIO] = &s->wakings.prio,  [WAKING_COMM] = &s->wakings.comm,
	};

	names_learn(s, compact);
	while (wire_next(&w))
		if (w.bytes && w.field < sizeof(to) / sizeof(to[0]) && to[w.field])
			*to[w.field] = wire_of(w.bytes, (size_t)w.number);
	compact_advance(&s->switches);
	compact_advance(&s->wakings);
}

/* The next one's fields; what a list lacks is unknown. */
static void compact_take(struct perfetto_stream *s, struct perfetto_compact *c, uint64_t *extra,
			 bool *has_extra)
{
	struct perfetto_event *e = &s->event;
	uint64_t pid = 0, prio = 0, name = 0;

	e->time = c->now;
	wire_varint(&c->pid, &pid);
	e->pid = (int32_t)pid;
	e->has_prio = wire_varint(&c->prio, &prio);
	e->prio = (int32_t)prio;
	*has_extra = wire_varint(&c->state_or_cpu, extra);
	if (wire_varint(&c->comm, &name) && name < s->nr_names) {
		e->comm = s->name[name].bytes;
		e->comm_len = e->comm ? (size_t)s->name[name].number : 0;
	}
	compact_advance(c);
}

static void running_set(struct perfetto_stream *s, int32_t pid, const uint8_t *comm, size_t len)
{
	s->has_running = true;
	s->running = pid;
	memset(s->running_comm, 0, sizeof(s->running_comm));
	if (comm)
		memcpy(s->running_comm, comm, len < PERFETTO_COMM ? len : PERFETTO_COMM - 1);
}

/* The event was printed: after a switch its next task runs. */
static void running_learn(struct perfetto_stream *s)
{
	enum { NEXT_COMM = 5, NEXT_PID = 6 };
	const struct perfetto_event *e = &s->event;
	struct wire w = e->message, in, comm = {0};
	int32_t pid = -1;

	if (e->kind == EVENT_SWITCH)
		running_set(s, e->pid, e->comm, e->comm_len);
	if (e->kind != EVENT_MESSAGE)
		return;
	while (wire_next(&w)) {
		if (w.field != SCHED_SWITCH || !w.bytes)
			continue;
		in = wire_of(w.bytes, (size_t)w.number);
		while (wire_next(&in)) {
			comm = in.field == NEXT_COMM ? in : comm;
			pid = in.field == NEXT_PID ? (int32_t)in.number : pid;
		}
	}
	if (pid >= 0)
		running_set(s, pid, comm.bytes, (size_t)comm.number);
}

static void switch_take(struct perfetto_stream *s)
{
	struct perfetto_event *e = &s->event;
	uint64_t state = 0;
	bool has_state;

	e->kind = EVENT_SWITCH;
	e->has_tid = e->has_prev = s->has_running;
	e->tid = (uint32_t)s->running;
	e->prev_pid = s->running;
	compact_take(s, &s->switches, &state, &has_state);
	e->prev_state = has_state ? (int64_t)state : -1;
	s->has_running = false;
}

static void waking_take(struct perfetto_stream *s)
{
	struct perfetto_event *e = &s->event;
	uint64_t cpu = 0;

	e->kind = EVENT_WAKING;
	e->has_tid = s->has_running;
	e->tid = (uint32_t)s->running;
	compact_take(s, &s->wakings, &cpu, &e->has_target);
	e->target_cpu = (int32_t)cpu;
}

/* ---- messages ---- */

static void message_advance(struct perfetto_stream *s)
{
	struct perfetto_event *e = &s->message;

	s->has_message = false;
	while (!s->has_message && wire_next(&s->fields)) {
		struct wire w;

		if (s->fields.field != BUNDLE_EVENT || !s->fields.bytes)
			continue;
		*e = (struct perfetto_event){.kind = EVENT_MESSAGE};
		e->message = w = wire_of(s->fields.bytes, (size_t)s->fields.number);
		while (wire_next(&w)) {
			if (w.field == EVENT_TIME) {
				e->time = w.number;
				s->has_message = true;
			} else if (w.field == EVENT_TID) {
				e->tid = (uint32_t)w.number;
				e->has_tid = true;
			}
		}
	}
}

/* After an event of a thread, that one runs. */
static void message_take(struct perfetto_stream *s)
{
	s->event = s->message;
	if (s->event.has_tid && (!s->has_running || s->running != (int32_t)s->event.tid))
		running_set(s, (int32_t)s->event.tid, NULL, 0);
	message_advance(s);
}

/* ---- bundles ---- */

static void bundle_close(struct perfetto *p, struct perfetto_stream *s)
{
	perfetto_release(p, s->content);
	s->content = NULL;
	s->fields = (struct wire){0};
	s->has_message = false;
	s->switches = s->wakings = (struct perfetto_compact){0};
	free(s->name);
	s->name = NULL;
	s->nr_names = 0;
}

/* False: it cannot be read, and is a loss. */
static bool bundle_open(struct perfetto *p, struct perfetto_stream *s)
{
	const struct perfetto_bundle *b = &s->bundle[s->next++];
	struct perfetto_content *content =
		b->packing ? perfetto_unpack(p, b->at, b->len, b->packing) : NULL;
	const uint8_t *bytes = p->data + b->at;
	size_t len = b->len;
	struct wire w;

	bundle_close(p, s); /* only now: the next bundle is often in the same content */
	s->content = content;
	if (b->packing) {
		if (!content)
			return false;
		bytes = content->bytes + b->inner_at;
		len = b->inner_len;
	}
	if (b->lost) {
		s->lost = true;
		s->has_running = false;
	}
	w = s->fields = wire_of(bytes, len);
	while (wire_next(&w))
		if (w.field == BUNDLE_COMPACT && w.bytes)
			compact_begin(s, &w);
	message_advance(s);
	return true;
}

static bool bundle_has_event(const struct perfetto_stream *s)
{
	return s->has_message || s->switches.has || s->wakings.has;
}

/* The oldest of the three rows; a wakeup comes before the switch of the same time. */
static void event_take(struct perfetto_stream *s)
{
	uint64_t message = s->has_message ? s->message.time : UINT64_MAX,
		 waking = s->wakings.has ? s->wakings.now : UINT64_MAX,
		 switched = s->switches.has ? s->switches.now : UINT64_MAX;

	s->event = (struct perfetto_event){.kind = EVENT_NONE};
	if (s->has_message && message <= waking && message <= switched)
		message_take(s);
	else if (s->wakings.has && waking <= switched)
		waking_take(s);
	else
		switch_take(s);
}

bool perfetto_stream_next(struct perfetto *p, struct perfetto_stream *s)
{
	running_learn(s);
	s->lost_from_ns = s->time_ns;
	s->lost = false;
	while (!bundle_has_event(s) && s->next < s->nr && !p->err)
		if (!bundle_open(p, s))
			s->lost = true;
	if (!bundle_has_event(s) || p->err) {
		s->lost |= s->lost_at_end;
		bundle_close(p, s);
		return false;
	}
	event_take(s);
	s->time_ns = s->event.time + (uint64_t)p->offset_ns;
	return true;
}

void perfetto_stream_rewind(struct perfetto *p, struct perfetto_stream *s)
{
	bundle_close(p, s);
	s->next = 0;
	s->time_ns = 0;
	s->has_running = false;
	s->event = (struct perfetto_event){.kind = EVENT_NONE};
}
