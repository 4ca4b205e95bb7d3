// SPDX-License-Identifier: GPL-2.0-or-later
/* Boots of VMs by phase, and the points of time in them (analyzers/boot). */
#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "reports/reports.h"

static const struct report_needs boot_needs = {
	.events = "syscall_enter",
	.record_for = "boot",
};

struct boot_state {
	struct boot *boot;
	const struct boot_vm **list;
	size_t nr;
};

static const struct boot_query *boot_query_of(const struct result *r)
{
	static const struct boot_query none;

	return r->query->of ?: &none;
}

static int boots_open(struct result *r)
{
	const struct boot_query *q = boot_query_of(r);
	struct boot_state *s = r->state;

	s->boot = boot_new(q->marker, q->nr_markers, input_set_foreign(r->in));
	return s->boot ? 0 : fail(-ENOMEM, "out of memory");
}

static int boots_event(void *state, const struct event *ev)
{
	const struct boot_state *s = state;

	return boot_event(s->boot, ev);
}

static int boots_end(struct result *r)
{
	struct boot_state *s = r->state;

	boot_end(s->boot, input_set_host_end_ns(r->in));
	s->list = boot_vms(s->boot, &s->nr);
	return s->list ? 0 : fail(-ENOMEM, "out of memory");
}

static int boots_write(struct result *result, const struct output *out)
{
	const struct boot_query *q = boot_query_of(result);
	const struct boot_state *s = result->state;
	struct boot_report r = {.boot = s->list,
				.nr = s->nr,
				.marker = q->marker,
				.nr_markers = q->nr_markers,
				.vms = result_vms(result),
				.parent = q->parent};
	struct report report = result_report(result, out);
	struct table t = {0};
	int err;

	if (!strcmp(out->format, "otlp"))
		return boot_otlp_write(&r, trace_info_realtime_offset(&result->in->reader->info),
				       out->file);
	boot_notes(s->boot, &r.notes);
	report.caveats = boot_report_caveats(&r);
	err = report_table_made(&report, boot_report_rows(&r, q->by, &t), &t);
	json_decref(report.caveats);
	return err;
}

static void boots_close(struct result *r)
{
	struct boot_state *s = r->state;

	free(s->list);
	boot_free(s->boot);
}

const struct report_ops boot_report = {
	.where_rows = true,
	.state_bytes = sizeof(struct boot_state),
	.wants = boot_wants,
	.needs = &boot_needs,
	.open = boots_open,
	.event = boots_event,
	.end = boots_end,
	.write = boots_write,
	.close = boots_close,
};
