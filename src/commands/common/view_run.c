// SPDX-License-Identifier: GPL-2.0-or-later
/* What every report of a view does: open the inputs, pair them into the view, write the report. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "commands/common/command.h"
#include "commands/common/input.h"
#include "commands/common/output.h"
#include "commands/common/reports.h"
#include "commands/common/symbol_options.h"
#include "commands/common/view_run.h"
#include "event/vm_names.h"
#include "pairing/run.h"
#include "symbols/symbols.h"

static uint64_t jobs;
static const char *link_to;

/* clang-format off */
const struct option_row link_options[] = {
	{0, "link", OPT_TEXT, &link_to, "FILE", "each column of the picture is a link to its time window in this page of 'hostrace report'"},
	{0},
};
/* clang-format on */

const struct option_row view_options[] = {
	{'j', "jobs", OPT_U64, &jobs, "N", "use N threads (default: one per CPU)"},
	{0},
};

struct run {
	const struct view *view;
	const char *by;
	char by_vm[2][512]; /* the keys of each analyzer with "vm" added, if they are */
	struct pair_analyzer own;
	const struct analyzer *analyzer[PAIRING_JOBS_MAX]; /* the first one, and its fallbacks */
	unsigned int nr;
	struct folding folding[PAIRING_JOBS_MAX];
	struct pairing_job job[PAIRING_JOBS_MAX];
	struct addresses *symbols; /* --symbols; NULL: none */
};

static int run_init(struct run *run, const struct view *view, const char *analyzer, const char *by)
{
	*run = (struct run){.view = view, .by = by};
	run->analyzer[0] = analyzer_find(analyzer, &run->own);
	if (!run->analyzer[0])
		return -EINVAL;
	for (const struct analyzer *a = run->analyzer[0]; a;
	     a = analyzer_fallback(run->analyzer[0], run->nr - 1))
		run->analyzer[run->nr++] = a;
	return 0;
}

static void run_deinit(struct run *run)
{
	for (unsigned int i = 0; i < run->nr; i++) {
		if (run->job[i].state)
			run->job[i].fold.close(run->job[i].state);
		pairing_close(run->job[i].pairing);
	}
}

static bool wants(const char *event, void *arg)
{
	const struct run *run = arg;

	for (unsigned int i = 0; i < run->nr; i++)
		if (pairing_wants(run->analyzer[i], run->by, event))
			return true;
	return false;
}

static bool needs_before(const struct run *run)
{
	for (unsigned int i = 0; i < run->nr; i++)
		if (pairing_needs_before(run->analyzer[i], run->by))
			return true;
	return false;
}

static bool wants_guests(const struct run *run)
{
	for (unsigned int i = 0; i < run->nr; i++)
		if (analyzer_wants_guests(run->analyzer[i]))
			return true;
	return false;
}

/* The format takes the number, and nothing else. */
static void caveat(json_t *list, const char *fmt, uint64_t n)
{
	if (n)
		json_array_append_new(list, json_sprintf(fmt, n));
}

static void caveat_nested(json_t *list, const struct pair_counts *c)
{
	if (c->nested && c->injects)
		json_array_append_new(
			list, json_sprintf("of these exits %" PRIu64
					   " are of nested guests (L2), %" PRIu64
					   " of them handled by the guest (L1), the others by KVM "
					   "(L0); --by level,handler separates them",
					   c->nested, c->reflected));
	else
		caveat(list,
		       "of these exits %" PRIu64 " are of nested guests (L2); who handled them is "
		       "unknown without kvm_nested_vmexit_inject; --by level separates them",
		       c->nested);
}

