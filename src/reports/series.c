// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The kinds of series: spans of analyzers, causes of exits (blame), stages of virtqueues, stages of requests that the
 * virtqueue's own events do not show (path), and times of the guest's tasks. Each of the latter feeds its analyzer,
 * gets a call for each measurement, and gives the series their names at the end.
 */
#include "reports/series.h"

#include <errno.h>

#include "analyzers/compare/guest_tasks.h"
#include "analyzers/path/path.h"
#include "analyzers/virtqueue/queues.h"
#include "base/array.h"
#include "base/error.h"
#include "reports/blame.h"

struct series_state {
	const struct series_kind *kind;
	struct series_set *set;
	const struct input_options *options;
	uint64_t until_ns;

	/* One of them is not NULL. */
	struct blame *blame;
	struct queues *queues;
	struct path *path;
	struct guest_tasks *switches;

	struct hash_table numbers; /* of tasks, for the labels */
	char *task[SERIES_MAX];
	uint32_t nr_tasks;
};

/* ---- causes ---- */

static int cause_add(void *arg, const struct blame_exit *x)
{
	struct series_state *s = arg;
	int err = 0;

	if (!blame_exit_selected((void *)s->options, x))
		return 0;
	for (uint64_t i = 0; i < BLAME_CAUSES && !err; i++)
		if (x->causes[i])
			err = series_add(s->set, &i, x->end_ns, x->causes[i], 1);
	return err;
}

static void causes_restart(void *arg)
{
	series_clear(((struct series_state *)arg)->set);
}

static bool cause_name(void *arg, const uint64_t *label, char *buf, size_t size)
{
	(void)arg;
	snprintf(buf, size, "%s", blame_cause_names[*label]);
	return true;
}

static int causes_open(struct series_state *s, const struct result *r)
{
	s->blame = blame_begin(r, &(const struct blame_sink){
					  .ended = cause_add, .restart = causes_restart, .arg = s});
	return s->blame ? 0 : -ENOMEM;
}

static int causes_event(struct series_state *s, const struct event *ev)
{
	return blame_event(s->blame, ev);
}

static int causes_end(struct series_state *s)
{
	return blame_end(s->blame);
}

/* ---- stages of virtqueues ---- */

static int stage_add(void *arg, const struct queue_figures *f, enum queue_stage stage,
		     uint64_t end_ns, uint64_t ns)
{
	struct series_state *s = arg;

	return series_add(s->set, (const uint64_t[]){(uintptr_t)f, stage}, end_ns, ns, 1);
}

static bool stage_name(void *arg, const uint64_t *label, char *buf, size_t size)
{
	const struct queue_figures *f = (const void *)(uintptr_t)label[0];

	(void)arg;
	snprintf(buf, size, "%s queue %u %s", *f->device ? f->device : "unknown", f->queue,
		 queue_stages[label[1]].name);
	return true;
}

static int stages_open(struct series_state *s, const struct result *r)
{
	s->queues = queues_new(input_set_start_ns(r->in));
	if (!s->queues)
		return fail(-ENOMEM, "out of memory");
	queues_watch(s->queues, stage_add, s);
	return 0;
}

static int stages_event(struct series_state *s, const struct event *ev)
{
	return ev->time_ns < s->until_ns ? queues_event(s->queues, ev) : 0;
}

/* ---- stages of requests ---- */

/* The others begin and end with events of the virtqueue: they are the kind "stage". */
static bool is_own(enum path_point from, enum path_point to)
{
	static const unsigned int of_queue =
		1u << POINT_KICK | 1u << POINT_POP | 1u << POINT_PUSH | 1u << POINT_NOTIFY;

	return !(of_queue >> from & of_queue >> to & 1);
}

static int request_add(struct series_set *set, const struct path_request *rq)
{
	enum path_point from = PATH_POINTS;
	int err = 0;

	for (enum path_point to = 0; to < PATH_POINTS && !err; to++) {
		if (!rq->at[to])
			continue;
		if (from != PATH_POINTS && is_own(from, to))
			err = series_add(set,
					 (const uint64_t[]){(uintptr_t)rq->device,
							    (uint64_t)from << 8 | to},
					 rq->at[to], rq->at[to] - rq->at[from], 1);
		from = to;
	}
	return err;
}

static bool request_name(void *arg, const uint64_t *label, char *buf, size_t size)
{
	const char *device = (const char *)(uintptr_t)label[0];

	(void)arg;
	snprintf(buf, size, "%s to %s of %s", path_points[label[1] >> 8].name,
		 path_points[label[1] & 0xff].name, *device ? device : "unknown");
	return true;
}

