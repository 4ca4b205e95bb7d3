// SPDX-License-Identifier: GPL-2.0-or-later
/* Where the fields of a condition are in each event type, and their values. */
#include <errno.h>

#include "base/array.h"
#include "base/error.h"
#include "base/suggest.h"
#include "event/event_where.h"
#include "event/exit_reason.h"
#include "event/vm_names.h"

enum source {
	FROM_NOWHERE,
	FROM_EVENT,
	FROM_TIME,
	FROM_CPU,
	FROM_VCPU,
	FROM_PID,
	FROM_TID,
	FROM_VM,
	FROM_FIELD
};

static const struct column {
	const char *name;
	enum source source;
	bool is_text; /* it has no number */
} columns[] = {
	{"event", FROM_EVENT, true}, {"time_ns", FROM_TIME, false}, {"vm", FROM_VM, true},
	{"cpu", FROM_CPU, false},    {"vcpu", FROM_VCPU, false},    {"pid", FROM_PID, false},
	{"tid", FROM_TID, false},
};

struct binding {
	enum source source;
	const struct field *field;
	bool is_reason;
};

struct event_where {
	struct condition *condition;
	const struct condition_field *field;
	unsigned int nr, nr_types;
	const struct vm_names *vms;
	bool found[CONDITION_FIELDS_MAX];
	bool only_text
		[CONDITION_FIELDS_MAX]; /* it is compared with numbers, and is a text in an event */
	struct binding *binding[EVENT_TYPES_MAX]; /* by type; nr of them */
};

struct event_where *event_where_new(const char *option, const char *text)
{
	_cleanup_(event_where_cleanup_) struct event_where *w = calloc(1, sizeof(*w));

	if (!w) {
		fail(-ENOMEM, "out of memory");
		return NULL;
	}
	if (condition_parse(option, text, &w->condition))
		return NULL;
	w->field = condition_fields(w->condition, &w->nr);
	return take_ptr(w);
}

void event_where_free(struct event_where *w)
{
	if (!w)
		return;
	for (unsigned int i = 0; i < EVENT_TYPES_MAX; i++)
		free(w->binding[i]);
	condition_free(w->condition);
	free(w);
}

void event_where_set_vms(struct event_where *w, const struct vm_names *vms)
{
	w->vms = vms;
}

/* ---- fields ---- */

static const char *own_name(const char *name)
{
	return strncmp(name, "fields.", 7) ? name : name + 7;
}

static bool is_text(const struct field *f)
{
	return f->kind == FIELD_TEXT || f->kind == FIELD_DYNTEXT;
}

static struct binding binding_of(struct event_where *w, unsigned int i,
				 const struct event_type *type)
{
	const struct condition_field *f = &w->field[i];
	struct binding b = {FROM_NOWHERE, NULL, false};
	bool text_only = false;

	for (size_t k = 0; k < sizeof(columns) / sizeof(*columns); k++)
		if (!strcmp(columns[k].name, f->name)) {
			b.source = columns[k].source;
			text_only = columns[k].is_text;
		}
	if (b.source == FROM_NOWHERE && ((b.field = event_field(type, f->name)) ||
					 (b.field = event_field(type, own_name(f->name))))) {
		b.source = FROM_FIELD;
		text_only = is_text(b.field);
		b.is_reason = strstr(b.field->fmt, "reason");
	}
	if (text_only && !f->is_text) {
		w->only_text[i] = true;
		b.source = FROM_NOWHERE;
	}
	return b;
}

static struct binding *bind(struct event_where *w, const struct event_type *type)
{
	struct binding *b = calloc(w->nr + 1ul, sizeof(*b));

	for (unsigned int i = 0; b && i < w->nr; i++) {
		b[i] = binding_of(w, i, type);
		w->found[i] |= b[i].source != FROM_NOWHERE;
	}
	w->nr_types += b != NULL;
	return w->binding[type->index] = b;
}

bool event_where_learn(struct event_where *w, const struct event_type *type)
{
	if (!w->binding[type->index])
		bind(w, type);
	return !array_any(w->nr, i, !w->found[i]);
}

/* ---- values ---- */

void condition_value_reason(struct condition_value *v, const char *text)
{
	v->text = text;
	v->others = exit_reason_synonyms(text);
	v->fold = true;
}

struct evaluated {
	const struct event_where *w;
	const struct binding *b;
	const struct event *ev;
};

static bool number_set(struct condition_value *v, bool is_known, uint64_t number)
{
	v->number = number;
	return is_known;
}

