// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * `hostrace virtio`: in text and CSV a row is a stage of a queue, in JSON a queue; below the text, requests in flight
 * over time. Stages are those of analyzers/virtqueue/queues.h.
 */
#include <inttypes.h>

#include "base/units.h"
#include "event/virtio_ids.h"
#include "event/vm_names.h"
#include "output/element_report.h"
#include "output/queue_report.h"
#include "output/report.h"

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
	if (any && a->explains)
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

json_t *queue_report_caveats(const struct queue_report *a, const struct trace_info *info)
{
	const struct element_totals *t = queues_totals(a->queues);
	json_t *list = json_array();
	const char *vhost[8];
	unsigned int nr = elements_vhost(queues_elements(a->queues), vhost, 8);

	if (a->left_out)
		caveat_add(list, "%u more queues (--limit)", a->left_out);
	if (!a->all && !nr)
		element_caveat_none(list, info);
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
	if (a->nr && a->explains)
		caveat_add(list, a->estimated ? "percentiles are nearest-rank, within 0.4 %% in "
						"rows that count more than 128"
					      : "percentiles are nearest-rank and exact");
	return list;
}

static double average(const struct queue_report *a, const struct queue_figures *f)
{
	return a->end_ns > a->start_ns ? (double)f->area / (double)(a->end_ns - a->start_ns) : 0;
}

static double busy_percent(const struct queue_report *a, const struct queue_figures *f)
{
	return a->end_ns > a->start_ns
		       ? 100 * (double)f->busy_ns / (double)(a->end_ns - a->start_ns)
		       : 0;
}

/* ---- columns ---- */

static bool has_pids(const struct table *t)
{
	return t->tree || ((const struct queue_report *)t->report)->pids;
}

GET_CELL(get_device, const struct queue_figures *f, device_cell(t, f->device, f->kind))
GET_QUEUE(const struct queue_figures *f, f->kind, f->queue, f->data)

static const struct column_def queue_keys[] = {
	{"pid", "pid", COL_COUNT, MEMBER(struct queue_figures, pid), .when = has_pids,
	 .doc = "process id of the VM"},
	COLUMN_VM(struct queue_figures, pid),
	{"device", "device", COL_PATH, .get = get_device, .doc = "its QOM path, in text its name"},
	COLUMNS_QUEUE(0),
	{0},
};

static const struct column_def name_columns[] = {COLUMNS_QUEUE_NAMES, {0}};

static const struct column_def duration_columns[] = {
	{"count", "count", COL_COUNT, .get = column_count,
	 .doc = "how many requests had the stage"},
	{"p50_ns", "p50", COL_NS, .get = column_p50, .doc = "how long it took: median"},
	{"p99_ns", "p99", COL_NS, .get = column_p99, .doc = "99th percentile"},
	{"max_ns", "max", COL_NS, .get = column_max, .doc = "the longest"},
	{0},
};

/* ---- text and CSV: a row is a stage of a queue ---- */

GET_TEXT(get_stage, const enum queue_stage *stage, queue_stages[*stage].name)

static const struct column_def stage_column[] = {
	{"stage", "stage", COL_TEXT, .get = get_stage,
	 .doc = "kick-pop, pop-push, push-notify, ..."},
	{0},
};

const struct table_def queue_stages_table = {
	"virtio", "-f csv", "a stage of a queue (also in text)",
	{queue_keys, stage_column, duration_columns, name_columns}};

void queue_report_table(const struct queue_report *a, bool csv, struct table *t)
{
	struct queue_report with_pids = *a;
	int err = 0;

	with_pids.pids |= csv;
	table_open(t, &queue_stages_table, &with_pids, a->vms);
	for (unsigned int i = 0; i < a->nr; i++)
		for (enum queue_stage s = 0; s < QUEUE_STAGES && !err; s++)
			if (a->list[i]->stage[s].count)
				err = table_add(t, a->list[i], &s, &a->list[i]->stage[s],
						a->list[i]);
	t->report = a;
}