static int paths_open(struct series_state *s, const struct result *r)
{
	s->path = path_new();
	if (!s->path)
		return fail(-ENOMEM, "out of memory");
	path_window(s->path, r->in->since_ns, r->in->until_ns);
	return 0;
}

static int paths_event(struct series_state *s, const struct event *ev)
{
	return path_event(s->path, ev);
}

static int paths_end(struct series_state *s)
{
	const struct path_request *rq;
	int err = path_end(s->path);
	size_t nr = 0;

	rq = err ? NULL : path_requests(s->path, &nr);
	for (size_t i = 0; i < nr && !err; i++)
		err = request_add(s->set, &rq[i]);
	return err;
}

/* ---- tasks of the guest ---- */

/* Names of tasks are numbers in the labels. */
struct task_number {
	const char *name;
	uint32_t number;
};

static int task_add(void *arg, const char *comm, uint64_t end_ns, uint64_t ns)
{
	struct series_state *s = arg;
	struct task_number *n = hash_find_text(&s->numbers, comm);

	if (!n) {
		char *copy = s->nr_tasks < SERIES_MAX ? strdup(comm) : NULL;

		n = copy ? hash_add_text(&s->numbers, copy, NULL) : NULL;
		if (!n) {
			free(copy);
			s->set->refused++;
			return 0;
		}
		n->number = s->nr_tasks;
		s->task[s->nr_tasks++] = copy;
	}
	return series_add(s->set, (const uint64_t[]){n->number}, end_ns, ns, 1);
}

static bool task_name(void *arg, const uint64_t *label, char *buf, size_t size)
{
	const struct series_state *s = arg;

	snprintf(buf, size, "%s", s->task[*label]);
	return true;
}

static int tasks_open(struct series_state *s, const struct result *r)
{
	(void)r;
	s->numbers = HASH_TABLE_OF_TEXTS(struct task_number, SERIES_MAX);
	s->switches = guest_tasks_new(task_add, s);
	return s->switches ? 0 : -ENOMEM;
}

static int tasks_event(struct series_state *s, const struct event *ev)
{
	return guest_tasks_event(s->switches, ev);
}

/* ---- numbers of events ---- */

static int counts_event(struct series_state *s, const struct event *ev)
{
	if (ev->type->id == EV_lost || ev->type->id == EV_gap)
		return 0;
	return series_add(s->set, (const uint64_t[]){ev->type->index}, ev->time_ns, 0, 1);
}

static bool event_name(void *arg, const uint64_t *label, char *buf, size_t size)
{
	(void)arg;
	snprintf(buf, size, "%s", event_type_at((unsigned int)*label)->name);
	return true;
}

/* ---- a report of them ---- */

static const struct series_kind *kind_of(const struct result *r)
{
	return ((const struct series_report *)r->query->of)->kind;
}

static int series_init(struct result *r)
{
	r->reads = kind_of(r)->reads;
	return 0;
}

static bool series_wants(const char *event, void *result)
{
	const struct series_kind *kind = kind_of(result);

	return !kind->wants || kind->wants(event, NULL);
}

static int series_open(struct result *r)
{
	struct series_state *s = r->state;

	s->kind = kind_of(r);
	s->options = r->query->input;
	s->until_ns = r->in->until_ns;
	s->set = series_new(input_set_start_ns(r->in), s->kind->nr_labels);
	if (!s->set)
		return -ENOMEM;
	return s->kind->open ? s->kind->open(s, r) : 0;
}

static int series_event(void *state, const struct event *ev)
{
	return ((struct series_state *)state)->kind->event(state, ev);
}

/* Notes the recording's length, and gives the series their keys. */
static int set_end(struct series_set *set, const struct input_set *in, series_name_fn *name,
		   void *arg)
{
	uint64_t start_ns = input_set_start_ns(in), end_ns = input_set_end_ns(in);

	set->span_ns = end_ns > start_ns ? end_ns - start_ns : 0; /* the time window may begin behind the end */
	return series_name(set, name, arg);
}

static int series_end(struct result *r)
{
	struct series_state *s = r->state;
	int err = s->kind->end ? s->kind->end(s) : 0;

	return err ? err : set_end(s->set, r->in, s->kind->name, s);
}

