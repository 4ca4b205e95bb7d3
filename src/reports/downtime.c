// SPDX-License-Identifier: GPL-2.0-or-later
/* The times for which VMs were stopped, by phase (analyzers/downtime). */
#include <errno.h>

#include "analyzers/downtime/downtime.h"
#include "base/error.h"
#include "output/downtime_report.h"
#include "reports/reports.h"

static const struct report_needs downtime_needs = {.events = "vm_state",
						   .record_for = "downtime"};

static int downtime_open(struct result *r)
{
	r->state = downtime_new();
	return r->state ? 0 : fail(-ENOMEM, "out of memory");
}

static int downtime_feed(void *state, const struct event *ev)
{
	return downtime_event(state, ev);
}

static int downtime_write(struct result *result, const struct output *out)
{
	struct downtime_report r = {.downtime = result->state,
				    .vms = result->in->vms,
				    .start_ns = result->in->reader->info.start_ns};
	struct report report = result_report(result, out);
	struct table t = {0};
	int err = downtime_report_rows(&r, &t);

	report.caveats = downtime_report_caveats(&r);
	err = report_table_made(&report, err, &t);
	json_decref(report.caveats);
	return err;
}

static void downtime_close(struct result *r)
{
	downtime_free(r->state);
}

const struct report_ops downtime_report = {
	.wants = downtime_wants,
	.needs = &downtime_needs,
	.open = downtime_open,
	.event = downtime_feed,
	.write = downtime_write,
	.close = downtime_close,
};
