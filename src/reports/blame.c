// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What the time of each exit went into (analyzers/blame): causes, groups of exits, or the longest exits with their
 * parts. With around_ns the inputs are read once more, for the events around those exits.
 */
#include <errno.h>
#include <fnmatch.h>
#include <inttypes.h>

#include "base/array.h"
#include "base/error.h"
#include "event/exit_reason.h"
#include "output/blame_report.h"
#include "output/event_rows.h"
#include "reports/blame.h"
#include "reports/blame_where.h"
#include "reports/empty.h"
#include "reports/folded.h"
#include "reports/head.h"
#include "reports/reports.h"
#include "reports/select.h"

/*
 * `hostrace blame --around T`: the events of host and guest around single exits, from a second reading of the inputs.
 */

enum { AROUND_EXITS_MAX = 100, AROUND_EVENTS_MAX = 1000 /* of one exit */ };

/* The events around the kept exits of a summary, as text or JSON; each is NULL or to be freed. */
struct around {
	char *text[AROUND_EXITS_MAX];	  /* lines; or JSON objects, separated by ',' */
	uint64_t left_out[AROUND_EXITS_MAX]; /* events beyond AROUND_EVENTS_MAX */
};

struct reading {
	const struct blame_summary *s;
	uint64_t around_ns, start_ns;
	bool json;
	struct addresses *symbols;
	struct input_set *in;
	struct thread_names *names;
	FILE *file[AROUND_EXITS_MAX];
	uint64_t nr[AROUND_EXITS_MAX];
	struct around *ret;
};

static bool concerns(const struct reading *r, const struct blame_exit *x, const struct event *ev)
{
	uint64_t from = x->start_ns > r->around_ns ? x->start_ns - r->around_ns : 0;

	return ev->time_ns >= from && ev->time_ns <= x->end_ns + r->around_ns &&
	       (ev->pid == x->pid || input_set_is_guest(r->in, ev->source));
}

static void event_write(struct reading *r, unsigned int i, const struct event *ev)
{
	struct event_row row = {
		.ev = ev,
		.source = input_set_name(r->in, ev->source),
		.comm = thread_comm(r->names, ev),
		.vcpu = thread_vcpu(r->names, ev),
		.symbols = r->symbols,
	};

	if (r->nr[i]++ >= AROUND_EVENTS_MAX) {
		r->ret->left_out[i]++;
		return;
	}
	if (r->json && r->nr[i] > 1)
		fputc(',', r->file[i]);
	if (r->json)
		event_row_json(&row, r->file[i]);
	else
		event_row_text(&row, r->start_ns, true, r->file[i]);
}

static int on_event(void *arg, const struct event *ev)
{
	struct reading *r = arg;

	thread_names_event(r->names, ev);
	for (unsigned int i = 0; i < r->s->nr_kept; i++)
		if (concerns(r, &r->s->kept[i], ev) && input_set_selects(r->in, ev))
			event_write(r, i, ev);
	return 0;
}

/* --vcpu, --tid and --reason select exits; --event selects what is shown around them. */
static int open_all(const struct query *q, struct input_set **ret)
{
	struct input_options all = *q->input;
	int err = q->inputs(true, ret);

	all.vcpus.nr = all.tids.nr = all.reasons.nr = 0;
	if (err)
		return err;
	(*ret)->options = &all;
	input_set_want_thread_names(*ret);
	err = input_set_open(*ret, NULL, NULL);
	(*ret)->options = q->input;
	return err;
}

static int files_open(struct reading *r, size_t size[AROUND_EXITS_MAX])
{
	for (unsigned int i = 0; i < r->s->nr_kept; i++) {
		r->file[i] = open_memstream(&r->ret->text[i], &size[i]);
		if (!r->file[i])
			return fail(-ENOMEM, "out of memory");
	}
	return 0;
}

/*
 * Reads the inputs of the report `of` again, with guests' traces, and keeps the events of each exit's VM from
 * around_ns of its query before it until so long after it. 0 or -errno with the error message set.
 */
static int around_read(const struct result *of, const struct blame_summary *s, struct around *ret)
{
	_cleanup_input_set_ struct input_set *in = NULL;
	_cleanup_thread_names_ struct thread_names *names = thread_names_new();
	const struct blame_query *q = of->query->of;
	struct reading r = {.s = s,
			    .around_ns = q->around_ns,
			    .json = q->around_json,
			    .start_ns = input_set_start_ns(of->in),
			    .symbols = of->query->symbols,
			    .names = names,
			    .ret = ret};
	size_t size[AROUND_EXITS_MAX];
	int err = 0;

	if (s->nr_kept > AROUND_EXITS_MAX)
		return fail(-E2BIG, "--around: %zu exits, more than %d; select fewer with --limit",
			    s->nr_kept, AROUND_EXITS_MAX);
	err = names ? files_open(&r, size) : fail(-ENOMEM, "out of memory");
	if (!err)
		err = open_all(of->query, &in);
	r.in = in;
	if (!err)
		err = input_set_thread_names(in, names);
	if (!err)
		err = reader_each(in->reader, on_event, &r);
	for (unsigned int i = 0; i < s->nr_kept; i++)
		if (r.file[i] && fclose(r.file[i]) && !err)
			err = fail(-ENOMEM, "out of memory");
	return err;
}

