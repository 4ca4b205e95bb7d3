// SPDX-License-Identifier: GPL-2.0-or-later
/* Rows of exits, blame and sched, of the counters of one interval, with what the findings read of them. */
#include "views/top/causes.h"

#include <inttypes.h>
#include <string.h>

#include "event/exit_reason.h"
#include "output/report/causes.h"
#include "output/report/findings.h"
#include "output/report/page.h"
#include "output/table.h"

/* Time without a CPU is counted at its end: less would be mostly of waits that began before it. */
enum { INTERVAL_MIN_NS = 50000000 };

/* ---- exits ---- */

static json_t *exits_row(const struct top_model *m, const struct top_node *n)
{
	json_t *row =
		json_pack("{s:s,s:I,s:I,s:I}", "reason", n->name, "count",
			  (json_int_t)n->values.count, "userspace_count",
			  (json_int_t)n->values.user, "total_ns", (json_int_t)n->values.time_ns);

	if (m->nr_buckets)
		json_object_set_new(row, "p50_ns", json_integer((json_int_t)n->values.p50_ns));
	if (m->nr_buckets)
		json_object_set_new(row, "p99_ns", json_integer((json_int_t)n->values.p99_ns));
	return row;
}

static json_t *exits_rows(const struct top_model *m, const struct top_node *of)
{
	json_t *rows = json_array();

	for (unsigned int i = 0; i < of->list[TOP_REASONS].nr; i++)
		json_array_append_new(rows, exits_row(m, of->list[TOP_REASONS].node[i]));
	return rows;
}

/* ... and of each vCPU. */
static json_t *exits_of_vcpus(const struct top_model *m, const struct top_node *vm)
{
	json_t *rows = json_array(), *row;

	for (unsigned int v = 0; v < vm->list[TOP_VCPUS].nr; v++) {
		const struct top_node *vcpu = vm->list[TOP_VCPUS].node[v];

		for (unsigned int i = 0; i < vcpu->list[TOP_REASONS].nr; i++) {
			row = exits_row(m, vcpu->list[TOP_REASONS].node[i]);
			json_object_set_new(row, "vcpu", json_integer((json_int_t)vcpu->key));
			json_array_append_new(rows, row);
		}
	}
	return rows;
}

static json_t *vcpus_rows(const struct top_node *vm)
{
	json_t *rows = json_array();

	for (unsigned int i = 0; i < vm->list[TOP_VCPUS].nr; i++)
		json_array_append_new(
			rows, json_pack("{s:I,s:I}", "vcpu",
					(json_int_t)vm->list[TOP_VCPUS].node[i]->key, "total_ns",
					(json_int_t)vm->list[TOP_VCPUS].node[i]->values.time_ns));
	return rows;
}

/* ---- blame ---- */

static uint64_t cause_ns(const struct top_node *reason, enum stat_cause cause)
{
	const struct top_node *n = top_node_find(reason, TOP_CAUSES, cause);

	return n ? n->values.time_ns : 0;
}

/* What blame calls it; NULL: no time is lost. A halt's time is the guest's own, but for its wait for a CPU. */
static const char *blame_name(const struct top_node *reason, enum stat_cause cause)
{
	static const char *const names[STAT_CAUSES] = {
		[STAT_IN_KERNEL] = "kernel",	   [STAT_IN_VMM] = "device",
		[STAT_ASLEEP_IN_KERNEL] = "fault", [STAT_ASLEEP_IN_VMM] = "asleep",
		[STAT_PREEMPTED] = "preempted",
	};

	return cause != STAT_PREEMPTED && exit_reason_is_idle(reason->name) ? NULL : names[cause];
}

/* "port I/O (IO_INSTRUCTION)": an exit that the VMM handled; a missing page that it handles is MMIO. */
static void what_print(const char *reason, char *buf, size_t size)
{
	const char *cause = reason_cause(&(struct found){0}, reason);
	bool is_mmio = !strcmp(cause, "exits-mmio") || !strcmp(cause, "exits-memory");

	if (!strcmp(cause, "exits-port"))
		snprintf(buf, size, "port I/O (%s)", reason);
	else
		snprintf(buf, size, is_mmio ? "MMIO (%s)" : "%s", reason);
}

