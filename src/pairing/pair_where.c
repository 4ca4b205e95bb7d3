// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * --where on spans: what begins and ends is followed as always, and of the spans that are complete those are passed on
 * that the condition holds for. A field that is not the span's own (its duration, thread, ...) is a label, as if --by
 * had named it, which no view sees.
 */
#include <errno.h>

#include "base/error.h"
#include "event/event_where.h"
#include "event/vm_names.h"
#include "pairing/pair_private.h"

static const struct own_field {
	const char *name;
	enum where_from from;
} own_fields[] = {
	{"ns", WHERE_NS},
	{"duration_ns", WHERE_NS},
	{"time_ns", WHERE_TIME},
	{"end_ns", WHERE_END},
	{"pid", WHERE_PID},
	{"tid", WHERE_TID},
	{"vcpu", WHERE_VCPU},
	{"vm", WHERE_VM},
	{"bytes", WHERE_BYTES},
	{"count", WHERE_COUNT},
	{"userspace", WHERE_USERSPACE},
};

static const struct own_field *own_field(const char *name)
{
	for (size_t i = 0; i < sizeof(own_fields) / sizeof(*own_fields); i++)
		if (!strcmp(own_fields[i].name, name))
			return &own_fields[i];
	return NULL;
}

/* "guest_task" is as well what the key "guest-task" is called. */
static const char *key_of(const char *field)
{
	return strcmp(field, "guest_task") ? field : "guest-task";
}

const char *pairing_where_keys(const struct condition *c, const char *by, char *buf, size_t size)
{
	unsigned int nr = 0;
	const struct condition_field *f = c ? condition_fields(c, &nr) : NULL;
	size_t len = (size_t)snprintf(buf, size, "%s", by ?: "");

	for (unsigned int i = 0; i < nr && len < size; i++)
		if (!own_field(f[i].name))
			len += (size_t)snprintf(buf + len, size - len, "%s%s", len ? "," : "",
						key_of(f[i].name));
	return len ? buf : NULL;
}

static bool is_only_text(const struct pairing *p, unsigned int label)
{
	const char *fmt = p->label[label].fmt;

	return !strcmp(fmt, "text") || !strcmp(fmt, "guest-task");
}

/* The label of this name, which is added if there is none. */
static int label_add(struct pairing *p, const struct condition *c, unsigned int field,
		     unsigned int *ret)
{
	const char *name = key_of(condition_fields(c, &(unsigned int){0})[field].name);

	for (*ret = 0; *ret < p->nr_all; ++*ret)
		if (!strcmp(p->names[*ret], name))
			return 0;
	if (p->nr_all - p->nr_labels == WHERE_LABELS_MAX)
		return condition_field_fail(c, field, "more than %d fields of events",
					    WHERE_LABELS_MAX);
	snprintf(p->names[p->nr_all++], sizeof(p->names[0]), "%s", name);
	return 0;
}

int pair_where_bind(struct pairing *p, const struct condition *c)
{
	unsigned int nr;
	const struct condition_field *f = condition_fields(c, &nr);
	int err = 0;

	for (unsigned int i = 0; i < nr && !err; i++) {
		const struct own_field *own = own_field(f[i].name);
		struct where_source *source = &p->where_source[i];

		source->from = own ? own->from : WHERE_LABEL;
		if (own && own->from == WHERE_VM && !f[i].is_text)
			err = condition_field_fail(c, i,
						   "'vm' is a name: compare it with a string");
		else if (!own)
			err = label_add(p, c, i, &source->label);
	}
	p->where = c;
	return err;
}

/* ---- values ---- */

struct evaluated {
	const struct pairing *p;
	const struct span *s;
	const struct condition_field *field;
};