static json_t *caveats_of(const struct analyzer *a, const struct pair_counts *c,
			  const struct input_set *in, bool clips)
{
	bool window = in->until_ns != UINT64_MAX;
	json_t *list = json_array();

	if (a->caveat && c->spans) /* what a figure includes, if there is one */
		json_array_append_new(list, json_string(a->caveat));
	caveat(list, "spans unknown because events were lost: %" PRIu64, c->unknown);
	caveat(list, "spans not counted because events in them may be missing: %" PRIu64, c->gaps);
	if (a->end) {
		caveat(list, "begin events without an end: %" PRIu64, c->unmatched_begin);
		if (!a->ends_repeat)
			caveat(list, "end events without a begin: %" PRIu64, c->unmatched_end);
		caveat(list,
		       "spans ended by a reset, detach or unpop, not counted: %" PRIu64,
		       c->dropped);
		caveat(list,
		       window ? "spans still open at the end of the time window: %" PRIu64
			      : "spans still open at the end of the trace: %" PRIu64,
		       c->open);
		if (!clips)
			caveat(list,
			       "spans that began before the time window, counted whole: %" PRIu64,
			       c->before);
	}
	caveat_nested(list, c);
	caveat(list, "spans dropped because too many were open at once: %" PRIu64, c->overflow);
	caveat(list, "exits of REP instructions, which may be several accesses each: %" PRIu64,
	       c->repeated);
	if (a->access == EXIT_ACCESS_PORT)
		caveat(list,
		       "exits without a port: %" PRIu64
		       "; their qualification was not recorded (or is that of a byte written to "
		       "port 0)",
		       c->unqualified);
	return list;
}

static bool groups_by(const struct pairing *p, const char *key)
{
	unsigned int nr;
	const struct label *label = pairing_labels(p, &nr);

	for (unsigned int i = 0; i < nr; i++)
		if (!strcmp(label[i].name, key))
			return true;
	return false;
}

/* Rows of a trace of several VMs that are of all VMs. */
static void caveat_several_vms(json_t *list, const struct pairing *p, const struct input_set *in)
{
	unsigned int nr = input_set_nr_vms(in);

	if (nr > 1 && !groups_by(p, "vm") && !groups_by(p, "pid") &&
	    !groups_by(p, "tid"))
		caveat(list,
		       "figures are summed over %" PRIu64
		       " VMs; separate them with --by vm, or select one with --vm",
		       nr);
}

/* Room for the lists of events of all analyzers of a run. */
struct needs {
	struct report_needs report;
	char events[256], ends[256], record[320];
};

static void names_add(char *list, size_t size, const char *names)
{
	size_t len = strlen(list);

	if (names)
		snprintf(list + len, size - len, "%s%s", len ? "," : "", names);
}

/* How to record them: pairs by their events, where these are not a guest's. */
static void needs_record(struct needs *n, const struct analyzer *a)
{
	const struct event_type *begin = event_type_named(a->begin),
				*end = a->end ? event_type_named(a->end) : NULL;

	if (strncmp(a->name, "pair:", 5))
		snprintf(n->record, sizeof(n->record), "hostrace record --for %s", a->name);
	else if (begin && begin->id && end && end->id)
		snprintf(n->record, sizeof(n->record), "hostrace record --events %s,%s", a->begin,
			 a->end);
}

static void needs_make(const struct run *run, unsigned int used, struct needs *n)
{
	const struct analyzer *a = run->analyzer[used];

	*n = (struct needs){.record = ""};
	needs_record(n, run->analyzer[0]);
	for (unsigned int i = 0; i < run->nr; i++) {
		n->report.exits |= run->analyzer[i]->access != EXIT_ACCESS_NONE;
		if (!run->analyzer[i]->access || !i)
			names_add(n->events, sizeof(n->events), run->analyzer[i]->begin);
	}
	names_add(n->ends, sizeof(n->ends), a->end);
	n->report.events = n->events;
	n->report.ends = *n->ends ? n->ends : NULL;
	n->report.record = *n->record ? n->record : NULL;
}

/* Which events are used in place of those that the analyzer begins with. NULL: nothing to say. */
static char *fallback_note(const struct run *run, unsigned int used, char *buf, size_t size)
{
	const struct analyzer *a = run->analyzer[0];
	bool filtered = input_options_have_filter(&input_given) ||
			input_options_have_window(&input_given);

	if (!used || !a->fallback[used - 1].instead)
		return NULL;
	snprintf(buf, size, "no %s %s: %s", a->begin,
		 filtered ? "passes the filters" : "in this trace", a->fallback[used - 1].instead);
	return buf;
}