static void series_close(struct result *r)
{
	struct series_state *s = r->state;

	blame_free(s->blame);
	queues_free(s->queues);
	path_free(s->path);
	guest_tasks_free(s->switches);
	series_free(s->set);
	hash_deinit(&s->numbers);
	while (s->nr_tasks)
		free(s->task[--s->nr_tasks]);
}

static const struct report_ops series_ops = {
	.state_bytes = sizeof(struct series_state),
	.init = series_init,
	.wants = series_wants,
	.open = series_open,
	.event = series_event,
	.end = series_end,
	.close = series_close,
};

/* Without events of the scheduler there are exits, but no causes. */
static bool has_answer(const struct series_state *s)
{
	const struct blame_counts *c = s->blame ? blame_counts(s->blame) : NULL;

	if (c)
		return c->switches || c->blocks;
	return s->set->nr || s->kind == &series_kinds[SERIES_OF_EVENTS];
}

/* ---- spans ---- */

/* ---- spans ---- */

static int fold_open(struct folding *f)
{
	unsigned int nr_labels;

	pairing_labels(f->pairing, &nr_labels);
	f->state = series_new(f->since_ns, nr_labels);
	return f->state ? 0 : -ENOMEM;
}

static int fold_span(struct folding *f, const struct span *s)
{
	return series_add(f->state, s->label, s->end_ns, s->end_ns - s->start_ns, s->weight);
}

static int fold_spans(void *state, const struct spans *s)
{
	const struct series_set *set = state;
	int err = 0;

	for (unsigned int i = 0; i < s->nr && !err; i++) {
		uint64_t label[LABELS_MAX];

		for (unsigned int l = 0; l < set->nr_labels; l++)
			label[l] = s->label[l][i];
		err = series_add(state, label, s->end_ns[i], s->ns[i],
				 s->weight ? s->weight[i] : 1);
	}
	return err;
}

static int fold_merge(void *state, void *from)
{
	return series_merge(state, from);
}

/* "in 0x71"; "/machine/peripheral/disk/virtio-backend queue 0". An exit without a port is no port access. */
static bool spans_name(void *arg, const uint64_t *value, char *buf, size_t size)
{
	const struct pairing *p = arg;
	unsigned int nr;
	const struct label *label = pairing_labels(p, &nr);
	size_t len = 0;

	for (unsigned int i = 0; i < nr && len < size; i++) {
		char text[200];

		if (label_is_unknown(&label[i], value[i]) && strcmp(label[i].fmt, "none"))
			return false;
		len += (size_t)snprintf(buf + len, size - len, "%s%s%s", i ? " " : "",
					strcmp(label[i].name, "queue") ? "" : "queue ",
					pairing_label_text(p, i, value[i], text, sizeof(text)));
	}
	return true;
}

/* The report's result is the set. */
static int fold_draw(struct folding *f, struct report *r)
{
	struct series_report *s =
		(struct series_report *)((char *)f->view - offsetof(struct series_report, view));

	s->set = take_ptr(f->state);
	s->analyzer = f->analyzer->name;
	return set_end(s->set, r->inputs, spans_name, (void *)f->pairing);
}

static void fold_close(struct folding *f)
{
	series_free(f->state);
}

static const struct view series_view = {
	.open = fold_open,
	.span = fold_span,
	.spans = fold_spans,
	.merge = fold_merge,
	.wants_ends = true,
	.draw = fold_draw,
	.close = fold_close,
};

/* ---- all kinds ---- */

const struct series_kind series_kinds[SERIES_KINDS] = {
	{"reason", "exit-latency", "=reason", .rate = true, .latency = true,
	 .tables = true, .rows = ROW_OF_REASON},
	[SERIES_OF_EVENTS] = {.by = "event", .rate = true, .tables = true, .rows = ROW_OF_EVENT,
			      .event = counts_event, .name = event_name, .nr_labels = 1},
	{.by = "cause", .rate = true, .latency = true, .reads = BLAME_READS, .wants = blame_wants,
	 .open = causes_open, .event = causes_event, .end = causes_end,
	 .name = cause_name, .nr_labels = 1},
	{"port", "pio", "=dir,port", .rate = true},
	{"port", "exit-latency", "=dir,port", .latency = true},
	{"queue", "virtqueue", "=device,queue", .rate = true, .latency = true},
	{.by = "stage", .latency = true, .reads = READ_BEFORE, .wants = queues_wants,
	 .open = stages_open, .event = stages_event, .name = stage_name, .nr_labels = 2},
	{.by = "request", .latency = true, .reads = READ_BEFORE, .wants = path_wants,
	 .open = paths_open, .event = paths_event, .end = paths_end,
	 .name = request_name, .nr_labels = 2},
	{.by = "task", .rate = true, .latency = true, .reads = READ_GUESTS,
	 .wants = guest_tasks_wants, .open = tasks_open, .event = tasks_event,
	 .name = task_name, .nr_labels = 1},
};

