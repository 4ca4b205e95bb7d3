// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The whole path of virtqueue requests (analyzers/path): by stage, or the slowest ones with their stages. With a
 * guest's trace its requests are matched with elements in a first pass.
 */
#include <errno.h>

#include "analyzers/path/summary.h"
#include "base/error.h"
#include "output/path_report.h"
#include "reports/empty.h"
#include "reports/reports.h"
#include "reports/requests_read.h"

enum { REQUESTS_LISTED = 5 }; /* unless there is a limit */

static const struct report_needs path_needs = {.events = "virtqueue_pop",
					       .ends = "virtqueue_fill",
					       .record_for = "requests",
					       .others = "vhost_start"};

struct path_state {
	struct requests_pass guest;
	struct path *path; /* NULL: in the pass before it */
	struct path_summary summary;
};

static bool path_report_wants(const char *event, void *result)
{
	const struct result *r = result;

	return path_wants(event, NULL) || (!r->pass && requests_wants(event, NULL));
}

static int path_open(struct result *r)
{
	struct path_state *p = r->state;

	if (!r->pass && r->in->nr_guests)
		return requests_pass_open(&p->guest, r->in);
	p->path = path_new();
	if (!p->path)
		return fail(-ENOMEM, "out of memory");
	path_window(p->path, r->in->since_ns, r->in->until_ns);
	return 0;
}

static int path_feed(void *state, const struct event *ev)
{
	struct path_state *p = state;

	if (p->path)
		return path_event(p->path, ev);
	requests_pass_event(&p->guest, ev);
	return 0;
}

static int path_finish(struct result *r)
{
	const struct path_query *q = r->query->of;
	struct path_state *p = r->state;
	int err;

	if (!p->path) {
		err = requests_pass_end(&p->guest);
		return err ? err : 1;
	}
	err = path_end(p->path);
	for (size_t i = 0; i < p->guest.nr && !err; i++)
		path_guest(p->path, &p->guest.list[i]);
	return err ? err : path_summary_make(&p->summary, p->path, q->min_ns);
}

static void path_close(struct result *r)
{
	struct path_state *p = r->state;

	requests_pass_close(&p->guest);
	path_summary_free(&p->summary);
	path_free(p->path);
}

/* ---- the result ---- */

static int write_json(struct report *report, const struct path_report *r)
{
	json_t *more = path_report_json(r);

	if (!more)
		return fail(-ENOMEM, "out of memory");
	if (!r->summary->requests)
		empty_add(report);
	report_answer(report, more, JSON_INDENT(1) | JSON_REAL_PRECISION(6));
	return 0;
}

static int write_waterfall(struct report *report, const struct path_report *r)
{
	if (!r->nr_slowest)
		report_empty(report);
	path_report_waterfall(r, report->out->file);
	report->foot(report);
	return 0;
}

static int write_svg(const struct report *report, const struct path_report *r)
{
	if (!r->nr_slowest)
		return fail(-ENODATA, "no request to draw");
	path_report_svg(r, report->out->file);
	return 0;
}

static int write_stages(struct report *report, const struct path_report *r)
{
	struct table t = {0};
	char totals[512];
	int err = path_report_stages(r, &t);

	if (r->summary->requests)
		report->extra_text = path_report_totals(r, totals, sizeof(totals));
	if (err) {
		table_free(&t);
		return err;
	}
	return report_table(report, &t, "time_ns");
}

static int write_format(struct report *report, const struct path_report *r, bool waterfall)
{
	if (report_is_json(report))
		return write_json(report, r);
	if (!strcmp(report->out->format, "svg"))
		return write_svg(report, r);
	if (waterfall && !strcmp(report->out->format, "text"))
		return write_waterfall(report, r);
	return write_stages(report, r);
}

static int path_write(struct result *result, const struct output *out)
{
	const struct path_query *q = result->query->of;
	const struct path_state *p = result->state;
	struct path_report r = {.path = p->path,
				.summary = &p->summary,
				.guests = result->in->nr_guests,
				.vms = result_vms(result),
				.start_ns = input_set_start_ns(result->in)};
	_cleanup_free_ const struct path_request **slowest = path_slowest(
		p->path, q->min_ns, out->limit ? out->limit : REQUESTS_LISTED, &r.nr_slowest);
	struct report report = result_report(result, out);
	int err;

	r.slowest = slowest;
	report.caveats = path_report_caveats(&r);
	err = write_format(&report, &r, q->waterfall);
	json_decref(report.caveats);
	return err;
}

const struct path *path_of_result(const struct result *r)
{
	const struct path_state *p = r->state;

	return p->path;
}

const struct report_ops path_report = {
	.reads = READ_GUESTS | READ_BEFORE,
	.state_bytes = sizeof(struct path_state),
	.wants = path_report_wants,
	.needs = &path_needs,
	.optional = "sched_wakeup,sched_block,sched_ran",
	.open = path_open,
	.event = path_feed,
	.end = path_finish,
	.write = path_write,
	.close = path_close,
};
