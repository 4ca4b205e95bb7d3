// SPDX-License-Identifier: GPL-2.0-or-later
#include <inttypes.h>
#include <string.h>

#include "base/json_text.h"
#include "base/units.h"
#include "event/vm_names.h"
#include "output/element_report.h"
#include "output/queue_report.h"
#include "output/report.h"

void queue_report_make(struct queue_report *a, uint64_t limit)
{
	a->nr = queues_end(a->queues, a->end_ns, &a->list, &a->column_ns, &a->columns);
	if (limit && a->nr > limit) {
		a->left_out = a->nr - (unsigned int)limit;
		a->nr = (unsigned int)limit;
	}
	for (unsigned int i = 0; i < a->nr; i++) {
		a->pids |= !a->vms && a->list[i]->pid != a->list[0]->pid;
		for (unsigned int s = 0; s < QUEUE_STAGES; s++)
			a->estimated |= a->list[i]->stage[s].bucketed;
	}
}

static void caveats_stages(json_t *list, const struct queue_report *a)
{
	bool any = false;

	for (unsigned int s = 0; s < QUEUE_STAGES; s++) {
		bool same_as_next =
			s == STAGE_POP_COMPLETE; /* complete-push needs the same event */

		if (!queues_saw(a->queues, s) && !same_as_next)
			caveat_add(list, "stage %s is missing: the trace has no %s",
				   queue_stages[s].name, queue_stages[s].needs);
		for (unsigned int i = 0; i < a->nr; i++)
			any |= s == STAGE_KICK_POP && a->list[i]->stage[s].count;
	}
	if (any)
		caveat_add(list, "kick-pop lasts from a kick's arrival in QEMU to the next pop; "
				 "elements popped by polling are not counted");
}

static void caveat_lost(json_t *list, const struct loss_sums *lost, uint64_t start_ns)
{
	struct loss_sums l = *lost;
	char text[512];

	if (*losses_print(&l, start_ns, text, sizeof(text)))
		caveat_add(list, "lost: %s; counts and the number in flight do not include them",
			   text);
}

json_t *queue_report_caveats(const struct queue_report *a)
{
	const struct element_totals *t = queues_totals(a->queues);
	json_t *list = json_array();
	const char *vhost[8];
	unsigned int nr = elements_vhost(queues_elements(a->queues), vhost, 8);

	if (a->left_out)
		caveat_add(list, "%u more queues (--limit)", a->left_out);
	if (!a->nr && !nr)
		caveat_add(list, "no virtqueue was used: QEMU was not recorded (record --events "
				 "qemu), or the rings are served outside QEMU (vhost)");
	else if (a->nr)
		caveats_stages(list, a);
	for (unsigned int i = 0; i < nr; i++)
		caveat_add(list,
			   "%s: its rings are served outside QEMU (vhost), its requests are not "
			   "recorded",
			   vhost[i]);
	if (t->before)
		caveat_add(list,
			   "%" PRIu64 " returned elements had been popped before the recording; "
				      "the number in flight is too low by as many at its start",
			   t->before);
	if (a->nr)
		caveat_lost(list, &t->lost, a->start_ns);
	if (queues_unknown(a->queues))
		caveat_add(list,
			   "durations not counted because events in them may be missing: %" PRIu64,
			   queues_unknown(a->queues));
	element_caveats_unchecked(list, t);
	if (queues_overflow(a->queues))
		caveat_add(list,
			   "%" PRIu64 " events of queues beyond the limit of %d were not counted",
			   queues_overflow(a->queues), QUEUES_MAX);
	if (queues_refused(a->queues))
		caveat_add(list,
			   "%" PRIu64 " device names, completions or interrupts were dropped: too "
				      "many at once; some stages lack them",
			   queues_refused(a->queues));
	if (a->nr)
		caveat_add(list, a->estimated ? "percentiles are nearest-rank, within 0.4 %% in "
						"rows that count more than 128"
					      : "percentiles are nearest-rank and exact");
	return list;
}

/* ---- JSON: a row is a queue ---- */

static json_t *stages_json(struct queue_figures *f)
{
	json_t *stages = json_object();

	for (unsigned int s = 0; s < QUEUE_STAGES; s++) {
		struct quantiles *q = &f->stage[s];

		if (q->count)
			json_object_set_new(stages, queue_stages[s].name,
					    json_pack("{s:I, s:o, s:o, s:o}", "count",
						      (json_int_t)q->count, "p50_ns",
						      json_u64(quantiles_at(q, .5)), "p99_ns",
						      json_u64(quantiles_at(q, .99)), "max_ns",
						      json_u64(q->max)));
	}
	return stages;
}

static double average(const struct queue_report *a, const struct queue_figures *f)
{
	return a->end_ns > a->start_ns ? (double)f->area / (double)(a->end_ns - a->start_ns) : 0;
}

static json_t *flight_json(const struct queue_report *a, const struct queue_figures *f)
{
	json_t *most = json_array();

	for (unsigned int i = 0; i < a->columns; i++)
		json_array_append_new(most, json_integer(f->column[i]));
	return json_pack("{s:f, s:I, s:I, s:o, s:o}", "avg", average(a, f), "max",
			 (json_int_t)f->most, "end", (json_int_t)f->in_flight, "column_ns",
			 json_u64(a->column_ns), "columns", most);
}

