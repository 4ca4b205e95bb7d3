// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * blame --where: the condition is on each exit as a whole, before its time is added to causes, groups and pictures. An
 * exit's fields are its own, and what it spent on each cause, in ns: global-mutex, preempted, ...
 */
#include <errno.h>

#include "base/error.h"
#include "event/event_where.h"
#include "event/vm_names.h"
#include "reports/blame_where.h"

enum own {
	OWN_NS,
	OWN_TIME,
	OWN_END,
	OWN_PID,
	OWN_TID,
	OWN_VCPU,
	OWN_VM,
	OWN_REASON,
	OWN_RIP,
	OWN_NESTED,
	OWN_FIELDS
};

static const struct own_field {
	const char *name;
	enum own own;
} own_fields[] = {
	{"ns", OWN_NS},	  {"latency_ns", OWN_NS}, {"time_ns", OWN_TIME},  {"end_ns", OWN_END},
	{"pid", OWN_PID}, {"tid", OWN_TID},	  {"vcpu", OWN_VCPU},	  {"vm", OWN_VM},
	{"rip", OWN_RIP}, {"reason", OWN_REASON}, {"nested", OWN_NESTED},
};

static int field_unknown(const struct condition *c, unsigned int i, const char *name)
{
	char list[256] = "";

	for (unsigned int k = 0; k < BLAME_CAUSES; k++)
		snprintf(list + strlen(list), sizeof(list) - strlen(list), ", %s",
			 blame_cause_names[k]);
	return condition_field_fail(c, i,
				    "exits have no field '%s' (fields: ns, time_ns, end_ns, pid, "
				    "tid, vcpu, vm, reason, rip, nested, and the ns of causes:%s)",
				    name, list + 1);
}

static int field_bind(struct blame_where *w, unsigned int i)
{
	const struct condition_field *f = &w->field[i];

	w->of[i] = OWN_FIELDS + BLAME_CAUSES;
	for (size_t k = 0; k < sizeof(own_fields) / sizeof(*own_fields); k++)
		if (!strcmp(own_fields[k].name, f->name))
			w->of[i] = own_fields[k].own;
	for (unsigned int k = 0; k < BLAME_CAUSES; k++)
		if (!strcmp(blame_cause_names[k], f->name))
			w->of[i] = OWN_FIELDS + k;
	if (w->of[i] == OWN_FIELDS + BLAME_CAUSES)
		return field_unknown(w->condition, i, f->name);
	if (w->of[i] == OWN_VM && !f->is_text)
		return condition_field_fail(w->condition, i,
					    "'vm' is a name: compare it with a string");
	return 0;
}

int blame_where_init(struct blame_where *w, const char *text)
{
	unsigned int nr;
	int err = condition_parse("--where", text, &w->condition);

	if (err)
		return err;
	w->field = condition_fields(w->condition, &nr);
	for (unsigned int i = 0; i < nr && !err; i++)
		err = field_bind(w, i);
	return err;
}

/* ---- values ---- */

struct evaluated {
	const struct blame_where *w;
	const struct blame_exit *x;
};

static bool number_get(const struct blame_exit *x, unsigned int of, uint64_t *ret)
{
	const uint64_t own[OWN_FIELDS] = {[OWN_NS] = x->end_ns - x->start_ns,
					  [OWN_TIME] = x->start_ns,
					  [OWN_END] = x->end_ns,
					  [OWN_PID] = x->pid,
					  [OWN_TID] = x->tid,
					  [OWN_VCPU] = x->vcpu,
					  [OWN_REASON] = x->reason,
					  [OWN_RIP] = x->rip,
					  [OWN_NESTED] = x->nested};

	*ret = of < OWN_FIELDS ? own[of] : x->causes[of - OWN_FIELDS];
	return !((of == OWN_VCPU && x->vcpu == RECORD_NO_VCPU) || (of == OWN_RIP && !x->rip) ||
		 (of == OWN_REASON && (x->reason == BLAME_NO_REASON || x->reason == BLAME_IN_RUN)));
}

static bool reason_get(const struct blame_exit *x, struct condition_value *v)
{
	if (x->reason == BLAME_NO_REASON)
		return false;
	condition_value_reason(v, blame_reason_print(x->reason, x->isa, v->buf, sizeof(v->buf)));
	return true;
}

static bool value_get(void *arg, unsigned int i, struct condition_value *v)
{
	const struct evaluated *e = arg;
	unsigned int of = e->w->of[i];
	uint64_t number;

	if (of == OWN_VM) {
		v->text = vm_name(e->w->vms, e->x->pid, v->buf, sizeof(v->buf));
		return e->x->pid;
	}
	if (of == OWN_REASON && e->w->field[i].is_text)
		return reason_get(e->x, v);
	if (!number_get(e->x, of, &number))
		return false;
	v->number = (long double)number;
	if (e->w->field[i].is_text)
		v->text = value_print(of == OWN_RIP ? "hex" : "dec", number, 0, v->buf,
				      sizeof(v->buf));
	return true;
}

bool blame_where_holds(const struct blame_where *w, const struct blame_exit *x)
{
	struct evaluated e = {w, x};

	return condition_holds(w->condition, value_get, &e);
}
