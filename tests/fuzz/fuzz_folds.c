// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What a trace's contents can do to the analyses: every analyzer into every view, drawn in every
 * format, and the leak check. Input is a text trace, since bytes of a .hrt file rarely get this far
 * (fuzz_hrt.c takes those).
 */
#include <string.h>

#include "commands/common/output.h"
#include "pairing/analyzer.h"
#include "pairing/elements.h"
#include "tracefile/tracefile.h"
#include "views/view.h"
#include "walk.h"

enum { VIEWS_MAX = 16, ANALYZERS_MAX = 32 };

struct run {
	struct folding folding[VIEWS_MAX];
	struct pairing *pairing;
	unsigned int nr_views;
};

static int take(void *arg, const struct span *s)
{
	struct run *run = arg;

	if (s->end_ns < s->start_ns)
		abort();
	for (unsigned int i = 0; i < run->nr_views; i++)
		if (views[i]->span(&run->folding[i], s))
			return -1;
	return 0;
}

static int run_open(struct run *run, const struct analyzer *a, uint64_t start_ns)
{
	*run = (struct run){0};
	if (pairing_open(a, "vcpu", take, run, &run->pairing))
		abort();
	for (unsigned int i = 0; views[i] && i < VIEWS_MAX; i++, run->nr_views++) {
		run->folding[i] = (struct folding){
			.analyzer = a, .pairing = run->pairing, .by = "vcpu", .start_ns = start_ns};
		if (views[i]->open(&run->folding[i]))
			return -1;
	}
	return 0;
}

static json_t *head(const struct report *r)
{
	return json_pack("{s:O?}", "caveats", r->caveats);
}

static void foot(const struct report *r)
{
	fprintf(r->out->file, "#\n");
}

static void run_draw(struct run *run, const struct reader *r, FILE *file)
{
	static const char *const names[] = {"text", "json", "csv", "svg", "html"};

	if (pairing_end(run->pairing))
		return;
	for (unsigned int i = 0; i < run->nr_views; i++)
		for (size_t k = 0; k < sizeof(names) / sizeof(*names); k++) {
			struct output out = {
				.file = file, .format = names[k], .width = 80, .color = i & 1};
			struct report report = {.reader = r,
						.out = &out,
						.head = head,
						.foot = foot,
						.caveats = json_array()};

			if (strstr(views[i]->formats, names[k]))
				views[i]->draw(&run->folding[i], &report);
			json_decref(report.caveats);
		}
}

static void run_close(struct run *run)
{
	for (unsigned int i = 0; i < run->nr_views; i++)
		views[i]->close(&run->folding[i]);
	pairing_close(run->pairing);
}

static void elements_check(struct elements *e, uint64_t end_ns)
{
	struct element_totals totals;
	struct element *out;
	size_t nr;

	if (elements_end(e, end_ns, 1000, &out, &nr, &totals))
		return;
	if (nr != totals.held + totals.leaked + totals.in_flight + totals.other)
		abort();
	for (size_t i = 0; i < nr; i++)
		if (!element_verdict_name(out[i].verdict) || out[i].popped_ns > end_ns)
			abort();
	free(out);
}

/* One of every WALK_WAYS analyzers. */
static void fold_some(struct reader *r, unsigned int way, FILE *file)
{
	static struct run run[ANALYZERS_MAX];
	static struct batch batch;
	struct elements *e = elements_new();
	unsigned int nr = 0;
	uint64_t end_ns = 0;

	for (unsigned int i = 0; analyzers[i] && i < ANALYZERS_MAX; i++)
		if (i % WALK_WAYS == way && run_open(&run[nr++], analyzers[i], r->info.start_ns))
			abort();
	while (reader_next(r, &batch) > 0)
		for (unsigned int i = 0; i < batch.nr; i++) {
			for (unsigned int k = 0; k < nr; k++)
				pairing_event(run[k].pairing, &batch.ev[i]);
			elements_event(e, &batch.ev[i]);
			end_ns = batch.ev[i].time_ns > end_ns ? batch.ev[i].time_ns : end_ns;
		}
	for (unsigned int k = 0; k < nr; k++) {
		run_draw(&run[k], r, file);
		run_close(&run[k]);
	}
	elements_check(e, end_ns);
	elements_free(e);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *path = walk_path(data, size);
	struct reader *r;

	for (unsigned int way = 0; way < WALK_WAYS; way++)
		if (walk_way(data, size, way) && !textfile_reader.open(path, NULL, &r)) {
			fold_some(r, way, walk_sink());
			reader_close(r);
		}
	event_types_forget();
	return 0;
}