/* ---- JSON: a row is a queue ---- */

static struct cell get_stages(struct table *t, const void *at)
{
	const struct quantiles *stage = at;
	struct table *stages, *figures;
	struct cell cell = table_nest(t, NULL, &stages), *row;

	for (unsigned int s = 0; stages && s < QUEUE_STAGES; s++)
		table_column(stages, queue_stages[s].name, NULL, COL_OBJECT, 0);
	row = stages ? table_row(stages) : NULL;
	for (unsigned int s = 0; row && s < QUEUE_STAGES; s++) {
		row[s].text = cell_absent;
		if (!stage[s].count)
			continue;
		row[s] = table_nest(stages, duration_columns, &figures);
		if (figures)
			table_add(figures, &stage[s]);
	}
	return cell;
}

static const struct column_def flight_column[] = {
	{"", NULL, COL_COUNT, .get = column_u32, .doc = "the most in flight in a column"},
	{0},
};

static struct cell get_most(struct table *t, const void *at)
{
	const struct queue_report *a = t->report;
	const uint32_t *column = at;
	struct table *most;
	struct cell cell = table_nest(t, flight_column, &most);

	for (unsigned int i = 0; most && i < a->columns; i++)
		table_add(most, &column[i]);
	return cell;
}

GET_CELL(get_average, const struct queue_figures *f,
	 table_print(t, "%#.17g", average(t->report, f)))
GET_NUMBER(get_column_ns, const void *at,
	   at ? ((const struct queue_report *)t->report)->column_ns : 0)

static const struct column_def in_flight_columns[] = {
	{"avg", NULL, COL_REAL, .get = get_average, .doc = "average over time"},
	{"max", NULL, COL_COUNT, MEMBER(struct queue_figures, most), .doc = "at most"},
	{"end", NULL, COL_COUNT, MEMBER(struct queue_figures, in_flight), .doc = "at the end"},
	{"busy_ns", NULL, COL_NS, MEMBER(struct queue_figures, busy_ns),
	 .doc = "how long one or more were"},
	{"slow_ns", NULL, COL_NS, MEMBER(struct queue_figures, slow_ns),
	 .doc = "... and what is lost of it: of a request of 5 ms nothing, of 10 ms or more all"},
	{"column_ns", NULL, COL_NS, .get = get_column_ns, .doc = "length of each column of time"},
	{"columns", NULL, COL_ROWS, offsetof(struct queue_figures, column), get_most,
	 .nested = flight_column, .doc = "at most during each column"},
	{0},
};

static struct cell get_in_flight(struct table *t, const void *at)
{
	struct table *flight;
	struct cell cell = table_nest(t, in_flight_columns, &flight);

	if (flight)
		table_add(flight, at);
	return cell;
}

static const struct column_def queue_columns[] = {
	{"count", NULL, COL_COUNT, MEMBER(struct queue_figures, popped), .doc = "elements popped"},
	{"returned", NULL, COL_COUNT, MEMBER(struct queue_figures, returned),
	 .doc = "... returned"},
	{"given_back_otherwise", NULL, COL_COUNT, MEMBER(struct queue_figures, other),
	 .doc = "... detached, unpopped, or dropped by a reset"},
	{"kicks", NULL, COL_COUNT, MEMBER(struct queue_figures, kicks),
	 .doc = "kicks by the guest"},
	{"notifications", NULL, COL_COUNT, MEMBER(struct queue_figures, interrupts),
	 .doc = "interrupts that QEMU asked for"},
	{0},
};

static const struct column_def nested_columns[] = {
	{"stages", NULL, COL_OBJECT, offsetof(struct queue_figures, stage), get_stages,
	 .objects = duration_columns, .doc = "by name: kick-pop, pop-push, push-notify, ..."},
	{"in_flight", NULL, COL_OBJECT, .get = get_in_flight, .nested = in_flight_columns,
	 .doc = "elements popped and not returned, over time"},
	{0},
};

