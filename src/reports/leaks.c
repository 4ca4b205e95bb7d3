// SPDX-License-Identifier: GPL-2.0-or-later
/* Virtqueue elements that were popped and never returned (pairing/elements.h). */
#include <errno.h>

#include "base/error.h"
#include "output/element_report.h"
#include "pairing/elements.h"
#include "reports/reports.h"

static const struct report_needs leaks_needs = {.events = "virtqueue_pop,virtqueue_fill",
						.record_for = "leaks",
						.others = "vhost_start"};

struct leaks {
	struct elements *elements;
	uint64_t until_ns;
	struct element *list; /* those still in flight */
	size_t nr;
	struct element_totals totals;
};

static int leaks_open(struct result *r)
{
	struct leaks *l = r->state;

	l->elements = elements_new();
	if (!l->elements)
		return fail(-ENOMEM, "out of memory");
	l->until_ns = r->in->until_ns;
	elements_window(l->elements, r->in->since_ns);
	return 0;
}

static int leaks_feed(void *state, const struct event *ev)
{
	const struct leaks *l = state;

	if (ev->time_ns < l->until_ns)
		elements_event(l->elements, ev);
	return 0;
}

static int leaks_end(struct result *r)
{
	const struct leaks_query *q = r->query->of;
	struct leaks *l = r->state;
	uint64_t min_age_ns = q ? q->min_age_ns : LEAKS_MIN_AGE_NS;
	int err;

	if (trace_info_in_ticks(&r->in->reader->info)) /* an age is not known */
		min_age_ns = 0;
	err = elements_end(l->elements, input_set_host_end_ns(r->in), min_age_ns, &l->list,
			   &l->nr, &l->totals);
	r->found = l->totals.leaked;
	return err;
}

static int leaks_write(struct result *result, const struct output *out)
{
	const struct leaks *l = result->state;
	const struct trace_info *info = &result->in->reader->info;
	struct report report = result_report(result, out);
	struct table t = {0};
	char text[256];
	int err;

	element_totals_print(&l->totals, text, sizeof(text));
	report.caveats = element_caveats(info, l->elements, &l->totals);
	if (trace_info_in_ticks(info))
		json_array_append_new(report.caveats,
				      json_string("the ages of elements are unknown: those that "
						  "were not returned count as leaked"));
	report.extra = element_totals_json(&l->totals);
	report.extra_text = text;
	report.answers = l->nr || l->totals.popped || l->totals.before;
	if (!l->nr && report.answers)
		report.first_line = "no elements in flight, held or leaked";
	element_table(l->list, l->nr, info->start_ns, result_vms(result), &t);
	err = report_table(&report, &t, NULL);
	json_decref(report.caveats);
	json_decref(report.extra);
	return err;
}

static void leaks_close(struct result *r)
{
	struct leaks *l = r->state;

	elements_free(l->elements);
	free(l->list);
}

const struct report_ops leaks_report = {
	.where_rows = true,
	.reads = READ_BEFORE,
	.state_bytes = sizeof(struct leaks),
	.wants = elements_wants,
	.needs = &leaks_needs,
	.open = leaks_open,
	.event = leaks_feed,
	.end = leaks_end,
	.write = leaks_write,
	.close = leaks_close,
};