/* The reason that the VMM worked longest for. */
static void largest_add(json_t *largest, const struct top_node *vcpu)
{
	const struct top_node *most = NULL;
	char what[TOP_NAME + 16];

	for (unsigned int i = 0; i < vcpu->list[TOP_REASONS].nr; i++) {
		const struct top_node *n = vcpu->list[TOP_REASONS].node[i];

		if (!exit_reason_is_idle(n->name) && cause_ns(n, STAT_IN_VMM) &&
		    (!most || cause_ns(n, STAT_IN_VMM) > cause_ns(most, STAT_IN_VMM)))
			most = n;
	}
	if (!most)
		return;
	what_print(most->name, what, sizeof(what));
	json_array_append_new(largest,
			      json_pack("{s:I,s:s,s:s,s:s,s:I}", "vcpu", (json_int_t)vcpu->key,
					"vm", "", "cause", "device", "what", what, "time_ns",
					(json_int_t)cause_ns(most, STAT_IN_VMM)));
}

/* A thread that stands still sleeps in the VMM, which is then no time of the exit's own. */
static void stopped_remove(json_t *of, const json_t *outside, uint64_t vcpu)
{
	const json_t *thread;
	size_t i;

	json_array_foreach (json_object_get(outside, "threads"), i, thread) {
		uint64_t asleep = number(of, "asleep"), stopped = number(thread, "stopped_ns");

		if (number(thread, "vcpu") == vcpu)
			json_object_set_new(
				of, "asleep",
				json_integer(
					(json_int_t)(asleep > stopped ? asleep - stopped : 0)));
	}
}

static json_t *group_make(const struct top_node *vcpu, const json_t *outside)
{
	json_t *of = json_object();

	for (unsigned int i = 0; i < vcpu->list[TOP_REASONS].nr; i++)
		for (unsigned int c = 0; c < STAT_CAUSES; c++) {
			const struct top_node *n = vcpu->list[TOP_REASONS].node[i];
			const char *name = blame_name(n, c);

			if (name)
				json_object_set_new(of, name,
						    json_integer((json_int_t)(number(of, name) +
									      cause_ns(n, c))));
		}
	stopped_remove(of, outside, vcpu->key);
	return json_pack("{s:I,s:s,s:o}", "vcpu", (json_int_t)vcpu->key, "vm", "", "causes", of);
}

static json_t *blame_make(const struct top_model *m, const struct top_node *vm,
			  const json_t *outside)
{
	json_t *groups = json_array(), *largest = json_array();

	for (unsigned int i = 0; m->has_causes && i < vm->list[TOP_VCPUS].nr; i++) {
		json_array_append_new(groups, group_make(vm->list[TOP_VCPUS].node[i], outside));
		largest_add(largest, vm->list[TOP_VCPUS].node[i]);
	}
	return json_pack("{s:o,s:o}", "groups", groups, "causes", largest);
}

/* ---- sched ---- */

static json_t *sched_rows(const json_t *outside, uint64_t span_ns)
{
	json_t *rows = json_array(), *thread;
	size_t i;

	json_array_foreach (json_object_get(outside, "threads"), i, thread) {
		json_t *row = json_copy(thread);

		json_object_set_new(row, "kind", json_string("vcpu"));
		json_object_set_new(row, "vm", json_string(""));
		json_object_set_new(row, "time_ns", json_integer((json_int_t)span_ns));
		json_array_append_new(rows, row);
	}
	return rows;
}

/* ---- downtime ---- */

