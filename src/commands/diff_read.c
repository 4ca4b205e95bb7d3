// SPDX-License-Identifier: GPL-2.0-or-later
/* What hostrace diff compares: spans of analyzers by key. */
#include <errno.h>

#include "base/array.h"
#include "commands/diff.h"
#include "pairing/run.h"

const struct diff_kind diff_kinds[] = {
	{.by = "reason",
	 .analyzer = "exit-latency",
	 .keys = "=reason",
	 .rate = true,
	 .latency = true,
	 .tables = true},
	{.by = "event", .read = diff_read_counts, .rate = true, .tables = true},
	{.by = "cause", .read = diff_read_causes, .rate = true, .latency = true},
	{.by = "port", .analyzer = "pio", .keys = "=dir,port", .rate = true},
	{.by = "port", .analyzer = "exit-latency", .keys = "=dir,port", .latency = true},
	{.by = "queue",
	 .analyzer = "virtqueue",
	 .keys = "=device,queue",
	 .rate = true,
	 .latency = true},
	{.by = "stage", .read = diff_read_stages, .latency = true},
	{.by = "request", .read = diff_read_requests, .latency = true},
	{.by = "task", .read = diff_read_tasks, .rate = true, .latency = true},
	{0},
};

int diff_series_end(struct series_set *s, const struct input_set *in, series_name_fn *name,
		    void *arg)
{
	s->span_ns = input_set_end_ns(in) - input_set_start_ns(in);
	return series_name(s, name, arg);
}

/* ---- series as what spans are folded into ---- */

struct fold_arg {
	uint64_t start_ns;
	unsigned int nr_labels;
};

static int fold_open(void *arg, void **ret_state)
{
	const struct fold_arg *a = arg;

	*ret_state = series_new(a->start_ns, a->nr_labels);
	return *ret_state ? 0 : -ENOMEM;
}

static void fold_close(void *state)
{
	series_free(state);
}

static int fold_span(void *state, const struct span *s)
{
	return series_add(state, s->label, s->end_ns, s->end_ns - s->start_ns, s->weight);
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

static int fold_merge(void *state, void *other)
{
	return series_merge(state, other);
}

/* ---- an analyzer, and what it falls back to ---- */

struct spans_run {
	const struct diff_kind *kind;
	const struct analyzer *analyzer[PAIRING_JOBS_MAX];
	struct pairing_job job[PAIRING_JOBS_MAX];
	struct fold_arg arg[PAIRING_JOBS_MAX];
	unsigned int nr;
};

static bool wants(const char *event, void *arg)
{
	const struct spans_run *run = arg;

	return array_any(run->nr, i, pairing_wants(run->analyzer[i], run->kind->keys, event));
}

static bool needs_before(const struct spans_run *run)
{
	return array_any(run->nr, i, pairing_needs_before(run->analyzer[i], run->kind->keys));
}

static void run_init(struct spans_run *run, const struct diff_kind *kind)
{
	const struct analyzer *first = analyzer_find(kind->analyzer, NULL);

	*run = (struct spans_run){.kind = kind};
	for (const struct analyzer *a = first; a; a = analyzer_fallback(first, run->nr - 1))
		run->analyzer[run->nr++] = a;
}

static int run_open(struct spans_run *run, const struct input_set *in)
{
	for (unsigned int i = 0; i < run->nr; i++) {
		struct pairing_job *job = &run->job[i];
		int err =
			pairing_open(run->analyzer[i], run->kind->keys, NULL, NULL, &job->pairing);

		if (err)
			return err;
		pairing_set_vms(job->pairing, in->vms);
		pairing_window(job->pairing, in->since_ns, in->until_ns);
		run->arg[i].start_ns = input_set_start_ns(in);
		pairing_labels(job->pairing, &run->arg[i].nr_labels);
		job->fold = (struct span_fold){.arg = &run->arg[i],
					       .open = fold_open,
					       .close = fold_close,
					       .span = fold_span,
					       .spans = fold_spans,
					       .merge = fold_merge,
					       .wants_ends = true};
	}
	return 0;
}

static void run_deinit(struct spans_run *run)
{
	for (unsigned int i = 0; i < run->nr; i++) {
		series_free(run->job[i].state);
		pairing_close(run->job[i].pairing);
	}
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

static int spans_read(struct spans_run *run, struct input_set *in, unsigned int jobs,
		      struct series_set **ret, const char **ret_analyzer)
{
	struct pairing_options opt = {.jobs = jobs};
	unsigned int used;
	int err = input_set_open_window(in, needs_before(run), wants, run);

	if (!err)
		err = run_open(run, in);
	if (!err)
		err = pairing_run(in->reader, run->job, run->nr, &opt, &used);
	if (err || pairing_end(run->job[used].pairing)) /* these exits have no port */
		return err;
	*ret = take_ptr(run->job[used].state);
	*ret_analyzer = run->analyzer[used]->name;
	return diff_series_end(*ret, in, spans_name, run->job[used].pairing);
}

int diff_read(const struct diff_kind *kind, struct input_set *in, unsigned int jobs,
	      struct series_set **ret, const char **ret_analyzer)
{
	struct spans_run run;
	int err;

	*ret = NULL;
	*ret_analyzer = NULL;
	if (kind->read)
		return kind->read(in->options, ret);
	run_init(&run, kind);
	err = spans_read(&run, in, jobs, ret, ret_analyzer);
	run_deinit(&run);
	return err;
}