int series_report_init(struct series_report *s, const struct series_kind *kind, unsigned int jobs)
{
	s->kind = kind;
	s->view = series_view;
	s->spans = (struct spans_query){.view = &s->view,
					.analyzer = kind->analyzer,
					.by = kind->keys,
					.jobs = jobs,
					.all_vms = true};
	s->query.of = kind->analyzer ? (const void *)&s->spans : s;
	return result_init(&s->result, kind->analyzer ? &spans_report : &series_ops, &s->query);
}

static int set_take(struct series_report *s)
{
	struct series_state *state = s->result.state;

	if (s->result.err && s->result.pass && s->kind->analyzer) /* these exits have no port */
		return 0;
	if (s->result.err)
		return result_error(&s->result);
	if (s->kind->analyzer)
		return result_write(&s->result, &(const struct output){.format = ""});
	if (has_answer(state))
		s->set = take_ptr(state->set);
	return 0;
}

int series_report_end(struct series_report *s)
{
	int err = set_take(s);

	result_close(&s->result);
	return err;
}

void series_report_close(struct series_report *s)
{
	if (s->kind)
		result_close(&s->result);
	series_free(s->set);
}

/* ---- a table of another tool ---- */

/*
 * All counts of a kind, also those of rows that a table lacks. kvm_stat's total is of events; its exit reasons are
 * those of kvm_exit.
 */
static uint64_t table_total(const struct tool_table *t, enum tool_row_of rows)
{
	bool screen = !strcmp(t->tool, "kvm_stat");
	const struct tool_row *exits =
		array_find(t->row, t->nr, i,
			   t->row[i].of == ROW_OF_EVENT && !strcmp(t->row[i].name, "kvm_exit"));

	if (screen && rows == ROW_OF_REASON)
		return exits && exits->count != TOOL_TABLE_UNKNOWN ? exits->count : 0;
	return t->has_total ? t->total : 0;
}

static int table_row_add(struct series_set *s, const struct tool_row *r)
{
	bool mean = r->mean_ns != TOOL_TABLE_UNKNOWN;
	unsigned int nr = s->nr;
	int err = series_add_sum(s, r->name, r->count, mean ? (double)r->mean_ns : 0);

	if (!err && s->nr > nr && r->per_s != TOOL_TABLE_UNKNOWN) {
		s->list[nr]->has_per_s = true;
		s->list[nr]->per_s = (double)r->per_s;
	}
	return err;
}

int series_report_table(struct series_report *s, const struct series_kind *kind,
			const struct tool_table *t)
{
	int err = 0;

	if (!tool_table_rows_of(t, kind->rows))
		return 0;
	s->set = series_new(0, 1);
	if (!s->set)
		return -ENOMEM;
	for (size_t i = 0; i < t->nr && !err; i++) {
		const struct tool_row *r = &t->row[i];

		if (r->of == kind->rows && r->count != TOOL_TABLE_UNKNOWN && !r->uncounted)
			err = table_row_add(s->set, r);
	}
	s->set->span_ns = t->span_ns;
	s->set->total = table_total(t, kind->rows);
	return err;
}

/* Keeps the series that the other set has too. Returns how many it dropped. */
static unsigned int common_keep(struct series_set *s, const struct series_set *other)
{
	unsigned int nr = s->nr;

	s->nr = 0;
	for (unsigned int i = 0; i < nr; i++) {
		struct series *one = s->list[i];

		if (array_any(other->nr, k, !strcmp(other->list[k]->key, one->key)))
			s->list[s->nr++] = one;
		else
			series_free_one(one);
	}
	return nr - s->nr;
}

unsigned int series_keep_common(struct series_set *a, struct series_set *b)
{
	unsigned int dropped = common_keep(a, b);

	return dropped + common_keep(b, a);
}

unsigned int series_drop_unknown(struct series_set *s, const struct series_set *incomplete)
{
	uint64_t all = 0;

	for (unsigned int i = 0; i < s->nr; i++)
		all += s->list[i]->nr;
	s->total = s->total > all ? s->total : all;
	return common_keep(s, incomplete);
}
