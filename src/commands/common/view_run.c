// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The main loop of every report: read, pair, fold, draw. Where an analyzer has a fallback (no
 * kvm_exit on this backend), both are folded until the first event that decides between them.
 * Where the fast path comes to the same, it is tried first.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "commands/common/command.h"
#include "commands/common/sample_run.h"
#include "commands/common/reading.h"
#include "commands/common/reports.h"
#include "commands/common/view_run.h"
#include "pairing/fast_path.h"
#include "symbols/addresses.h"

struct fold {
	const struct view *view;
	struct folding f;
	struct pairing *pairing;
	bool on; /* still in the race */
	bool begun;
};

struct run {
	struct fold fold[2]; /* the analyzer, and its fallback if it has one */
	unsigned int nr;
	const char *by;
};

static uint64_t jobs;
static struct addresses *symbols; /* --symbols; NULL: none */

const struct option_row view_options[] = {
	{'j', "jobs", OPT_U64, &jobs, "N", "use N CPUs (default: all)"},
	{0},
};

static int fold_span(void *arg, const struct span *s)
{
	struct fold *fold = arg;

	return fold->view->span(&fold->f, s);
}

static int fold_open(struct fold *fold, const struct view *view, const struct analyzer *a,
		     const char *by, uint64_t start_ns)
{
	*fold = (struct fold){
		.view = view,
		.on = true,
		.f = {.analyzer = a, .by = by, .start_ns = start_ns, .symbols = symbols}};
	int err = pairing_open(a, by, fold_span, fold, &fold->pairing);

	if (err)
		return err;
	fold->f.pairing = fold->pairing;
	return view->open(&fold->f);
}

static void fold_close(struct fold *fold)
{
	if (!fold->view)
		return;
	fold->view->close(&fold->f);
	pairing_close(fold->pairing);
}

static bool wants(const char *event, void *arg)
{
	const struct run *run = arg;

	for (unsigned int i = 0; i < run->nr; i++)
		if (analyzer_wants(run->fold[i].f.analyzer, event))
			return true;
	if (!strcmp(event, "kvm_exit") && run->by &&
	    name_in_list(run->by + (*run->by == '='), "rip"))
		return true; /* where the guest was when it did port I/O */
	return !strcmp(event, "lost") || !strcmp(event, "virtio_device");
}

/* Does any of the analyzers look at a guest's own events? */
static bool wants_guests(const struct run *run)
{
	for (unsigned int i = 0; i < run->nr; i++) {
		const struct analyzer *a = run->fold[i].f.analyzer;
		const char *const lists[] = {a->begin, a->end, a->mark, a->reset, a->needs};

		for (size_t j = 0; j < sizeof(lists) / sizeof(lists[0]); j++)
			if (lists[j] && strstr(lists[j], "guest:"))
				return true;
	}
	return false;
}

/* Which types are begins: asked once per type, as names are compared. */
static bool is_begin(const struct fold *fold, const struct event *ev)
{
	static int8_t known[2][EVENT_TYPES_MAX];
	int8_t *k = &known[fold->f.analyzer->fallback ? 0 : 1][ev->type->index];

	if (!*k)
		*k = name_in_list(fold->f.analyzer->begin, ev->type->name) ? 1 : -1;
	return *k > 0;
}

static int feed(struct run *run, const struct batch *batch)
{
	for (unsigned int i = 0; i < batch->nr; i++)
		for (unsigned int j = 0; j < run->nr; j++) {
			struct fold *fold = &run->fold[j];
			const struct event *ev = &batch->ev[i];

			if (!fold->on)
				continue;
			if (run->nr > 1 && !fold->begun && is_begin(fold, ev)) {
				fold->begun = true;
				if (!j)
					run->fold[1].on = false;
			}
			int err = pairing_event(fold->pairing, ev);

			if (err)
				return err;
		}
	return 0;
}

static int read_all(struct run *run, struct reader *r)
{
	struct batch *batch = malloc(sizeof(*batch));
	int more, err = 0;

	if (!batch)
		return fail(-ENOMEM, "out of memory");
	while (!err && (more = reader_next(r, batch)) != 0)
		err = more < 0 ? more : feed(run, batch);
	free(batch);
	return err;
}

/* The format takes the number, and nothing else. */
static void caveat(json_t *list, const char *fmt, uint64_t n)
{
	if (n)
		json_array_append_new(list, json_sprintf(fmt, n));
}

static json_t *caveats_of(const struct fold *fold)
{
	const struct pair_counts *c = pairing_counts(fold->pairing);
	json_t *list = json_array();

	if (fold->f.analyzer->caveat)
		json_array_append_new(list, json_string(fold->f.analyzer->caveat));
	caveat(list, "%" PRIu64 " spans unknown because events were lost", c->unknown);
	if (fold->f.analyzer->end) {
		caveat(list, "%" PRIu64 " begins without an end", c->unmatched_begin);
		if (!fold->f.analyzer->keep_first)
			caveat(list, "%" PRIu64 " ends without a begin", c->unmatched_end);
		caveat(list, "%" PRIu64 " still open at the end", c->open);
	}
	caveat(list, "%" PRIu64 " spans found no room in the table of open ones", c->overflow);
	return list;
}

