// SPDX-License-Identifier: GPL-2.0-or-later
/* What VMMs allocated and did not free, by call stack (analyzers/heap). Counts are since the recording began. */
#include <errno.h>

#include "analyzers/heap/heap.h"
#include "base/error.h"
#include "output/heap_report.h"
#include "reports/folded.h"
#include "reports/reports.h"

static const struct report_needs heap_needs = {.events = "alloc_site", .record_for = "heap"};

struct heap_state {
	struct heap_analyzer *heap;
	uint64_t until_ns;
	struct heap_row *row;
	size_t nr;
	struct heap_mismatch_row *mismatch;
	size_t nr_mismatches;
};

/* What grows has more at the end than at --since, or in the middle. */
static uint64_t base_of(const struct input_set *in)
{
	uint64_t start = input_set_host_start_ns(in), end = input_set_host_end_ns(in);

	return in->since_ns > in->reader->info.start_ns ? in->since_ns : start + (end - start) / 2;
}

static int heap_open(struct result *r)
{
	struct heap_state *s = r->state;

	s->heap = heap_new(base_of(r->in));
	s->until_ns = r->in->until_ns;
	return s->heap ? 0 : fail(-ENOMEM, "out of memory");
}

static int heap_feed(void *state, const struct event *ev)
{
	const struct heap_state *s = state;

	return ev->time_ns < s->until_ns ? heap_event(s->heap, ev) : 0;
}

static int heap_end(struct result *r)
{
	const struct heap_query *q = r->query->of;
	struct heap_state *s = r->state;

	if (q && q->mismatches)
		return heap_mismatch_rows(s->heap, &s->mismatch, &s->nr_mismatches);
	return heap_rows(s->heap, !q || !q->by_function, &s->row, &s->nr);
}

static int heap_fold(void *state, FILE *out)
{
	const struct heap_state *s = state;

	heap_report_fold(s->row, s->nr, out);
	return 0;
}

static int heap_table_write(const struct result *result, struct report *report)
{
	const struct heap_query *q = result->query->of;
	const struct heap_state *s = result->state;
	struct heap_report r = {.vms = result_vms(result), .whole = report->wide};
	bool mismatches = q && q->mismatches;
	struct table t = {0};
	int err = mismatches ? heap_report_mismatches(&r, s->mismatch, s->nr_mismatches, &t)
			     : heap_report_rows(&r, !q || !q->by_function, s->row, s->nr, &t);

	if (mismatches && !s->nr_mismatches && report->answers)
		report->first_line = "nothing was freed with a function of another family";
	return report_table_made(report, err, &t);
}

static int heap_write(struct result *result, const struct output *out)
{
	const struct heap_state *s = result->state;
	struct report report = result_report(result, out);
	const struct folded stacks = {.fold = heap_fold,
				      .arg = (void *)s,
				      .title = "Memory that was not freed",
				      .bytes = true};
	struct heap_notes notes;
	char line[160];
	int err;

	heap_notes(s->heap, &notes);
	report.caveats = heap_report_caveats(&notes);
	report.extra = heap_report_totals(&notes);
	report.answers = notes.totals;
	if (notes.totals)
		report.extra_text = heap_report_line(&notes, line, sizeof(line));
	if (!report_is_json(&report) && strcmp(out->format, "text") && strcmp(out->format, "csv"))
		err = folded_write(&stacks, result->in, NULL, out, &(uint64_t){0});
	else
		err = heap_table_write(result, &report);
	json_decref(report.caveats);
	json_decref(report.extra);
	return err;
}

static void heap_close(struct result *r)
{
	struct heap_state *s = r->state;

	heap_free(s->heap);
	free(s->row);
	free(s->mismatch);
}

const struct report_ops heap_report = {
	.where_rows = true,
	.reads = READ_BEFORE,
	.state_bytes = sizeof(struct heap_state),
	.wants = heap_wants,
	.needs = &heap_needs,
	.open = heap_open,
	.event = heap_feed,
	.end = heap_end,
	.write = heap_write,
	.close = heap_close,
};
