/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A recording through every analyzer and view, on the fast path and on the slow path: the reports must be identical. */
#ifndef BOTH_PATHS_H
#define BOTH_PATHS_H

#include "tracefile_util.h"

#include "pairing/run.h"
#include "readers/readers.h"
#include "views/view.h"

static uint32_t seed;

static bool chance(unsigned int of_1000)
{
	return dice(&seed) % 1000 < of_1000;
}

static bool wants(const char *event, void *arg)
{
	return pairing_wants(arg, NULL, event);
}

static json_t *no_head(const struct report *r)
{
	(void)r;
	return json_object();
}

/* What a .hrt file's fast path does not know, as it does not need it. */
static void info_print(FILE *file, const struct trace_info *info)
{
	char *caveats = json_dumps(info->caveats, 0);

	fprintf(file, "%ju events, %ju..%ju, %ju late %s\n", (uintmax_t)info->nr_events,
		(uintmax_t)info->start_ns, (uintmax_t)info->end_ns, (uintmax_t)info->late, caveats);
	free(caveats);
}

static void report_print(FILE *file, const struct reader *r, struct pairing *p, struct folding *f)
{
	struct output out = {.file = file, .format = "json"};
	struct report report = {.reader = r, .out = &out, .head = no_head};
	const struct pair_counts *c = pairing_counts(p);
	int err = pairing_end(p);

	fprintf(file, "%d\n", err);
	if (err)
		return;
	fprintf(file, "%ju %ju %ju %ju %ju %ju %ju %ju %ju %ju\n", (uintmax_t)c->spans,
		(uintmax_t)c->before, (uintmax_t)c->unmatched_begin, (uintmax_t)c->unmatched_end,
		(uintmax_t)c->unknown, (uintmax_t)c->gaps, (uintmax_t)c->overflow,
		(uintmax_t)c->open, (uintmax_t)r->info.lost,
		(uintmax_t)json_array_size(r->info.caveats));
	if (r->ops->rows)
		info_print(file, &r->info);
	report.caveats = json_array();
	fprintf(file, "%d\n", f->view->draw(f, &report)); /* nothing to draw is an error, too */
	json_decref(report.caveats);
}

/* A time window; since_ns 0 and until_ns UINT64_MAX: none. */
struct window {
	uint64_t since_ns, until_ns;
};

/* The report and the counts as text. opt NULL: on the slow path. NULL: the fast path declined. */
static char *report_make(const char *path, const struct view *view, const char *analyzer,
			 const char *by, const struct window *win,
			 const struct pairing_options *opt)
{
	struct pair_analyzer own;
	const struct analyzer *a = analyzer_find(analyzer, &own);
	struct read_hint hint = {.since_ns = win->since_ns,
				 .until_ns = win->until_ns,
				 .from_start = pairing_needs_before(a, by),
				 .wants = wants,
				 .arg = (void *)a};
	struct folding f = {.view = view, .analyzer = a, .by = by};
	struct pairing_job job = {.fold = folding_fold(&f)};
	unsigned int used;
	char *text = NULL;
	size_t len;
	struct reader *r;

	assert_int_equal(reader_open(path, &hint, &r), 0);
	assert_int_equal(pairing_open(a, by, NULL, NULL, &job.pairing), 0);
	pairing_window(job.pairing, win->since_ns, win->until_ns);
	f.pairing = job.pairing;
	f.start_ns = r->info.start_ns;
	f.since_ns = win->since_ns ? win->since_ns : f.start_ns;
	if (opt)
		fast_path_run(r, job.pairing, &job.fold, opt, &job.state);
	else
		assert_int_equal(pairing_run(r, &job, 1,
					     &(struct pairing_options){.no_fast_path = true},
					     &used), 0);
	if (job.state) {
		FILE *file = open_memstream(&text, &len);

		report_print(file, r, job.pairing, job.state);
		fclose(file);
		job.fold.close(job.state);
	}
	pairing_close(job.pairing);
	reader_close(r);
	return text;
}

static const char *const analyzers_tried[] = {"exit-latency",  "run-length", "userspace-exit",
					      "pio",	       "mmio",	     "halt-poll",
					      "pair:kvm_exit,kvm_exit,tid"};
static const char *const keys[] = {NULL, "=pid,vcpu", "tid,cpu", "=reason,isa"};

static int event_skip(void *arg, const struct event *ev)
{
	(void)arg;
	(void)ev;
	return 0;
}

/* Half of the reports have a time window, anywhere in the recording. */
static struct window window_make(const char *path)
{
	struct window win = {0, UINT64_MAX};
	struct reader *r;

	assert_int_equal(reader_open(path, NULL, &r), 0);
	reader_each(r, event_skip, NULL); /* some know their end only then */
	uint64_t span = r->info.end_ns - r->info.start_ns;

	if (dice(&seed) % 4 == 0)
		win.since_ns = r->info.start_ns + dice(&seed) % (span + 1);
	if (dice(&seed) % 4 == 0)
		win.until_ns = r->info.start_ns + 1 + dice(&seed) % (span + 1);
	if (dice(&seed) % 4 == 0) {
		win.since_ns = r->info.start_ns + dice(&seed) % (span + 1);
		win.until_ns = win.since_ns + 1 + dice(&seed) % (span / 10 + 1);
	}
	if (win.since_ns >= win.until_ns)
		win.since_ns = 0;
	reader_close(r);
	return win;
}

/* Exits through all views, the other analyzers through some. Returns how many took the fast path, of how many. */
static unsigned int compare(const char *path, const struct pairing_options *opt,
			    unsigned int *ret_of)
{
	unsigned int fast = 0;

	for (size_t a = 0; a < sizeof(analyzers_tried) / sizeof(*analyzers_tried); a++)
		for (const struct view *const *v = views; *v; v++) {
			const char *by = keys[dice(&seed) % 4];
			const char *name = analyzers_tried[a];

			if (!(*v)->spans || (a && dice(&seed) % 4))
				continue;
			struct window win = window_make(path);
			char *want = report_make(path, *v, name, by, &win, NULL);
			char *got = report_make(path, *v, name, by, &win, opt);

			++*ret_of;
			if (got) {
				fast++;
				assert_string_equal(got, want);
			}
			free(got);
			free(want);
		}
	return fast;
}

/* Defined by each test: writes a random recording of this kind. */
struct flavour;
static void recording_make(const char *path, const struct flavour *f);

/* Recordings of a kind, with other seeds, numbers of threads and sizes of segments. Counts as compare(). */
static unsigned int compare_random(const char *path, const struct flavour *f,
				   unsigned int first_seed, unsigned int rounds,
				   unsigned int *ret_of)
{
	unsigned int fast = 0;

	for (unsigned int round = 0; round < rounds; round++) {
		struct pairing_options opt = {.jobs = 1 + round % 3,
					      .segment_bytes = round ? 1u << (11 + 2 * round) : 0};

		seed = first_seed + round + 1;
		recording_make(path, f);
		fast += compare(path, &opt, ret_of);
	}
	return fast;
}

static void assert_fast(unsigned int fast, unsigned int of, unsigned int least_percent)
{
	print_message("%u of %u on the fast path\n", fast, of);
	assert_true(fast * 100 >= of * least_percent);
}

#endif
