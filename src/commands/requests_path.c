// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <string.h>

#include "analyzers/path/summary.h"
#include "base/error.h"
#include "commands/common/command.h"
#include "commands/common/empty.h"
#include "commands/common/input.h"
#include "commands/common/output.h"
#include "commands/common/reports.h"
#include "commands/common/requests_read.h"
#include "commands/requests_path.h"
#include "output/path_report.h"
#include "output/report.h"

enum { REQUESTS_LISTED = 5 }; /* unless --limit is given */

static const struct report_needs needs = {.events = "virtqueue_pop",
					  .ends = "virtqueue_fill",
					  .record = "hostrace record --for requests",
					  .others = "vhost_start"};

static int draw_json(const struct path_report *r, const struct input_set *in, json_t *caveats,
		     FILE *f)
{
	json_t *more = path_report_json(r);

	if (!more)
		return fail(-ENOMEM, "out of memory");
	if (!r->summary->requests) {
		json_t *why = empty_lines(in, &needs);

		json_array_extend(caveats, why);
		json_decref(why);
	}
	input_json(in, caveats, more, f);
	return 0;
}

static int draw_waterfall(const struct path_report *r, const struct input_set *in, json_t *caveats,
			  const struct output *out)
{
	struct report report = report_of(in, out);

	report.needs = &needs;
	if (!r->nr_slowest)
		report_empty(&report);
	path_report_waterfall(r, out->file);
	input_foot(in, caveats, out->file);
	return 0;
}

static int draw_svg(const struct path_report *r, const struct output *out)
{
	if (!r->nr_slowest)
		return fail(-ENODATA, "no request to draw");
	path_report_svg(r, out->file);
	return 0;
}

static int draw_stages(const struct path_report *r, const struct input_set *in, json_t *caveats,
		       const struct output *out)
{
	struct report report = report_of(in, out);
	struct table t = {0};
	char totals[512];
	int err = path_report_stages(r, &t);

	report.needs = &needs;
	report.caveats = caveats;
	if (r->summary->requests)
		report.extra_text = path_report_totals(r, totals, sizeof(totals));
	return report_table_made(&report, err, &t);
}

static int draw(struct path_report *r, const struct input_set *in, const struct output *out,
		bool waterfall)
{
	json_t *caveats;
	int err;

	r->guests = in->nr_guests;
	r->vms = input_set_nr_vms(in) > 1 ? in->vms : NULL;
	r->start_ns = input_set_start_ns(in);
	caveats = path_report_caveats(r);
	if (!strcmp(out->format, "json"))
		err = draw_json(r, in, caveats, out->file);
	else if (!strcmp(out->format, "svg"))
		err = draw_svg(r, out);
	else if (waterfall && !strcmp(out->format, "text"))
		err = draw_waterfall(r, in, caveats, out);
	else
		err = draw_stages(r, in, caveats, out);
	json_decref(caveats);
	return err;
}

static int report(const struct path *path, const struct input_set *in, const struct output *out,
		  bool waterfall, uint64_t min_ns)
{
	struct path_summary s;
	struct path_report r = {.path = path, .summary = &s};
	_cleanup_free_ const struct path_request **slowest =
		path_slowest(path, min_ns, out->limit ? out->limit : REQUESTS_LISTED,
			     &r.nr_slowest);
	int err = path_summary_make(&s, path, min_ns);

	r.slowest = slowest;
	if (!err)
		err = draw(&r, in, out, waterfall);
	path_summary_free(&s);
	return err;
}

static int path_handle(void *arg, const struct event *ev)
{
	return path_event(arg, ev);
}

/* Guests' requests are matched with elements in a pass of their own, as for the table. */
static int read_all(struct path *path, struct requests *q, struct input_set *in)
{
	struct request_totals totals;
	const struct request *rq = NULL;
	size_t nr = 0;
	int err = in->nr_guests ? requests_read(q, in, &rq, &nr, &totals) : 0;

	if (!err)
		err = input_set_open_window(in, true, path_wants, NULL);
	if (!err) {
		path_window(path, in->since_ns, in->until_ns);
		err = reader_each(in->reader, path_handle, path);
	}
	if (!err)
		err = path_end(path);
	for (size_t i = 0; i < nr && !err; i++)
		path_guest(path, &rq[i]);
	return err;
}

int requests_path_run(bool waterfall, uint64_t min_ns)
{
	_cleanup_input_set_ struct input_set *in = NULL;
	_cleanup_(requests_cleanup_) struct requests *q = requests_new();
	_cleanup_(path_cleanup_) struct path *path = path_new();
	struct output out;

	if (output_open(waterfall ? "text json csv svg" : "text json csv", &out))
		return command_failed();
	int err = q && path ? input_make(true, &in) : fail(-ENOMEM, "out of memory");

	if (!err)
		err = read_all(path, q, in);
	if (!err)
		err = report(path, in, &out, waterfall, min_ns);
	return report_end(err, &out, in, false);
}