static json_t *row_json(const struct queue_report *a, struct queue_figures *f)
{
	char name[VM_NAME_BYTES];

	return json_pack("{s:I, s:s*, s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:o, s:o}", "pid",
			 (json_int_t)f->pid, "vm",
			 a->vms ? vm_name(a->vms, f->pid, name, sizeof(name)) : NULL, "device",
			 *f->device ? f->device : "unknown", "queue", (json_int_t)f->queue, "count",
			 (json_int_t)f->popped, "returned", (json_int_t)f->returned,
			 "given_back_otherwise", (json_int_t)f->other, "kicks",
			 (json_int_t)f->kicks, "notifications", (json_int_t)f->interrupts, "stages",
			 stages_json(f), "in_flight", flight_json(a, f));
}

json_t *queue_report_json(const struct queue_report *a)
{
	json_t *rows = json_array();

	for (unsigned int i = 0; i < a->nr; i++)
		json_array_append_new(rows, row_json(a, a->list[i]));
	return rows;
}

/* ---- text and CSV: a row is a stage of a queue ---- */

static void stage_rows(const struct queue_report *a, struct table *t, struct queue_figures *f,
		       bool pids)
{
	char name[VM_NAME_BYTES];

	vm_name(a->vms, f->pid, name, sizeof(name));
	for (unsigned int s = 0; s < QUEUE_STAGES; s++) {
		struct quantiles *q = &f->stage[s];
		struct cell *c = q->count ? table_row(t) : NULL;

		if (!c)
			continue;
		if (pids)
			(c++)->number = f->pid;
		if (a->vms)
			(c++)->text = table_text(t, name);
		(c++)->text = table_text(t, *f->device ? f->device : "unknown");
		(c++)->number = f->queue;
		(c++)->text = queue_stages[s].name;
		(c++)->number = q->count;
		(c++)->number = quantiles_at(q, .5);
		(c++)->number = quantiles_at(q, .99);
		(c++)->number = q->max;
	}
}

void queue_report_table(const struct queue_report *a, bool csv, struct table *t)
{
	bool pids = csv || a->pids;

	if (pids)
		table_column(t, "pid", "pid", COL_COUNT, 0);
	if (a->vms)
		table_column(t, "vm", "VM", COL_TEXT, 0);
	table_column(t, "device", "device", COL_PATH, 0);
	table_column(t, "queue", "queue", COL_COUNT, 0);
	table_column(t, "stage", "stage", COL_TEXT, 0);
	table_column(t, "count", "count", COL_COUNT, 0);
	table_column(t, "p50_ns", "p50", COL_NS, 0);
	table_column(t, "p99_ns", "p99", COL_NS, 0);
	table_column(t, "max_ns", "max", COL_NS, 0);
	for (unsigned int i = 0; i < a->nr; i++)
		stage_rows(a, t, a->list[i], pids);
}

/* One character a column: empty for none, else darker towards the most that this queue ever had. */
static void picture(const struct queue_report *a, const struct queue_figures *f, char *buf)
{
	static const char shades[] = ".:-=+*#@";
	const uint64_t steps = sizeof(shades) - 2;

	for (unsigned int i = 0; i < a->columns; i++)
		buf[i] = !f->column[i]	? ' '
			 : f->most == 1 ? shades[0]
					: shades[(f->column[i] - 1) * steps / (f->most - 1)];
	buf[a->columns] = '\0';
}

static const char *name_of(const char *path, char *name, size_t size)
{
	const char *end = strstr(path, "/virtio-backend"), *begin = end ? end : path + strlen(path);

	while (end && begin > path && begin[-1] != '/')
		begin--;
	snprintf(name, size, "%.*s", end ? (int)(end - begin) : (int)strlen(path),
		 end	 ? begin
		 : *path ? path
			 : "unknown");
	text_neutralise(name);
	return name;
}

/* What does not fit the table: totals, and in flight over time. */
void queue_report_flight(const struct queue_report *a, FILE *f)
{
	char line[QUEUES_COLUMNS + 1], width[16], name[24], vm[VM_NAME_BYTES];

	for (unsigned int i = 0; i < a->nr; i++) {
		const struct queue_figures *q = a->list[i];

		picture(a, q, line);
		if (a->vms)
			fprintf(f, "%s ", vm_name(a->vms, q->pid, vm, sizeof(vm)));
		else if (a->pids)
			fprintf(f, "%" PRIu32 " ", q->pid);
		fprintf(f,
			"%s %" PRIu32 ": %" PRIu64 " requests, %" PRIu64 " kicks, %" PRIu64
			" notifications\n",
			name_of(q->device, name, sizeof(name)), q->queue, q->popped, q->kicks,
			q->interrupts);
		if (q->popped)
			fprintf(f,
				"  in flight |%s|\n            %.2f on average, %" PRIu64
				" at most, %" PRIu64 " at the end\n",
				line, average(a, q), q->most, q->in_flight);
	}
	if (a->nr)
		fprintf(f, "a column is %s\n", duration_print(a->column_ns, width, sizeof(width)));
}