static void around_free(struct around *a)
{
	for (unsigned int i = 0; i < AROUND_EXITS_MAX; i++)
		free(a->text[i]);
}

static const struct report_needs blame_needs = {.events = "kvm_exit,kvm_userspace_exit",
						.ends = "kvm_entry,kvm_run",
						.record_for = "blame"};

/* ---- what is selected ---- */

static bool reason_selected(const struct text_list *globs, const struct blame_exit *x)
{
	char name[64];
	const char *others;

	if (!globs->nr)
		return true;
	blame_reason_print(x->reason, x->isa, name, sizeof(name));
	others = exit_reason_synonyms(name);
	return array_any(
		globs->nr, i,
		trim_glob_matches(globs->item[i], name, FNM_CASEFOLD) ||
			(others && trim_glob_matches(others, globs->item[i], FNM_CASEFOLD)));
}

bool blame_exit_selected(void *arg, const struct blame_exit *x)
{
	const struct input_options *given = arg;

	return number_selected(&given->vcpus, x->vcpu) && number_selected(&given->tids, x->tid) &&
	       reason_selected(&given->reasons, x);
}

/* ---- the pass ---- */

struct blame_state {
	struct blame *blame;
	struct blame_summary summary;
	struct around around;
	struct blame_where where;
};

static int blame_init(struct result *r)
{
	struct blame_state *b = r->state;

	return r->query->input->where ? blame_where_init(&b->where, r->query->input->where) : 0;
}

struct blame *blame_begin(const struct result *r, const struct blame_sink *sink)
{
	struct blame *b = blame_new(sink);

	if (!b) {
		fail(-ENOMEM, "out of memory");
		return NULL;
	}
	blame_window(b, r->in->since_ns, r->in->until_ns);
	blame_set_regions(b, r->in->regions);
	blame_set_vms(b, r->in->vms);
	if (input_set_foreign(r->in))
		blame_set_foreign(b);
	if (array_any(r->in->nr_hosts, i,
		      trace_info_recorded(&r->in->input[i].reader->info, "kvm_vcpu_wakeup")))
		blame_set_wakeups(b);
	return b;
}

/* All filters, with --where. */
static bool where_selects(void *arg, const struct blame_exit *x)
{
	const struct result *r = arg;
	const struct blame_state *b = r->state;

	return blame_exit_selected((void *)r->query->input, x) &&
	       blame_where_holds(&b->where, x);
}

static int blame_open(struct result *r)
{
	const struct blame_query *q = r->query->of;
	struct blame_state *b = r->state;
	bool all = blame_all_selected(r->query->input);
	struct blame_sink sink;

	b->summary = (struct blame_summary){.by = q->by,
					    .min_ns = q->min_ns,
					    .keep = q->keep,
					    .selects = all ? NULL : blame_exit_selected,
					    .arg = (void *)r->query->input};
	if (b->where.condition) {
		b->where.vms = r->in->vms;
		b->summary.selects = where_selects;
		b->summary.arg = r;
	}
	sink = blame_summary_sink(&b->summary);
	b->blame = blame_begin(r, &sink);
	return b->blame ? 0 : -ENOMEM;
}

static int blame_feed(void *state, const struct event *ev)
{
	return blame_event(((struct blame_state *)state)->blame, ev);
}

static int blame_finish(struct result *r)
{
	const struct blame_query *q = r->query->of;
	struct blame_state *b = r->state;
	int err = blame_end(b->blame);

	if (!err)
		err = blame_summary_end(&b->summary);
	if (!err && q->around_ns)
		err = around_read(r, &b->summary, &b->around);
	return err;
}

static void blame_close(struct result *r)
{
	struct blame_state *b = r->state;

	around_free(&b->around);
	condition_free(b->where.condition);
	blame_free(b->blame);
	blame_summary_free(&b->summary);
}

/* ---- the result ---- */

/* There are exits, and none is long enough, or selected by --where. */
static bool none_selected(const struct blame_report *b)
{
	return (b->summary->min_ns || b->where) && !b->summary->exits && b->counts->exits;
}

enum { NONE_TEXT = 320 };

