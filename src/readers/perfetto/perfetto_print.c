// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * An event as a line of text, as trace-cmd report -R prints it: the reader of texts knows what the names mean.
 *
 *	CPU 0/KVM-77 (     76) [001] 46931.123456789: kvm_pio: rw=1 port=0x608 size=4 count=1
 *
 * Perfetto names a field of FtraceEvent as the event, and the fields of its message as those of the tracepoint. An
 * event that it did not know when it was built is either generic (names and values in each event), or a message that
 * the trace describes.
 */
#include <inttypes.h>
#include <string.h>

#include "readers/ftrace/kernel_events.h"
#include "readers/perfetto/perfetto_internal.h"

/* As ours in its number's form: see source_line_number(). */
static bool is_ours(const char *name, size_t len)
{
	return kernel_event_find("", 0, name, len) != NULL;
}

static void head_print(struct perfetto *p, struct source_line *l, const struct perfetto_stream *s)
{
	const struct perfetto_event *e = &s->event;
	const struct perfetto_thread *t = e->has_tid ? hash_find_u64(&p->threads, e->tid) : NULL;
	bool runs = s->has_running && s->running == (int32_t)e->tid && *s->running_comm;

	if (e->has_tid && !e->tid)
		source_line_word(l, "<idle>-0");
	else if (runs)
		source_line_text(l, s->running_comm, PERFETTO_COMM, PERFETTO_COMM);
	else if (t && *t->comm)
		source_line_text(l, t->comm, PERFETTO_COMM, PERFETTO_COMM);
	else if (e->has_tid)
		source_line_word(l, "<...>");
	if (e->has_tid && e->tid) {
		source_line_word(l, "-");
		source_line_number(l, e->tid, false, false);
	}
	if (t && t->tgid && e->tid) {
		source_line_word(l, " (");
		source_line_number(l, t->tgid, false, false);
		source_line_word(l, ")");
	}
	source_line_place(l, s->cpu, s->time_ns);
}

static void name_print(struct source_line *l, const char *name)
{
	size_t from = l->len;

	source_line_text(l, name, strlen(name), SIZE_MAX);
	for (char *p = l->text + from; p < l->text + l->len; p++)
		*p = *p > ' ' && *p != ':' && *p < 0x7f ? *p : '_';
}

/* ---- the compact form ---- */

static void comm_print(struct source_line *l, const char *key, const uint8_t *comm, size_t len)
{
	source_line_print(l, " %scomm=", key);
	if (comm && *comm)
		source_line_text(l, comm, len, PERFETTO_COMM - 1);
	else
		source_line_word(l, "<...>");
}

static void switch_print(const struct perfetto *p, struct source_line *l,
			 const struct perfetto_stream *s)
{
	const struct perfetto_event *e = &s->event;
	const struct perfetto_thread *t = hash_find_u64(&p->threads, (uint32_t)e->prev_pid);
	uint64_t state = (uint64_t)e->prev_state;

	source_line_word(l, "sched_switch:");
	if (e->has_prev) {
		comm_print(l, "prev_",
			   !*s->running_comm && t ? (const uint8_t *)t->comm : s->running_comm,
			   PERFETTO_COMM);
		source_line_print(l, " prev_pid=%d", e->prev_pid);
	}
	if (e->prev_state >= 0)
		source_line_print(l, " prev_state=%" PRIu64, state);
	source_line_word(l, " ==>");
	comm_print(l, "next_", e->comm, e->comm_len);
	source_line_print(l, " next_pid=%d", e->pid);
	if (e->has_prio)
		source_line_print(l, " next_prio=%d", e->prio);
}

static void waking_print(struct source_line *l, const struct perfetto_event *e)
{
	source_line_word(l, "sched_waking:");
	comm_print(l, "", e->comm, e->comm_len);
	source_line_print(l, " pid=%d", e->pid);
	if (e->has_prio)
		source_line_print(l, " prio=%d", e->prio);
	if (e->has_target)
		source_line_print(l, " target_cpu=%03d", e->target_cpu);
}

/* ---- messages ---- */

/* Does the message have this optional field? */
static bool field_has(const ProtobufCMessage *m, const ProtobufCFieldDescriptor *f)
{
	const uint8_t *base = (const uint8_t *)m;

	if (f->type == PROTOBUF_C_TYPE_STRING)
		return *(const char *const *)(const void *)(base + f->offset) != NULL;
	return *(const protobuf_c_boolean *)(const void *)(base + f->quantifier_offset);
}