static int draw(struct run *run, unsigned int used, const struct input_set *in, struct output *out)
{
	struct pairing_job *job = &run->job[used];
	char text[160], *why = fallback_note(run, used, text, sizeof(text));
	struct report report = report_of(in, out);
	struct needs needs;
	int err = pairing_end(job->pairing);

	if (!err && run->view->clips)
		err = pairing_open_spans(job->pairing, input_set_end_ns(in));
	if (err)
		return err;
	needs_make(run, used, &needs);
	report.needs = &needs.report;
	report.caveats = caveats_of(run->analyzer[used], pairing_counts(job->pairing), in,
				    run->view->clips);
	caveat_several_vms(report.caveats, job->pairing, in);
	if (!strcmp(out->format, "text"))
		report.first_line = why;
	else if (why)
		json_array_insert_new(report.caveats, 0, json_string(why));
	err = run->view->draw(job->state, &report);
	json_decref(report.caveats);
	return err;
}

/* The keys of an analyzer: rows never add up vCPUs of different VMs. A trace may not say how many VMs it has. */
static const char *keys_of(struct run *run, unsigned int i, unsigned int nr_vms)
{
	if (nr_vms == 1)
		return run->by;
	return pairing_by_vm(run->analyzer[i], run->by, run->view->by_vm && nr_vms,
			     run->by_vm[i], sizeof(run->by_vm[i]));
}

static int run_all(struct run *run, const struct input_set *in, unsigned int *ret_used)
{
	struct reader *r = in->reader;
	unsigned int nr_vms = input_set_nr_vms(in);
	struct pairing_options opt = {.jobs = (unsigned int)(jobs < 1024 ? jobs : 1024)};
	int err = 0;

	for (unsigned int i = 0; i < run->nr && !err; i++) {
		struct folding *f = &run->folding[i];
		const char *by = keys_of(run, i, nr_vms);

		err = pairing_open(run->analyzer[i], by, NULL, NULL, &run->job[i].pairing);
		if (err)
			break;
		pairing_set_vms(run->job[i].pairing, in->vms);
		*f = (struct folding){.view = run->view,
				      .analyzer = run->analyzer[i],
				      .pairing = run->job[i].pairing,
				      .by = by,
				      .link = link_to,
				      .drop_vm = by != run->by && nr_vms < 2,
				      .start_ns = r->info.start_ns,
				      .since_ns = input_set_start_ns(in),
				      .until_ns = in->until_ns,
				      .symbols = run->symbols,
				      .regions = nr_vms < 2 ? in->regions : NULL};
		if (!err)
			pairing_window(run->job[i].pairing, in->since_ns, in->until_ns);
		run->job[i].fold = folding_fold(f);
	}
	return err ? err : pairing_run(r, run->job, run->nr, &opt, ret_used);
}

int view_run(const struct view *view, const char *analyzer, const char *by)
{
	_cleanup_input_set_ struct input_set *in = NULL;
	unsigned int used = 0;
	struct output out;
	struct run run;

	if (run_init(&run, view, analyzer, by) || output_open(view->formats, &out))
		return command_failed();
	int err = addresses_given(&run.symbols);

	input_given.allow_ticks = !strcmp(out.format, "text") || !strcmp(out.format, "json") ||
				  !strcmp(out.format, "csv");

	if (!err)
		err = input_open_window(wants_guests(&run), needs_before(&run), wants, &run, &in);
	if (!err)
		err = run_all(&run, in, &used);
	bool wrong = !err && analyzer_resolve(run.analyzer[0]);
	if (!err && !wrong)
		err = draw(&run, used, in, &out);
	run_deinit(&run);
	addresses_close(run.symbols);
	if (wrong) {
		output_cancel(&out);
		return command_usage("%s", error_text());
	}
	return report_end(err, &out, in, false);
}
