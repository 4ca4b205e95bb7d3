// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Who reads the inputs for reports. A pass is one reading of one selection of events: the reports that select the
 * same share it, and most do if no filter and no time window is given. Of the events of a pass each report receives
 * those that it would have received alone: those that it wants, and all that report losses.
 *
 *	open the set for what all want -> each opens its state -> some are done from columns -> events -> each ends
 *
 * A report that has to read twice takes part in two passes.
 */
#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "pairing/analyzer.h"
#include "readers/text/tool_table.h"
#include "reports/head.h"
#include "reports/result.h"

struct pass {
	unsigned int reads; /* the selection */
	struct input_set *in;
	struct result *member[RESULTS_MAX];
	unsigned int nr;
	uint32_t fed; /* a bit for each member that has not failed */
	bool alone; /* there are no others, in no pass */
	uint64_t *counts; /* by event type; NULL: they are not known before reading */
	uint64_t lost; /* known before anything is read: each who reads counts them anew */
	uint32_t *receivers; /* by event type: a bit for each member, and DECIDED */
};

enum { ROUNDS_MAX = 8 };

#define DECIDED (UINT32_C(1) << 31)

/* ---- one result ---- */

struct report result_report(const struct result *r, const struct output *out)
{
	struct report report = report_of_inputs(r->in, r->query->command, out);

	report.needs = r->ops->needs;
	report.where = r->ops->where_rows ? r->query->input->where : NULL;
	return report;
}

const struct vm_names *result_vms(const struct result *r)
{
	return input_set_nr_vms(r->in) > 1 ? r->in->vms : NULL;
}

int result_error(const struct result *r)
{
	if (!r->err || (r->error && !strcmp(r->error, error_text()))) /* it is still set, with its kind */
		return r->err;
	return fail(r->err, "%s", r->error ?: "out of memory");
}

int result_write(struct result *r, const struct output *out)
{
	return r->ops->write(r, out);
}

int result_tree(struct result *r, uint64_t limit, const char *sort, json_t **ret)
{
	struct output out = {.format = "tree", .limit = limit, .sort = sort, .tree = ret};

	*ret = NULL;
	return result_write(r, &out);
}

int result_init(struct result *r, const struct report_ops *ops, const struct query *query)
{
	*r = (struct result){.ops = ops, .query = query, .reads = ops->reads};
	if (ops->state_bytes && !(r->state = calloc(1, ops->state_bytes)))
		return fail(-ENOMEM, "out of memory");
	return ops->init ? ops->init(r) : 0;
}

void result_close(struct result *r)
{
	if (r->ops && r->ops->close && (r->state || !r->ops->state_bytes))
		r->ops->close(r);
	if (r->ops && r->ops->state_bytes)
		free(r->state);
	if (r->tool)
		tool_table_free(r->tool);
	free(r->tool);
	free(r->error);
	*r = (struct result){0};
}

static bool wants_event(struct result *r, const char *event)
{
	return !r->ops->wants || r->ops->wants(event, r);
}

/* ---- a pass ---- */

static bool pass_wants(const char *event, void *arg)
{
	const struct pass *p = arg;

	return array_any(p->nr, i, wants_event(p->member[i], event));
}

/* Filters that select rows are not applied to events. */
static struct input_options options_of(const struct input_options *given, unsigned int reads)
{
	struct input_options o = *given;

	if (reads & READ_ALL_VCPUS)
		o.vcpus.nr = 0;
	if (reads & READ_ALL_THREADS)
		o.tids.nr = 0;
	if (reads & READ_ALL_EVENTS)
		o.reasons.nr = o.globs.nr = 0;
	return o;
}

static int set_open(struct input_set *in, unsigned int reads,
		    bool (*wants)(const char *event, void *arg), void *arg)
{
	if (reads & READ_THREAD_NAMES)
		input_set_want_thread_names(in);
	if (reads & READ_OTHER_THREADS)
		input_set_want_other_threads(in);
	if (reads & READ_STACKS)
		input_set_want_stacks(in);
	if (reads & READ_ALL_TIMES)
		return input_set_open_all_times(in, wants, arg);
	if (reads & (READ_WINDOW | READ_BEFORE))
		return input_set_open_window(in, reads & READ_BEFORE, wants, arg);
	return input_set_open(in, wants, arg);
}

static int pass_open(struct pass *p)
{
	const struct input_options *given = p->in->options;
	struct input_options less = options_of(given, p->reads);
	bool all = false;
	int err;

	for (unsigned int i = 0; i < p->nr; i++) {
		all |= !p->member[i]->ops->wants;
		p->member[i]->in = p->in;
	}
	input_set_where_on(p->in, p->nr == 1 ? p->member[0]->ops->where_on : NULL);
	p->in->options = &less;
	err = set_open(p->in, p->reads, all ? NULL : pass_wants, p);
	p->in->options = given;
	p->lost = err ? 0 : p->in->reader->info.lost;
	return err;
}

