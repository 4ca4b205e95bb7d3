// SPDX-License-Identifier: GPL-2.0-or-later
/* The times for which VMs were stopped, by phase (analyzers/downtime). */
#include <errno.h>
#include <string.h>

#include "analyzers/downtime/downtime.h"
#include "base/error.h"
#include "output/downtime_report.h"
#include "reports/reports.h"

static const struct report_needs downtime_needs = {.events = "vm_state",
						   .record_for = "downtime"};

struct stops {
	struct downtime *downtime;
	uint64_t until_ns;
};

static int downtime_open(struct result *r)
{
	struct stops *s = r->state;

	s->downtime = downtime_new();
	s->until_ns = r->in->until_ns;
	return s->downtime ? 0 : fail(-ENOMEM, "out of memory");
}

static int downtime_feed(void *state, const struct event *ev)
{
	const struct stops *s = state;

	return ev->time_ns < s->until_ns ? downtime_event(s->downtime, ev) : 0;
}


static bool is_log(const struct input_set *in)
{
	const char *kind = in->input[0].reader->info.kind;

	return kind && !strcmp(kind, "QEMU log");
}

static int downtime_write(struct result *result, const struct output *out)
{
	const struct stops *s = result->state;
	struct downtime_report r = {.downtime = s->downtime,
				    .vms = result->in->vms,
				    .start_ns = result->in->reader->info.start_ns,
				    .since_ns = input_set_host_start_ns(result->in),
				    .until_ns = input_set_host_end_ns(result->in),
				    .is_log = is_log(result->in)};
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
	downtime_free(((struct stops *)r->state)->downtime);
}

const struct report_ops downtime_report = {
	.where_rows = true,
	.reads = READ_BEFORE,
	.state_bytes = sizeof(struct stops),
	.wants = downtime_wants,
	.needs = &downtime_needs,
	.open = downtime_open,
	.event = downtime_feed,
	.write = downtime_write,
	.close = downtime_close,
};