/* A VM is stopped while all of its vCPUs wait until they may enter KVM_RUN. */
static json_t *downtime_rows(const json_t *outside)
{
	const json_t *threads = json_object_get(outside, "threads"), *thread;
	json_t *rows = json_array();
	uint64_t least = UINT64_MAX;
	size_t i;

	json_array_foreach (threads, i, thread)
		if (number(thread, "paused_ns") < least)
			least = number(thread, "paused_ns");
	if (least && least != UINT64_MAX)
		json_array_append_new(
			rows, json_pack("{s:s,s:I}", "vm", "", "window_ns", (json_int_t)least));
	return rows;
}

/* ---- all of it ---- */

static void section_add(json_t *sections, const char *key, json_t *data)
{
	json_object_set_new(sections, key, json_pack("{s:o}", "data", data));
}

static json_t *sections_make(const struct top_model *m, const struct top_node *vm,
			     const json_t *outside)
{
	uint64_t span_ns = top_interval_ns(m, vm);
	json_t *sections = json_object();

	section_add(sections, "info",
		    json_pack("{s:{s:I,s:b,s:O*,s:O*,s:O*}}", "result", "span_ns",
			      (json_int_t)span_ns, "interval", 1, "limits",
			      json_object_get(outside, "limits"), "vms",
			      json_object_get(outside, "vms"), "recorder",
			      json_object_get(outside, "recorder")));
	section_add(sections, "exits", json_pack("{s:o}", "rows", exits_rows(m, vm)));
	section_add(sections, "exits_of_vcpus", json_pack("{s:o}", "rows", exits_of_vcpus(m, vm)));
	section_add(sections, "exits_by_vcpu", json_pack("{s:o}", "rows", vcpus_rows(vm)));
	section_add(sections, "blame_by_vcpu", blame_make(m, vm, outside));
	section_add(sections, "sched", json_pack("{s:o}", "rows", sched_rows(outside, span_ns)));
	section_add(sections, "downtime", json_pack("{s:o}", "rows", downtime_rows(outside)));
	section_add(sections, "sched_tasks",
		    json_pack("{s:O*}", "rows", json_object_get(outside, "tasks")));
	return sections;
}

json_t *top_causes_make(const struct top_model *m, const struct top_node *vm, const json_t *outside)
{
	uint64_t span_ns = top_interval_ns(m, vm);
	json_t *sections, *findings, *result, *one;
	size_t i;

	if (m->since_start || span_ns < INTERVAL_MIN_NS)
		return json_null();
	sections = sections_make(m, vm, outside);
	findings = findings_make(sections);
	result = json_array();
	json_array_foreach (findings, i, one) {
		const struct cause *c = cause_find(text_of(one, "cause"));
		double share = json_number_value(json_object_get(one, "share"));

		if (c->cure)
			json_array_append_new(
				result, json_pack("{s:s,s:f,s:I,s:O}", "id", c->id, "share", share,
						  "lost_ns", (json_int_t)(share * (double)span_ns),
						  "text", json_object_get(one, "text")));
	}
	json_decref(findings);
	json_decref(sections);
	return result;
}

/* ---- the line ---- */

static double first_share(const struct top_node *vm)
{
	return json_number_value(json_object_get(json_array_get(vm->causes, 0), "share"));
}

/* Of the rows of the list of VMs, the one with the largest cause. */
static const struct top_node *vm_worst(const struct top_view *v)
{
	const struct top_node *worst = NULL;

	for (unsigned int i = 0; v->list == TOP_VMS && i < v->nr_rows; i++)
		if (!worst || first_share(v->row[i]) > first_share(worst))
			worst = v->row[i];
	return worst;
}

bool top_cause_print(const struct top_view *v, const struct top_model *m, char *buf, size_t size)
{
	const struct top_node *vm = v->list == TOP_VMS ? vm_worst(v) : top_view_vm(v, m);
	const json_t *first;

	if (!vm || first_share(vm) < TOP_CAUSE_SHARE)
		return false;
	first = json_array_get(vm->causes, 0);
	snprintf(buf, size, "%s: %s %.1f %%: %s", vm->name, text_of(first, "id"),
		 100 * first_share(vm), text_of(first, "text"));
	return true;
}