static long double field_number(const struct event *ev, const struct field *f)
{
	uint64_t v = event_u64(ev, f);

	return f->kind == FIELD_SINT ? (long double)(int64_t)v : (long double)v;
}

static bool field_is_there(const struct event *ev, const struct field *f)
{
	return f->offset + f->size <= ev->size;
}

static bool field_get(const struct binding *b, const struct event *ev, bool as_text,
		      struct condition_value *v)
{
	const struct field *f = b->field;

	if (!field_is_there(ev, f))
		return false;
	v->number = as_text ? 0 : field_number(ev, f);
	if (as_text)
		v->text = field_print(ev, f, v->buf, sizeof(v->buf));
	if (as_text && b->is_reason)
		condition_value_reason(v, v->text);
	return true;
}

static bool column_get(const struct evaluated *e, enum source source, struct condition_value *v)
{
	const struct event *ev = e->ev;

	switch (source) {
	case FROM_TIME:
		return number_set(v, true, ev->time_ns);
	case FROM_CPU:
		return number_set(v, ev->cpu != RECORD_CPU_UNKNOWN, ev->cpu);
	case FROM_VCPU:
		return number_set(v, ev->vcpu != RECORD_NO_VCPU, ev->vcpu);
	case FROM_PID:
		return number_set(v, ev->pid != 0, ev->pid);
	case FROM_TID:
		return number_set(v, true, ev->tid);
	case FROM_VM:
		v->text = vm_is_known(e->w->vms, ev->pid)
				  ? vm_name(e->w->vms, ev->pid, v->buf, sizeof(v->buf))
				  : NULL;
		return v->text;
	case FROM_EVENT:
		v->text = ev->type->name;
		return true;
	default:
		return false;
	}
}

static bool value_get(void *arg, unsigned int i, struct condition_value *v)
{
	const struct evaluated *e = arg;
	const struct binding *b = &e->b[i];
	bool as_text = e->w->field[i].is_text;

	if (b->source == FROM_FIELD)
		return field_get(b, e->ev, as_text, v);
	if (!column_get(e, b->source, v))
		return false;
	if (as_text && b->source != FROM_EVENT && b->source != FROM_VM) {
		snprintf(v->buf, sizeof(v->buf), "%.0Lf", v->number);
		v->text = v->buf;
	}
	return true;
}

bool event_where_matches(struct event_where *w, const struct event *ev)
{
	struct evaluated e = {w, w->binding[ev->type->index], ev};

	if (!e.b)
		e.b = bind(w, ev->type);
	return e.b && condition_holds(w->condition, value_get, &e);
}

/* ---- what no event has ---- */

enum { LIST_BYTES = 400 };

/* Adds a name to the list, if it is not in it. */
static void name_add(char *list, const char *name)
{
	size_t len = strlen(list), name_len = strlen(name);

	for (const char *p = list; *p; p += strcspn(p, " "), p += *p == ' ')
		if (strcspn(p, " ,") == name_len && !strncmp(p, name, name_len))
			return;
	if (len + name_len + 8 < LIST_BYTES)
		snprintf(list + len, LIST_BYTES - len, "%s%s", len ? ", " : "", name);
	else if (len >= 4 && strcmp(list + len - 3, "...") != 0)
		strcpy(list + len, ", ...");
}

/* The fields of the types that were learned. */
static int absent(const struct event_where *w, unsigned int i)
{
	char list[LIST_BYTES] = "";
	struct suggestion s = {0};

	for (size_t k = 0; k < sizeof(columns) / sizeof(*columns); k++) {
		name_add(list, columns[k].name);
		suggest_try(&s, w->field[i].name, columns[k].name);
	}
	for (unsigned int t = 0; t < event_types_count(); t++)
		for (unsigned int k = 0; w->binding[t] && k < event_type_at(t)->nr_fields; k++) {
			name_add(list, event_type_at(t)->fields[k].name);
			suggest_try(&s, w->field[i].name, event_type_at(t)->fields[k].name);
		}
	return condition_field_fail(
		w->condition, i, "no event of the recording has the field '%s' (fields: %s)%s%s%s",
		w->field[i].name, list, s.name ? "; did you mean '" : "", s.name ?: "",
		s.name ? "'?" : "");
}

int event_where_check(const struct event_where *w)
{
	for (unsigned int i = 0; i < w->nr && w->nr_types; i++) {
		if (w->found[i])
			continue;
		if (w->only_text[i])
			return condition_field_fail(
				w->condition, i,
				"'%s' is a text and no number: compare it with a string",
				w->field[i].name);
		return absent(w, i);
	}
	return 0;
}