static int draw(struct run *run, struct reader *r, struct output *out)
{
	bool fell_back = run->nr > 1 && !run->fold[0].begun && run->fold[1].begun;
	struct fold *fold = &run->fold[fell_back];
	struct report report = report_of(r, out);
	const char *why = run->fold[0].f.analyzer->fallback_caveat;
	int err = pairing_end(fold->pairing);

	if (err)
		return err;
	report.caveats = caveats_of(fold);
	if (fell_back && !strcmp(out->format, "text"))
		report.first_line = why;
	else if (fell_back)
		json_array_insert_new(report.caveats, 0, json_string(why));
	err = fold->view->draw(&fold->f, &report);
	json_decref(report.caveats);
	return err;
}

static int run_open(struct run *run, const struct view *view, const struct analyzer *a,
		    const char *by, uint64_t start_ns)
{
	int err = fold_open(&run->fold[0], view, a, by, start_ns);

	if (!err && a->fallback)
		err = fold_open(&run->fold[1], view, analyzer_find(a->fallback), by, start_ns);
	return err;
}

/* ---- the fast path ---- */

static void *fast_open(void *arg)
{
	const struct fold *fold = arg;
	struct folding *part = malloc(sizeof(*part));

	if (!part)
		return NULL;
	*part = fold->f;
	part->state = NULL;
	if (!fold->view->open(part))
		return part;
	fold->view->close(part);
	free(part);
	return NULL;
}

static const struct view *fast_view; /* one report at a time */

static int fast_spans(void *state, const struct spans *s)
{
	return fast_view->spans(((struct folding *)state)->state, s);
}

static int fast_merge(void *arg, void *state)
{
	struct fold *fold = arg;

	return fold->view->merge(fold->f.state, ((struct folding *)state)->state);
}

static void fast_close(void *state)
{
	fast_view->close(state);
	free(state);
}

/* Does the file say that it has events that the analyzer begins with? */
static bool has_begins(struct reader *r, const struct analyzer *a)
{
	_cleanup_free_ uint64_t *counts = calloc(EVENT_TYPES_MAX, sizeof(*counts));

	if (!counts || !r->ops->counts || r->ops->counts(r, counts))
		return false;
	for (unsigned int i = 0; i < event_types_count(); i++)
		if (counts[i] && name_in_list(a->begin, event_type_at(i)->name))
			return true;
	return false;
}

/* True: all is folded. HOSTRACE_FAST_PATH=0 forbids it, so that tests can compare. */
static bool run_fast(struct run *run, struct reader *r)
{
	bool second = run->nr > 1 && !has_begins(r, run->fold[0].f.analyzer);
	struct fold *fold = &run->fold[second];
	const char *allowed = getenv("HOSTRACE_FAST_PATH");
	struct span_fold lane = {.arg = fold,
				     .open = fast_open,
				     .spans = fast_spans,
				     .merge = fast_merge,
				     .close = fast_close,
				     .wants_ends = fold->view->wants_ends};

	if (!fold->view->spans || !fold->view->merge || (allowed && !strcmp(allowed, "0")))
		return false;
	fast_view = fold->view;
	fold->begun =
		fast_path_run(r, fold->pairing, (unsigned int)(jobs < 1024 ? jobs : 1024), &lane);
	return fold->begun;
}

static int run_all(struct run *run, const struct view *view, const struct analyzer *a,
		   struct reader *r)
{
	int err = run_open(run, view, a, run->by, r->info.start_ns);

	if (err || run_fast(run, r))
		return err;
	fold_close(&run->fold[0]); /* whatever the fast path left there */
	fold_close(&run->fold[1]);
	err = run_open(run, view, a, run->by, r->info.start_ns);
	return err ? err : read_all(run, r);
}

static int addresses_given(void)
{
	struct symbols_options given = symbols_given();

	return given.map && !given.none ? addresses_open(given.map, &symbols) : 0;
}

int view_run(const struct view *view, const char *analyzer, const char *by)
{
	_cleanup_reader_ struct reader *r = NULL;
	const struct analyzer *a = analyzer_find(analyzer);
	struct run run = {
		.fold = {{.f = {.analyzer = a}}}, .nr = a && a->fallback ? 2 : 1, .by = by};
	struct output out;

	if (!a || output_open(view->formats, &out))
		return command_failed();
	if (run.nr > 1)
		run.fold[1].f.analyzer = analyzer_find(a->fallback);
	if (wants_guests(&run))
		reading_want_guests();
	int err = addresses_given();

	if (!err)
		err = reading_open(wants, &run, &r);
	if (!err)
		err = run_all(&run, view, a, r);
	bool wrong = !err && analyzer_resolve(a);
	if (!err && !wrong)
		err = draw(&run, r, &out);
	fold_close(&run.fold[0]);
	fold_close(&run.fold[1]);
	if (err || wrong)
		output_cancel(&out);
	else
		err = output_close(&out);
	if (wrong)
		return command_usage("%s", error_text());
	if (err)
		return command_failed();
	return reading_strict_failed(r) ? EXIT_FOUND : EXIT_FINE;
}