static uint32_t receivers_of(struct pass *p, const struct event_type *type)
{
	bool loss = type->id == EV_lost || type->id == EV_gap;
	uint32_t receivers = DECIDED;

	for (unsigned int i = 0; i < p->nr; i++)
		if (loss || wants_event(p->member[i], type->name))
			receivers |= UINT32_C(1) << i;
	return receivers;
}

static void result_failed(struct result *r, int err)
{
	r->err = err;
	free(r->error);
	r->error = strdup(error_text());
}

/* The end of its pass. */
static int result_end(struct result *r)
{
	int err = r->ops->end ? r->ops->end(r) : 0;

	r->pass++;
	r->done = !err;
	return err < 0 ? err : 0;
}

/* How many events were lost is known then, as after reading. */
static int columns_run(const struct pass *p, struct result *r)
{
	struct reader *reader = p->in->reader;
	uint64_t lost = reader->info.lost;
	int done;

	reader->info.lost = p->lost;
	done = r->ops->columns(r, p->alone || !reader->ops->rows);
	if (done <= 0)
		reader->info.lost = lost;
	return done;
}

/* ---- what nobody will ask for ---- */

/* The counts of all inputs, if each knows its own and nothing is wrong with it. */
static uint64_t *counts_of(const struct input_set *in)
{
	uint64_t *counts = calloc(EVENT_TYPES_MAX, sizeof(*counts));

	for (unsigned int i = 0; i < input_set_nr(in); i++) {
		struct reader *r = in->input[i].reader;

		if (counts && r->ops->counts && !json_array_size(r->info.caveats) &&
		    !r->ops->counts(r, counts))
			continue;
		free(counts);
		return NULL;
	}
	return counts;
}

/* Records with other fields than ours have another type of the name. */
static bool has_any(const struct pass *p, const char *names)
{
	return array_any(event_types_count(), i,
			 p->counts[i] && name_in_list(names, event_type_at(i)->name));
}

/* Is the answer used only with events that the inputs do not have? */
static bool is_unused(const struct pass *p, const struct result *r)
{
	const struct query *q = r->query;

	return p->counts && q->events && !has_any(p, q->events) &&
	       (!q->or_without || has_any(p, q->or_without));
}

/*
 * Opens the report, and runs it from columns if it can be. The only cursor of a foreign file is for a report that is
 * alone. 1: it is to be fed with events.
 */
static int result_begin(struct pass *p, struct result *r)
{
	int err, done = 0;

	if (is_unused(p, r)) {
		r->done = r->unused = true;
		return 0;
	}
	err = r->ops->open ? r->ops->open(r) : 0;
	if (err)
		return err < 0 ? err : 0;
	if (r->ops->columns)
		done = columns_run(p, r);
	if (done <= 0)
		return done ? done : 1;
	return result_end(r);
}

static int pass_event(void *arg, const struct event *ev)
{
	struct pass *p = arg;
	uint32_t *receivers = &p->receivers[ev->type->index];

	if (!*receivers)
		*receivers = receivers_of(p, ev->type);
	for (uint32_t left = *receivers & p->fed; left; left &= left - 1) {
		struct result *r = p->member[__builtin_ctz(left)];
		int err = r->ops->event(r->state, ev);

		if (!err)
			continue;
		result_failed(r, err);
		p->fed &= ~(left & -left);
	}
	return 0;
}

/* Without other reports every event is for this one. */
static int only_event(void *arg, const struct event *ev)
{
	struct result *r = arg;

	return r->ops->event(r->state, ev);
}

/* Reads the set, which is open, for its members. */
static int pass_feed(struct pass *p)
{
	int err;

	if (!p->nr)
		return 0;
	p->in->reader->info.lost = p->lost;
	if (p->alone)
		return reader_each(p->in->reader, only_event, p->member[0]);
	p->fed = DECIDED - 1;
	p->receivers = calloc(EVENT_TYPES_MAX, sizeof(*p->receivers));
	if (!p->receivers)
		return fail(-ENOMEM, "out of memory");
	err = reader_each(p->in->reader, pass_event, p);
	free(p->receivers);
	return err;
}

/* ---- one report ---- */

/* The only input is a table of another tool, which is read if the report can show it. */
static int tool_run(struct result *r, const struct input_set *in)
{
	int err = -EMEDIUMTYPE; /* with the message of who found it */

	if (!r->ops->tool)
		return err;
	if (input_set_nr(in) != 1)
		return fail_hint(err,
				 "a table is read alone, without other inputs; two of them are "
				 "compared by: hostrace diff A B");
	r->in = (struct input_set *)in;
	r->tool = calloc(1, sizeof(*r->tool));
	if (!r->tool)
		return fail(-ENOMEM, "out of memory");
	err = tool_table_read(in->input[0].path, input_set_files(in), r->tool);
	return err ? err : r->ops->tool(r);
}

