// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * libhostrace over the readers of hostrace: opens a trace and its companions, returns one event at a time, and turns
 * messages and notes into strings that live as long as the trace. State is per trace and per thread; nothing is
 * printed and nothing ends the process.
 */
#include <errno.h>
#include <stdarg.h>
#include <string.h>

#include "base/error.h"
#include "base/version.h"
#include "input/input_options.h"
#include "library/hostrace.h"

struct hostrace_trace {
	char *path, *guest, *where; /* all but the path may be NULL */
	struct input_options options;
	struct input_set *set;
	struct input_events events;
	json_t *notes; /* of hostrace_open() */
	const struct event *now; /* NULL: before the first event, or after the end */
	struct hostrace_event event;
	char text[EVENT_RECORD_MAX + 1];
};

/* companions_find() passes no argument: the trace that this thread is opening. */
static json_t **opening_notes(void)
{
	static _Thread_local json_t *process_wide;

	return &process_wide;
}

static void note_add(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	json_array_append_new(*opening_notes(), json_vsprintf(fmt, args));
	va_end(args);
}

static struct hostrace_trace *trace_new(const char *path, const char *guest, const char *where)
{
	struct hostrace_trace *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->path = strdup(path);
	t->guest = guest ? strdup(guest) : NULL;
	t->where = where ? strdup(where) : NULL;
	t->notes = json_array();
	t->options = (struct input_options){
		.allow_ticks = true, .where = t->where, .where_events = where};
	if (t->path && (!guest || t->guest) && (!where || t->where) && t->notes)
		return t;
	hostrace_close(t);
	return NULL;
}

static int trace_open(struct hostrace_trace *t, bool companions)
{
	int err;

	t->options.files.item[t->options.files.nr++] = t->path;
	if (t->guest)
		t->options.guests.item[t->options.guests.nr++] = t->guest;
	err = input_set_new(&t->options, &t->set);
	if (err)
		return err;
	if (companions) {
		*opening_notes() = t->notes;
		input_set_add_companions(t->set, note_add);
	}
	err = input_set_open(t->set, NULL, NULL);
	return err ? err : input_events_open(t->set, &t->events);
}

static struct hostrace_trace *open_checked(const char *path, const char *guest, const char *where,
					   bool companions)
{
	struct hostrace_trace *t = trace_new(path, guest, where);

	if (!t) {
		fail(-ENOMEM, "out of memory");
		return NULL;
	}
	if (!trace_open(t, companions))
		return t;
	hostrace_close(t);
	return NULL;
}

struct hostrace_trace *hostrace_open(const char *path)
{
	return open_checked(path, NULL, NULL, true);
}

struct hostrace_trace *hostrace_open_where(const char *path, const char *where)
{
	return open_checked(path, NULL, where, true);
}

struct hostrace_trace *hostrace_open_with_guest(const char *path, const char *guest)
{
	return open_checked(path, guest, NULL, false);
}

void hostrace_close(struct hostrace_trace *t)
{
	if (!t)
		return;
	input_events_close(&t->events);
	input_set_close(t->set);
	json_decref(t->notes);
	free(t->path);
	free(t->guest);
	free(t->where);
	free(t);
}

/* ---- events ---- */

int hostrace_next(struct hostrace_trace *t, const struct hostrace_event **event)
{
	int more = input_events_next(&t->events, &t->now);
	const struct event *ev = t->now;

	if (more <= 0)
		return more;
	t->event = (struct hostrace_event){
		.time_ns = ev->time_ns,
		.name = ev->type->name,
		.source = input_set_name(t->set, ev->source),
		.thread = thread_comm(t->events.names, ev),
		.pid = ev->pid,
		.tid = ev->tid,
		.cpu = ev->cpu,
		.vcpu = thread_vcpu(t->events.names, ev),
		.nr_fields = ev->type->nr_fields,
	};
	if (t->event.cpu == RECORD_CPU_UNKNOWN)
		t->event.cpu = -1;
	if (t->event.vcpu == RECORD_NO_VCPU)
		t->event.vcpu = -1;
	*event = &t->event;
	return 1;
}

static const struct field *field_at(const struct hostrace_trace *t, uint32_t i)
{
	return t->now && i < t->now->type->nr_fields ? &t->now->type->fields[i] : NULL;
}

const char *hostrace_field_name(const struct hostrace_trace *t, uint32_t i)
{
	const struct field *f = field_at(t, i);

	return f ? f->name : NULL;
}

enum hostrace_kind hostrace_field_kind(const struct hostrace_trace *t, uint32_t i)
{
	static const enum hostrace_kind kinds[] = {[FIELD_UINT] = HOSTRACE_UNSIGNED,
						   [FIELD_SINT] = HOSTRACE_SIGNED,
						   [FIELD_TEXT] = HOSTRACE_TEXT,
						   [FIELD_DYNTEXT] = HOSTRACE_TEXT};
	const struct field *f = field_at(t, i);

	return f ? kinds[f->kind] : HOSTRACE_UNSIGNED;
}

int hostrace_field(const struct hostrace_trace *t, const char *name)
{
	const struct field *f = t->now ? event_field(t->now->type, name) : NULL;

	return f ? (int)(f - t->now->type->fields) : -1;
}

uint64_t hostrace_field_number(const struct hostrace_trace *t, uint32_t i)
{
	const struct field *f = field_at(t, i);

	return f ? event_u64(t->now, f) : 0;
}

const char *hostrace_field_text(struct hostrace_trace *t, uint32_t i)
{
	const struct field *f = field_at(t, i);

	return f ? field_print(t->now, f, t->text, sizeof(t->text)) : NULL;
}

/* ---- the trace ---- */

const char *hostrace_version(void)
{
	return HOSTRACE_VERSION;
}

int hostrace_in_ticks(const struct hostrace_trace *t)
{
	return trace_info_in_ticks(&t->set->reader->info);
}

uint64_t hostrace_lost(const struct hostrace_trace *t)
{
	return t->set->reader->info.lost;
}

const char *hostrace_note(const struct hostrace_trace *t, uint32_t i)
{
	const json_t *caveats = t->set->reader->info.caveats;
	size_t nr = json_array_size(t->notes);

	return json_string_value(i < nr ? json_array_get(t->notes, i)
					: json_array_get(caveats, i - nr));
}

const char *hostrace_error(void)
{
	return error_text();
}