static void known_field_print(struct source_line *l, const ProtobufCMessage *m,
			      const ProtobufCFieldDescriptor *f, bool ours)
{
	const void *at = (const uint8_t *)m + f->offset;

	source_line_word(l, " ");
	source_line_word(l, f->name);
	source_line_word(l, "=");
	switch (f->type) {
	case PROTOBUF_C_TYPE_STRING:
		source_line_text(l, *(const char *const *)at, strlen(*(const char *const *)at),
				 SIZE_MAX);
		break;
	case PROTOBUF_C_TYPE_INT32:
		source_line_number(l, (uint64_t)(int64_t)*(const int32_t *)at, true, ours);
		break;
	case PROTOBUF_C_TYPE_INT64:
		source_line_number(l, *(const uint64_t *)at, true, ours);
		break;
	case PROTOBUF_C_TYPE_UINT32:
		source_line_number(l, *(const uint32_t *)at, false, ours);
		break;
	default:
		source_line_number(l, *(const uint64_t *)at, false, ours);
		break;
	}
}

static void known_print(struct perfetto *p, struct source_line *l, const char *name,
			const ProtobufCMessage *m)
{
	size_t len;
	bool ours = is_ours(name, strlen(name));

	source_line_word(l, name);
	source_line_word(l, ":");
	len = l->len;
	for (unsigned int i = 0; i < m->descriptor->n_fields; i++)
		if (field_has(m, &m->descriptor->fields[i]))
			known_field_print(l, m, &m->descriptor->fields[i], ours);
	p->bare_exits |= l->len == len && !strcmp(name, "kvm_exit");
	if (!strncmp(name, "softirq_", 8)) /* as the kernel prints the vector's name */
		source_line_word(l, " []");
}

static void generic_print(struct source_line *l, const Ftrace__Generic *m)
{
	const char *name = m->event_name ? m->event_name : "unnamed";
	bool ours = is_ours(name, strlen(name));

	name_print(l, name);
	source_line_word(l, ":");
	for (size_t i = 0; i < m->n_field; i++) {
		const Ftrace__Generic__Field *f = m->field[i];

		if (!f->name)
			continue;
		source_line_word(l, " ");
		name_print(l, f->name);
		source_line_word(l, "=");
		if (f->str_value)
			source_line_text(l, f->str_value, strlen(f->str_value), SIZE_MAX);
		else
			source_line_number(
				l, f->has_int_value ? (uint64_t)f->int_value : f->uint_value,
				f->has_int_value, ours);
	}
}

/* A value of an event that the trace describes; types are those of google/protobuf/descriptor.proto. */
static void described_field_print(struct source_line *l, const Ftrace__DescriptorProto__Field *f,
				  const struct wire *w, bool ours)
{
	enum { TYPE_INT64 = 3, TYPE_INT32 = 5 };

	source_line_word(l, " ");
	name_print(l, f->name);
	source_line_word(l, "=");
	if (w->bytes)
		source_line_text(l, w->bytes, (size_t)w->number, SIZE_MAX);
	else
		source_line_number(l, w->number, f->type == TYPE_INT64 || f->type == TYPE_INT32,
				   ours);
}

static void described_print(struct source_line *l, const Ftrace__DescriptorProto *type,
			    const struct wire *message)
{
	struct wire w = wire_of(message->bytes, (size_t)message->number);
	bool ours = is_ours(type->name, strlen(type->name));

	name_print(l, type->name);
	source_line_word(l, ":");
	while (wire_next(&w))
		for (size_t i = 0; i < type->n_field; i++)
			if (type->field[i]->name && (uint32_t)type->field[i]->number == w.field) {
				described_field_print(l, type->field[i], &w, ours);
				break;
			}
}

/* False: it is not an event, or not read. */
static bool body_print(struct perfetto *p, struct source_line *l, const struct perfetto_stream *s,
		       const struct wire *w)
{
	const ProtobufCFieldDescriptor *f = protobuf_c_message_descriptor_get_field(
		&ftrace__ftrace_event__descriptor, w->field);
	const struct perfetto_generic *g = f ? NULL : hash_find_u64(&p->generic, w->field);
	ProtobufCMessage *m =
		f ? perfetto_message(p, f->descriptor, w->bytes, (size_t)w->number) : NULL;

	if (!m && !g) {
		hash_add_u64(&p->unknown, w->field, NULL);
		p->unknown_events++;
		return false;
	}
	head_print(p, l, s);
	if (g)
		described_print(l, g->type, w);
	else if (f->descriptor == &ftrace__generic__descriptor)
		generic_print(l, (Ftrace__Generic *)m);
	else
		known_print(p, l, f->name, m);
	return true;
}

static bool message_print(struct perfetto *p, struct source_line *l,
			  const struct perfetto_stream *s)
{
	struct wire w = s->event.message;

	while (wire_next(&w))
		if (w.bytes && body_print(p, l, s, &w))
			return true;
	return false;
}

void perfetto_event_print(struct perfetto *p, struct source_line *l,
			  const struct perfetto_stream *s)
{
	if (s->event.kind == EVENT_MESSAGE) {
		if (!message_print(p, l, s))
			return;
	} else {
		head_print(p, l, s);
		if (s->event.kind == EVENT_SWITCH)
			switch_print(p, l, s);
		else
			waking_print(l, &s->event);
	}
	source_line_end(l);
}
