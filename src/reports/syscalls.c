// SPDX-License-Identifier: GPL-2.0-or-later
/* System calls of threads, by name or by thread and name (analyzers/syscalls). */
#include <errno.h>

#include "analyzers/syscalls/syscalls.h"
#include "base/error.h"
#include "output/syscalls_report.h"
#include "reports/reports.h"

static const struct report_needs syscalls_needs = {
	.events = "syscall_enter,raw_syscalls:sys_enter,sys_enter,ftrace:sys_enter",
	.record_for = "syscalls",
};

struct syscalls_state {
	struct syscalls *calls;
	struct syscalls_row **row;
	size_t nr;
};

static bool is_by_tid(const struct result *r)
{
	const struct syscalls_query *q = r->query->of;

	return q && q->by_tid;
}

static int calls_open(struct result *r)
{
	struct syscalls_state *s = r->state;

	s->calls = syscalls_new(is_by_tid(r));
	return s->calls ? 0 : fail(-ENOMEM, "out of memory");
}

static int calls_event(void *state, const struct event *ev)
{
	const struct syscalls_state *s = state;

	return syscalls_event(s->calls, ev);
}

static int calls_end(struct result *r)
{
	struct syscalls_state *s = r->state;

	return syscalls_rows(s->calls, &s->row, &s->nr);
}

static int calls_write(struct result *result, const struct output *out)
{
	const struct syscalls_state *s = result->state;
	struct report report = result_report(result, out);
	struct table t = {0};
	struct syscalls_notes notes;
	int err;

	syscalls_notes(s->calls, &notes);
	report.caveats = syscalls_report_caveats(&notes);
	err = syscalls_report_rows(result_vms(result), is_by_tid(result), s->row, s->nr, &t);
	err = report_table_made(&report, err, &t);
	json_decref(report.caveats);
	return err;
}

static void calls_close(struct result *r)
{
	struct syscalls_state *s = r->state;

	free(s->row);
	syscalls_free(s->calls);
}

const struct report_ops syscalls_report = {
	.where_rows = true,
	.state_bytes = sizeof(struct syscalls_state),
	.wants = syscalls_wants,
	.needs = &syscalls_needs,
	.open = calls_open,
	.event = calls_event,
	.end = calls_end,
	.write = calls_write,
	.close = calls_close,
};