static bool label_is_there(const struct pairing *p, unsigned int i, uint64_t value)
{
	const struct label *l = &p->label[i];

	if (label_is_unknown(l, value) || !strcmp(l->fmt, "none") ||
	    (!strcmp(l->name, "cpu") && value == RECORD_CPU_UNKNOWN) ||
	    (!strcmp(l->name, "rip") && !value))
		return false;
	return value || !is_only_text(p, i);
}

static bool label_get(const struct evaluated *e, unsigned int i, bool as_text,
		      struct condition_value *v)
{
	const struct label *l = &e->p->label[i];
	uint64_t value = e->s->label[i];
	const char *text;

	if (!label_is_there(e->p, i, value) || (!as_text && is_only_text(e->p, i)))
		return false;
	if (!as_text) { /* the isa is in a reason's upper half */
		v->number = !strcmp(l->fmt, "reason")	? (long double)(uint32_t)value
			    : !strcmp(l->fmt, "signed") ? (long double)(int64_t)value
							: (long double)value;
		return true;
	}
	text = pairing_label_text(e->p, i, value, v->buf, sizeof(v->buf));
	v->text = text;
	if (strstr(l->fmt, "reason"))
		condition_value_reason(v, text);
	return true;
}

static bool own_number(const struct span *s, enum where_from from, uint64_t *ret)
{
	const uint64_t values[] = {[WHERE_NS] = s->end_ns - s->start_ns,
				   [WHERE_TIME] = s->start_ns,
				   [WHERE_END] = s->end_ns,
				   [WHERE_PID] = s->pid,
				   [WHERE_TID] = s->tid,
				   [WHERE_VCPU] = s->vcpu,
				   [WHERE_VM] = 0,
				   [WHERE_BYTES] = s->bytes,
				   [WHERE_COUNT] = s->weight,
				   [WHERE_USERSPACE] = s->marked};

	*ret = values[from];
	return (from != WHERE_VCPU || s->vcpu != RECORD_NO_VCPU) &&
	       (from != WHERE_BYTES || s->bytes != BYTES_UNKNOWN);
}

static bool value_get(void *arg, unsigned int i, struct condition_value *v)
{
	const struct evaluated *e = arg;
	const struct where_source *source = &e->p->where_source[i];
	bool as_text = e->field[i].is_text;
	uint64_t number;

	if (source->from == WHERE_LABEL)
		return label_get(e, source->label, as_text, v);
	if (source->from == WHERE_VM) {
		v->text = vm_name(e->p->vms, e->s->pid, v->buf, sizeof(v->buf));
		return e->s->pid;
	}
	if (!own_number(e->s, source->from, &number))
		return false;
	v->number = (long double)number;
	if (as_text)
		v->text = value_print("dec", number, 0, v->buf, sizeof(v->buf));
	return true;
}

bool pair_where_holds(const struct pairing *p, const struct span *s)
{
	struct evaluated e = {p, s, condition_fields(p->where, &(unsigned int){0})};

	return condition_holds(p->where, value_get, &e);
}

/* The field is a label, and no event has it. */
static bool is_absent(const struct pairing *p, unsigned int i)
{
	const struct where_source *source = &p->where_source[i];

	return source->from == WHERE_LABEL && !p->label_found[source->label];
}

int pair_where_check(const struct pairing *p)
{
	unsigned int nr;
	const struct condition_field *f = condition_fields(p->where, &nr);

	for (unsigned int i = 0; i < nr; i++) {
		if (is_absent(p, i))
			return condition_field_fail(
				p->where, i,
				"no span of %s has the field '%s' (fields: ns, time_ns, end_ns, "
				"pid, tid, vcpu, vm, cpu, bytes, count, userspace, guest_task, and "
				"what --by takes: the fields of %s)",
				p->a->name, f[i].name, p->a->begin);
		if (p->where_source[i].from == WHERE_LABEL && !f[i].is_text &&
		    is_only_text(p, p->where_source[i].label))
			return condition_field_fail(
				p->where, i,
				"'%s' is a text and no number: compare it with a string",
				f[i].name);
	}
	return 0;
}