const struct table_def queues_table = {
	"virtio", "", "a queue", {queue_keys, name_columns, queue_columns, nested_columns}};

json_t *queue_report_json(const struct queue_report *a)
{
	struct table t = {.tree = true};
	int err = 0;
	json_t *rows;

	table_open(&t, &queues_table, a, a->vms);
	for (unsigned int i = 0; i < a->nr && !err; i++)
		err = table_add(&t, a->list[i], a->list[i], a->list[i], a->list[i]);
	rows = table_json(&t);
	table_free(&t);
	return rows;
}

/* ---- which queues ---- */

static const struct table_def selected_table = {
	"virtio", "", "a queue", {queue_keys, name_columns, queue_columns}};

/* Does the condition hold for the queue's columns? NULL: they are only looked up. */
static int queue_select(const struct queue_report *a, const struct queue_figures *q, bool *selected)
{
	struct table t = {.tree = true};
	int err = 0;

	table_open(&t, &selected_table, a, a->vms);
	if (q)
		err = table_add(&t, q, q, q);
	if (!err)
		err = table_where(&t, a->where);
	*selected = t.nr_rows;
	table_free(&t);
	return err;
}

static int queues_select(struct queue_report *a)
{
	unsigned int kept = 0;
	bool selected;
	int err = queue_select(a, NULL, &selected); /* whether there are queues or not */

	for (unsigned int i = 0; i < a->nr && !err; i++) {
		err = queue_select(a, a->list[i], &selected);
		if (selected)
			a->list[kept++] = a->list[i];
	}
	a->nr = kept;
	return err;
}

int queue_report_make(struct queue_report *a, uint64_t limit)
{
	a->all = a->nr = queues_end(a->queues, a->end_ns, &a->list, &a->column_ns, &a->columns);

	int err = a->where ? queues_select(a) : 0;

	if (limit && a->nr > limit) {
		a->left_out = a->nr - (unsigned int)limit;
		a->nr = (unsigned int)limit;
	}
	for (unsigned int i = 0; i < a->nr; i++) {
		a->pids |= !a->vms && a->list[i]->pid != a->list[0]->pid;
		for (unsigned int s = 0; s < QUEUE_STAGES; s++)
			a->estimated |= a->list[i]->stage[s].bucketed;
	}
	return err;
}

/* ---- below the text ---- */

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

/* What does not fit the table: totals, and in flight over time. */
void queue_report_flight(const struct queue_report *a, FILE *f)
{
	char line[QUEUES_COLUMNS + 1], width[16], name[32], path[QUEUES_DEVICE_MAX], queue[32];
	char vm[VM_NAME_BYTES];

	for (unsigned int i = 0; i < a->nr; i++) {
		const struct queue_figures *q = a->list[i];

		snprintf(name, sizeof(name), "%s",
			 virtio_device_name(*q->device ? q->device : "unknown", q->kind, path,
					    sizeof(path)));
		text_sanitize(name);
		picture(a, q, line);
		if (a->vms)
			fprintf(f, "%s ", vm_name(a->vms, q->pid, vm, sizeof(vm)));
		else if (a->pids)
			fprintf(f, "%" PRIu32 " ", q->pid);
		fprintf(f,
			"%s %s: %" PRIu64 " requests, %" PRIu64 " kicks, %" PRIu64
			" notifications\n",
			name, virtio_queue_label(q->kind, q->queue, q->data, queue, sizeof(queue)),
			q->popped, q->kicks, q->interrupts);
		if (q->popped)
			fprintf(f,
				"  in flight |%s|\n            %.2f on average, %" PRIu64
				" at most, %" PRIu64 " at the end; busy %.1f %%\n",
				line, average(a, q), q->most, q->in_flight, busy_percent(a, q));
	}
	if (a->nr)
		fprintf(f, "a column is %s\n", duration_print(a->column_ns, width, sizeof(width)));
}
