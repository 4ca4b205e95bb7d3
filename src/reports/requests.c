// SPDX-License-Identifier: GPL-2.0-or-later
/* A guest's block requests, each with what the host saw of it. */
#include <errno.h>
#include <inttypes.h>

#include "base/error.h"
#include "output/path_report.h"
#include "reports/reports.h"
#include "reports/requests_read.h"

static const struct report_needs requests_needs = {
	.events = "block_rq_issue",
	.record = "trace-cmd record -e block -e irq in the guest, or hostrace record --guest"};

static int requests_open(struct result *r)
{
	return requests_pass_open(r->state, r->in);
}

static int requests_feed(void *state, const struct event *ev)
{
	requests_pass_event(state, ev);
	return 0;
}

static int requests_finish(struct result *r)
{
	return requests_pass_end(r->state);
}

static void requests_close(struct result *r)
{
	requests_pass_close(r->state);
}

/* ---- totals and notes ---- */

static json_t *totals_json(const struct request_totals *n)
{
	return json_pack("{s:{s:I, s:I, s:I, s:I, s:{s:I, s:I, s:I}}}", "totals", "requests",
			 (json_int_t)n->requests, "matched", (json_int_t)n->matched, "elements",
			 (json_int_t)n->elements, "open", (json_int_t)n->open, "without", "disk",
			 (json_int_t)n->without_disk, "element", (json_int_t)n->without_element,
			 "taken", (json_int_t)n->without_taken);
}

static void caveat_without(json_t *list, uint64_t nr, const char *why)
{
	if (nr)
		caveat_add(list, "%" PRIu64 " requests without an element: %s", nr, why);
}

static json_t *caveats_make(const struct input_set *in, const struct request_totals *n)
{
	json_t *list = json_array();

	if (!in->nr_guests)
		caveat_add(list, "requests are in the guest's own trace; name it with --guest");
	if (n->open)
		caveat_add(list, "%" PRIu64 " requests began before or ended after the recording",
			   n->open);
	caveat_without(list, n->without_disk, "no recorded device matches their disk");
	caveat_without(list, n->without_element,
		     "no element was popped and returned between their issue and completion");
	caveat_without(list, n->without_taken,
		     "the elements between their issue and completion belong to other requests");
	if (n->overflow)
		caveat_add(list, "%" PRIu64 " events were dropped: too many at once", n->overflow);
	return list;
}

static int requests_write(struct result *r, const struct output *out)
{
	const struct requests_pass *p = r->state;
	struct report report = result_report(r, out);
	struct table t = {0};
	char text[160];
	int err = requests_report_rows(p->list, p->nr, r->in->reader->info.start_ns,
				       result_vms(r), &t);

	snprintf(text, sizeof(text),
		 "%" PRIu64 " of %" PRIu64 " requests matched to one of %" PRIu64
		 " elements in the host's recording",
		 p->totals.matched, p->totals.requests, p->totals.elements);
	report.extra_text = text;
	report.extra = totals_json(&p->totals);
	report.caveats = caveats_make(r->in, &p->totals);
	err = report_table_made(&report, err, &t);
	json_decref(report.extra);
	json_decref(report.caveats);
	return err;
}

const struct report_ops requests_report = {
	.where_rows = true,
	.reads = READ_GUESTS | READ_BEFORE,
	.state_bytes = sizeof(struct requests_pass),
	.wants = requests_wants,
	.needs = &requests_needs,
	.open = requests_open,
	.event = requests_feed,
	.end = requests_finish,
	.write = requests_write,
	.close = requests_close,
};