static const char *none_print(const struct blame_report *b, char *buf, size_t size)
{
	if (b->where)
		return where_none_print(b->where, b->counts->exits, "exit", buf, size);
	snprintf(buf, size, "no exit matches --min-latency (of %" PRIu64 ")",
		 b->counts->exits);
	return buf;
}

static int write_list(struct report *report, const struct blame_report *b)
{
	FILE *f = report->out->file;
	char none[NONE_TEXT];

	if (none_selected(b))
		fprintf(f, "%s\n", none_print(b, none, sizeof(none)));
	else if (!b->summary->nr_kept)
		report_empty(report);
	blame_report_list(b, f);
	report->foot(report);
	return 0;
}

static int write_table(struct report *report, const struct blame_report *b, bool grouped)
{
	struct table t = {0};
	char first[NONE_TEXT];
	int err = grouped ? blame_report_groups(b, &t) : blame_report_totals(b, &t);

	report->answers = none_selected(b);
	if (report->answers)
		report->first_line = none_print(b, first, sizeof(first));
	else if (b->summary->exits)
		report->first_line = blame_report_first_line(b, first, sizeof(first));
	return report_table_made(report, err, &t);
}

static int write_json(struct report *report, const struct blame_report *b)
{
	json_t *more = blame_report_json(b);
	char none[NONE_TEXT];

	if (!more)
		return fail(-ENOMEM, "out of memory");
	if (none_selected(b))
		caveat_add(report->caveats, "%s", none_print(b, none, sizeof(none)));
	else if (!b->summary->exits)
		empty_add(report);
	report_answer(report, more, JSON_INDENT(1) | JSON_REAL_PRECISION(6));
	return 0;
}

static int stacks_fold(void *report, FILE *out)
{
	return blame_report_folded(report, out);
}

static int write_format(struct report *report, const struct blame_report *b,
			const struct blame_query *q)
{
	const char *format = report->out->format;

	if (report_is_json(report))
		return write_json(report, b);
	if (!strcmp(format, "folded"))
		return blame_report_folded(b, report->out->file);
	if (!strcmp(format, "flame") || !strcmp(format, "pprof"))
		return folded_write(&(const struct folded){stacks_fold, (void *)b,
							   "What the time of exits went into",
							   true},
				    report->inputs, NULL, report->out, &(uint64_t){0});
	if (q->list && !strcmp(format, "text"))
		return write_list(report, b);
	if (strcmp(format, "svg"))
		return write_table(report, b, q->grouped);
	blame_report_svg(b, report->out->file);
	return 0;
}

/* Locks of QEMU that could not be found when the recording began. */
static void caveats_of_locks(const struct input_set *in, json_t *caveats)
{
	for (unsigned int i = 0; i < in->nr_hosts; i++) {
		json_t *locks = json_object_get(in->input[i].reader->info.meta, "locks"), *lock;
		size_t k;

		json_array_foreach (locks, k, lock)
			if (!json_object_get(lock, "address"))
				caveat_add(caveats, "%s",
					   json_string_value(json_object_get(lock, "note")));
	}
}

static int report_write(const struct result *r, struct blame_report *b, const struct blame_query *q,
			const struct output *out)
{
	struct report report = result_report(r, out);
	int err;

	b->symbols = r->query->symbols;
	b->across = q->across;
	report.caveats = blame_report_caveats(b);
	caveats_of_locks(r->in, report.caveats);
	b->vms = result_vms(r);
	b->start_ns = input_set_start_ns(r->in);
	err = write_format(&report, b, q);
	json_decref(report.caveats);
	return err;
}

int blame_summary_write(const struct result *r, const struct blame *b,
			const struct blame_summary *s, const struct blame_query *q,
			const struct output *out)
{
	struct blame_report report = {.summary = s, .counts = blame_counts(b), .blame = b};

	return report_write(r, &report, q, out);
}

static int blame_write(struct result *r, const struct output *out)
{
	const struct blame_query *q = r->query->of;
	struct blame_state *b = r->state;
	struct blame_report report = {.summary = &b->summary,
				      .counts = blame_counts(b->blame),
				      .blame = b->blame,
				      .where = b->where.condition};

	if (q->around_ns) {
		report.around = b->around.text;
		report.left_out = b->around.left_out;
	}
	return report_write(r, &report, q, out);
}

const struct report_ops blame_report = {
	.reads = BLAME_READS,
	.state_bytes = sizeof(struct blame_state),
	.wants = blame_wants,
	.needs = &blame_needs,
	.optional = "sched_wakeup,bql_locked,bql_unlock", /* record --exact */
	.init = blame_init,
	.open = blame_open,
	.event = blame_feed,
	.end = blame_finish,
	.write = blame_write,
	.close = blame_close,
};
