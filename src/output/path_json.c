// SPDX-License-Identifier: GPL-2.0-or-later
/* The same for programs: totals, stages, and a row for each of the slowest requests. */
#include "base/error.h"
#include "base/json_text.h"
#include "output/path_report.h"

static void stage_set(json_t *o, enum path_point from, enum path_point to)
{
	json_object_set_new(o, "stage",
			    json_sprintf("%s-%s", path_points[from].name, path_points[to].name));
}

static void state_set(json_t *o, enum path_role role, enum thread_run run)
{
	bool unknown = role == PATH_NOBODY || run == THREAD_UNKNOWN;

	json_object_set_new(o, "thread", json_string(path_role_names[role]));
	json_object_set_new(o, "state", unknown ? json_null() : json_string(thread_run_names[run]));
}

static void device_set(const struct path_report *r, json_t *o, uint32_t pid, const char *device)
{
	char text[VM_NAME_BYTES];

	json_object_set_new(o, "pid", json_integer(pid));
	if (r->vms)
		json_object_set_new(o, "vm",
				    json_string(vm_name(r->vms, pid, text, sizeof(text))));
	json_object_set_new(o, "device", json_string(*device ? device : "unknown"));
}

static json_t *stage_json(const struct path_report *r, struct path_stage *s)
{
	const struct path_device_sum *d = &r->summary->device[s->device];
	json_t *o = json_object();

	device_set(r, o, d->pid, d->device);
	stage_set(o, s->from, s->to);
	state_set(o, s->role, s->run);
	json_object_set_new(o, "requests", json_integer((json_int_t)s->ns.count));
	json_object_set_new(o, "time_ns", json_u64(s->ns.sum));
	json_object_set_new(o, "p50_ns", json_u64(quantiles_at(&s->ns, .5)));
	json_object_set_new(o, "p99_ns", json_u64(quantiles_at(&s->ns, .99)));
	json_object_set_new(o, "max_ns", json_u64(s->ns.max));
	return o;
}

static json_t *points_json(const struct path_request *rq)
{
	json_t *o = json_object();

	for (unsigned int i = 0; i < PATH_POINTS; i++)
		if (rq->at[i])
			json_object_set_new(o, path_points[i].name,
					    json_u64(rq->at[i]));
	return o;
}

static json_t *part_json(const struct path_part *p)
{
	json_t *o = json_pack("{s:o, s:o}", "start_ns", json_u64(p->start_ns), "duration_ns",
			      json_u64(p->end_ns - p->start_ns));

	stage_set(o, p->from, p->to);
	state_set(o, p->role, p->run);
	if (p->tid)
		json_object_set_new(o, "tid", json_integer(p->tid));
	if (p->run == THREAD_RUNQUEUE && p->other_tid) {
		json_object_set_new(o, "cpu", json_integer(p->cpu));
		json_object_set_new(o, "other_tid", json_integer(p->other_tid));
		json_object_set_new(o, "other", json_string(p->other));
	}
	return o;
}

static json_t *request_json(const struct path_report *r, const struct path_request *rq)
{
	struct path_part part[PATH_PARTS_MAX];
	unsigned int nr = path_parts(r->path, rq, part);
	uint64_t start_ns = path_start_ns(rq);
	json_t *o = json_object(), *parts = json_array();

	device_set(r, o, rq->pid, rq->device);
	json_object_set_new(o, "queue", json_integer(rq->queue));
	json_object_set_new(o, "head", json_integer(rq->head));
	json_object_set_new(o, "start_ns", json_u64(start_ns));
	json_object_set_new(o, "total_ns", json_u64(path_end_ns(rq) - start_ns));
	json_object_set_new(o, "batched", json_boolean(rq->batched));
	json_object_set_new(o, "host_ios", json_integer(rq->nr_ios));
	if (rq->guest) {
		json_object_set_new(o, "sector", json_integer((json_int_t)rq->guest->block.sector));
		json_object_set_new(o, "sectors", json_integer(rq->guest->block.sectors));
	}
	json_object_set_new(o, "points_ns", points_json(rq));
	for (unsigned int i = 0; i < nr; i++)
		json_array_append_new(parts, part_json(&part[i]));
	json_object_set_new(o, "parts", parts);
	return o;
}

static json_t *totals_json(const struct path_report *r)
{
	const struct path_totals *n = path_totals(r->path);

	return json_pack("{s:I, s:o, s:I, s:I, s:I, s:I, s:I, s:I, s:{s:I, s:I, s:I}}", "requests",
			 (json_int_t)n->requests, "time_ns", json_u64(r->summary->time_ns),
			 "kicks", (json_int_t)n->kicks, "batched", (json_int_t)n->batched,
			 "notifications", (json_int_t)n->notifies, "unnotified",
			 (json_int_t)n->unnotified, "interrupts", (json_int_t)n->raises,
			 "suppressed", (json_int_t)n->suppressed, "host_ios", "all",
			 (json_int_t)n->ios, "ambiguous", (json_int_t)n->ios_ambiguous, "foreign",
			 (json_int_t)n->ios_foreign);
}

json_t *path_report_json(const struct path_report *r)
{
	size_t nr;
	_cleanup_free_ struct path_stage **list = path_summary_stages(r->summary, &nr);
	json_t *stages = json_array(), *rows = json_array();

	for (size_t i = 0; i < nr; i++)
		json_array_append_new(stages, stage_json(r, list[i]));
	for (size_t i = 0; i < r->nr_slowest; i++)
		json_array_append_new(rows, request_json(r, r->slowest[i]));
	return json_pack("{s:o, s:o, s:o}", "totals", totals_json(r), "stages", stages, "rows",
			 rows);
}
