// SPDX-License-Identifier: GPL-2.0-or-later
/* The same for programs: totals, causes, groups, and a row for each of the longest exits. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/json_text.h"
#include "output/blame_report.h"

enum { TEXT_BYTES = VM_NAME_BYTES };

/* All causes, also those that are 0: their sum is the time. */
static json_t *causes_json(const uint64_t causes[BLAME_CAUSES])
{
	json_t *all = json_object();

	for (unsigned int i = 0; i < BLAME_CAUSES; i++)
		json_object_set_new(all, blame_cause_names[i], json_u64(causes[i]));
	return all;
}

static void reason_set(json_t *o, uint32_t reason, uint32_t isa)
{
	char text[TEXT_BYTES];

	json_object_set_new(o, "reason",
			    json_string(blame_reason_print(reason, isa, text, sizeof(text))));
}

static void vcpu_set(json_t *o, uint16_t vcpu)
{
	json_object_set_new(o, "vcpu", vcpu == RECORD_NO_VCPU ? json_null() : json_integer(vcpu));
}

static void thread_set(json_t *o, const struct blame_who *who)
{
	if (who->tid && who->tid != BLAME_SEVERAL)
		json_object_set_new(o, "tid", json_integer(who->tid));
	if (*who->comm)
		json_object_set_new(o, "comm", json_string(who->comm));
}

/* Functions, innermost first; null if unknown. */
static json_t *stack_json(const struct blame_report *r, uint32_t id)
{
	const char *stack = blame_stack(r->blame, id);
	json_t *all = stack ? json_array() : json_null();

	while (stack && *stack) {
		size_t len = strcspn(stack, ";");

		json_array_append_new(all, json_stringn(stack, len));
		stack += len + (stack[len] == ';');
	}
	return all;
}

static json_t *holder_json(const struct blame_report *r, const struct blame_exit *x)
{
	const struct blame_part *p = blame_exit_holder(x);

	if (!p)
		return json_null();
	return json_pack("{s:I,s:s,s:o}", "tid", (json_int_t)p->who.tid, "comm", p->who.comm,
			 "stack", stack_json(r, p->who.stack));
}

static json_t *parts_json(const struct blame_report *r, const struct blame_exit *x)
{
	json_t *all = json_array();
	char text[TEXT_BYTES];

	for (unsigned int i = 0; i < x->nr_parts; i++) {
		const struct blame_part *p = &x->part[i];
		json_t *one = json_pack("{s:o,s:o,s:s,s:s}", "start_ns", json_u64(p->start_ns),
					"duration_ns", json_u64(p->end_ns - p->start_ns),
					"cause", blame_cause_names[p->cause], "what",
					blame_who_print(p->cause, &p->who, text, sizeof(text)));

		thread_set(one, &p->who);
		if (p->who.stack)
			json_object_set_new(one, "stack", stack_json(r, p->who.stack));
		json_array_append_new(all, one);
	}
	return all;
}

/* Where the guest was, and the function's name if --symbols is given. */
static void code_set(const struct blame_report *r, uint64_t rip, json_t *o)
{
	const char *name = r->symbols ? addresses_name(r->symbols, rip) : NULL;

	if (rip)
		json_object_set_new(o, "rip", json_sprintf("0x%" PRIx64, rip));
	if (rip && r->symbols)
		json_object_set_new(o, "symbol", name ? json_string(name) : json_null());
}

static json_t *exit_json(const struct blame_report *r, const struct blame_exit *x)
{
	json_t *row = json_pack("{s:o,s:I,s:I}", "time_ns", json_u64(x->start_ns), "pid",
				(json_int_t)x->pid, "tid", (json_int_t)x->tid);
	char text[TEXT_BYTES];

	if (r->vms)
		json_object_set_new(row, "vm",
				    json_string(vm_name(r->vms, x->pid, text, sizeof(text))));
	vcpu_set(row, x->vcpu);
	reason_set(row, x->reason, x->isa);
	code_set(r, x->rip, row);
	json_object_set_new(row, "latency_ns", json_u64(x->end_ns - x->start_ns));
	json_object_set_new(row, "causes", causes_json(x->causes));
	json_object_set_new(row, "holder", holder_json(r, x));
	json_object_set_new(row, "parts", parts_json(r, x));
	return row;
}

/* The keys of the group. */
static void group_set(const struct blame_report *r, const struct blame_group *g, json_t *o)
{
	const struct blame_by *by = &r->summary->by;
	char text[TEXT_BYTES];

	if (by->vm)
		json_object_set_new(o, "vm",
				    json_string(vm_name(r->vms, g->pid, text, sizeof(text))));
	if (by->vcpu)
		vcpu_set(o, g->vcpu);
	if (by->reason)
		reason_set(o, g->reason, g->isa);
	if (by->code)
		json_object_set_new(o, "symbol", g->code ? json_string(g->code) : json_null());
}

static json_t *total_json(const struct blame_report *r, const struct blame_total *t)
{
	char text[TEXT_BYTES];
	json_t *o = json_pack("{s:s,s:s,s:o,s:I}", "cause", blame_cause_names[t->cause], "what",
			      blame_who_print(t->cause, &t->who, text, sizeof(text)), "time_ns",
			      json_u64(t->time_ns), "exits", (json_int_t)t->exits);

	thread_set(o, &t->who);
	if (t->group)
		group_set(r, t->group, o);
	return o;
}

static json_t *group_json(const struct blame_report *r, const struct blame_group *g)
{
	json_t *o = json_object();

	group_set(r, g, o);
	json_object_set_new(o, "exits", json_integer((json_int_t)g->exits));
	json_object_set_new(o, "time_ns", json_u64(g->time_ns));
	json_object_set_new(o, "max_ns", json_u64(g->max_ns));
	json_object_set_new(o, "causes", causes_json(g->causes));
	return o;
}

/* What --around has kept. */
static json_t *events_json(const struct blame_report *r, size_t i)
{
	_cleanup_free_ char *text = NULL;

	if (asprintf(&text, "[%s]", r->around[i]) < 0)
		return json_null();
	return json_loads(text, 0, NULL);
}

json_t *blame_report_json(const struct blame_report *r)
{
	size_t nr_groups, nr_totals;
	_cleanup_free_ const struct blame_group **group =
		blame_summary_groups(r->summary, &nr_groups);
	_cleanup_free_ const struct blame_total **total =
		blame_summary_totals(r->summary, &nr_totals);
	json_t *groups = json_array(), *causes = json_array(), *rows = json_array();

	for (size_t i = 0; group && i < nr_groups; i++)
		json_array_append_new(groups, group_json(r, group[i]));
	for (size_t i = 0; total && i < nr_totals; i++)
		json_array_append_new(causes, total_json(r, total[i]));
	for (size_t i = 0; i < r->summary->nr_kept; i++) {
		json_t *row = exit_json(r, &r->summary->kept[i]);

		if (r->around)
			json_object_set_new(row, "events", events_json(r, i));
		if (r->around && r->left_out[i])
			json_object_set_new(row, "events_left_out",
					    json_integer((json_int_t)r->left_out[i]));
		json_array_append_new(rows, row);
	}
	return json_pack("{s:{s:I,s:o},s:o,s:o,s:o}", "totals", "exits",
			 (json_int_t)r->summary->exits, "time_ns", json_u64(r->summary->time_ns),
			 "causes", causes, "groups", groups, "rows", rows);
}