int report_run(struct result *r, struct input_set *in)
{
	int err = 0;

	while (!err && !r->done) {
		struct pass p = {
			.reads = r->reads, .in = in, .member = {r}, .nr = 1, .alone = true};

		err = pass_open(&p);
		if (err == -EMEDIUMTYPE)
			return tool_run(r, in);
		if (!err)
			err = result_begin(&p, r);
		if (err <= 0)
			continue;
		err = pass_feed(&p);
		if (!err)
			err = result_end(r);
	}
	return err;
}

/* ---- several reports ---- */

static bool is_over(const struct result *r)
{
	return r->err || r->done;
}

/* What of a report's selection matters, with these options. */
static unsigned int reads_of(const struct result *r, const struct result_sets *sets)
{
	const struct input_options *o = r->query->input;
	unsigned int reads = r->reads;

	if (!sets->merged->nr_companions)
		reads &= ~(unsigned int)READ_GUESTS;
	if (!input_options_have_window(o))
		reads &= ~(unsigned int)(READ_WINDOW | READ_BEFORE | READ_ALL_TIMES);
	if (!o->vcpus.nr && !o->tids.nr)
		reads &= ~(unsigned int)READ_OTHER_THREADS;
	if (!o->vcpus.nr)
		reads &= ~(unsigned int)READ_ALL_VCPUS;
	if (!o->tids.nr)
		reads &= ~(unsigned int)READ_ALL_THREADS;
	if (!o->reasons.nr && !o->globs.nr)
		reads &= ~(unsigned int)READ_ALL_EVENTS;
	if (!input_options_have_filter(o))
		reads &= ~(unsigned int)(READ_THREAD_NAMES | READ_STACKS);
	return reads;
}

/* A set of its own: reports go on using it when others are read. */
static int set_add(struct pass *p, struct result_sets *sets)
{
	int err = sets->nr < RESULT_SETS_MAX ? 0 : fail(-E2BIG, "too many passes");

	if (!err)
		err = input_set_copy(p->reads & READ_GUESTS ? sets->merged : sets->plain, &p->in);
	if (!err)
		sets->read[sets->nr++] = p->in;
	return err;
}

/* The members that are fed with events move to the front. */
static void members_begin(struct pass *p)
{
	unsigned int nr = p->nr;

	p->nr = 0;
	for (unsigned int i = 0; i < nr; i++) {
		struct result *r = p->member[i];
		int err = result_begin(p, r);

		if (err < 0)
			result_failed(r, err);
		else if (err)
			p->member[p->nr++] = r;
	}
}

static void members_end(struct pass *p, int err)
{
	for (unsigned int i = 0; i < p->nr; i++) {
		struct result *r = p->member[i];
		int failed = r->err ? 0 : err ? err : result_end(r);

		if (failed)
			result_failed(r, failed);
	}
}

static void pass_run(struct pass *p, struct result_sets *sets)
{
	int err = set_add(p, sets);

	if (!err)
		err = pass_open(p);
	if (!err) {
		p->counts = counts_of(p->in);
		members_begin(p);
		free(p->counts);
		err = pass_feed(p);
	}
	members_end(p, err);
}

/* One pass of each selection that a report needs. */
static unsigned int round_run(struct result *const *results, unsigned int nr,
			      struct result_sets *sets)
{
	bool taken[RESULTS_MAX] = {false};
	unsigned int left = 0;

	for (unsigned int i = 0; i < nr; i++) {
		struct pass p = {.reads = reads_of(results[i], sets)};

		if (taken[i] || is_over(results[i]))
			continue;
		for (unsigned int k = i; k < nr; k++) {
			if (taken[k] || is_over(results[k]) ||
			    reads_of(results[k], sets) != p.reads)
				continue;
			taken[k] = true;
			p.member[p.nr++] = results[k];
		}
		pass_run(&p, sets);
	}
	for (unsigned int i = 0; i < nr; i++)
		left += !is_over(results[i]);
	return left;
}

int reports_run(struct result *const *results, unsigned int nr, struct result_sets *sets)
{
	unsigned int left = nr;

	if (nr > RESULTS_MAX)
		return fail(-E2BIG, "more than %d reports", RESULTS_MAX);
	for (unsigned int i = 0; left && i < ROUNDS_MAX; i++)
		left = round_run(results, nr, sets);
	for (unsigned int i = 0; left && i < nr; i++)
		if (!is_over(results[i]))
			result_failed(results[i], fail(-ELOOP, "more than %d passes", ROUNDS_MAX));
	return 0;
}

void result_sets_close(struct result_sets *sets)
{
	for (unsigned int i = 0; i < sets->nr; i++)
		input_set_close(sets->read[i]);
	sets->nr = 0;
}
