// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * How the clocks of host and guests are related, how well that is known, and the proof: each event that a guest
 * recorded on a vCPU must be between an entry and the following exit of that vCPU. The alignment reads what it needs
 * by itself, but for one host without guests and filters: that takes its events from the pass.
 */
#include <errno.h>

#include "base/error.h"
#include "clock/align.h"
#include "output/clock_report.h"
#include "reports/reports.h"

struct sync {
	struct clock_report_rows clocks;
	json_t *caveats;
	struct align *align; /* in the making; NULL: it reads by itself */
};

static bool sync_wants(const char *event, void *result)
{
	const struct result *r = result;
	const struct sync *s = r->state;

	if (s->caveats ? s->align != NULL : input_set_can_align(r->in))
		return align_wants(event, NULL);
	return !strcmp(event, "lost");
}

static int sync_open(struct result *r)
{
	struct sync *s = r->state;

	s->caveats = json_array();
	if (!s->caveats)
		return fail(-ENOMEM, "out of memory");
	return input_set_can_align(r->in) ? input_set_align_begin(r->in, &s->align) : 0;
}

static int sync_event(void *state, const struct event *ev)
{
	struct sync *s = state;

	return s->align ? align_host_event(s->align, ev) : 0;
}

/* -1: the host, without a guest's trace. */
static int guest_add(struct sync *s, const struct input_set *in, int i)
{
	const struct align_guest *g;
	struct align *a;
	char source[32] = "guest";
	int err = input_set_align(in, i, &a, &g);

	if (i > 0)
		snprintf(source, sizeof(source), "guest%d", i + 1);
	if (!err)
		err = align_check_tids(a);
	if (!err)
		err = clock_report_add(&s->clocks, a, g, i < 0 ? "host" : source);
	if (!err)
		clock_report_caveats(g, s->caveats);
	return err;
}

static int sync_end(struct result *r)
{
	int nr = (int)r->in->nr_guests, err = 0;
	struct sync *s = r->state;

	if (s->align && !(err = input_set_align_end(r->in, s->align)))
		s->align = NULL;
	if (!err && !nr)
		err = guest_add(s, r->in, -1);
	for (int i = 0; !err && i < nr; i++)
		err = guest_add(s, r->in, i);
	r->found = s->clocks.verdicts[CLOCK_UNRELIABLE];
	if (!r->found && s->clocks.verdicts[CLOCK_NOT_CHECKED])
		r->not_checked = nr ? "the guest's clock is not checked: too few guest events, or "
				      "none, lie within the host's recording of guest mode"
				    : "--check requires a guest trace (--guest)";
	return err;
}

static int write_json(const struct report *report, const struct sync *s)
{
	json_t *more = json_object();

	clock_report_json(&s->clocks, more);
	report_answer(report, report->ticks ? report_json_in_ticks(more) : more,
		      JSON_INDENT(2) | JSON_REAL_PRECISION(12));
	return 0;
}

static int sync_write(struct result *r, const struct output *out)
{
	const struct sync *s = r->state;
	struct report report = result_report(r, out);

	report.caveats = s->caveats;
	if (report_is_json(&report))
		return write_json(&report, s);
	clock_report_text(&s->clocks, r->in->nr_guests, report.ticks ? "t" : "ns", out->file);
	report.foot(&report);
	return 0;
}

static void sync_close(struct result *r)
{
	struct sync *s = r->state;

	json_decref(s->clocks.rows);
	json_decref(s->caveats);
	align_free(s->align);
}

const struct report_ops sync_report = {
	.reads = READ_GUESTS,
	.state_bytes = sizeof(struct sync),
	.wants = sync_wants,
	.open = sync_open,
	.event = sync_event,
	.end = sync_end,
	.write = sync_write,
	.close = sync_close,
};
