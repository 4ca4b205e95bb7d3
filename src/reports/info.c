// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What a trace holds (output/info_report.h). Of a recording that knows its counts only the few chunks with losses and
 * TSC offsets are read; VMs that no metadata names are found by their exits.
 */
#include <errno.h>

#include "base/error.h"
#include "event/vm_names.h"
#include "output/info_report.h"
#include "reports/reports.h"

struct info {
	struct info_summary *summary;
	bool find_vms;
};

static bool all_is_asked(const struct result *r)
{
	return !input_options_have_window(r->query->input) &&
	       !input_options_have_filter(r->query->input);
}

static bool info_wants(const char *event, void *result)
{
	const struct result *r = result;
	const struct info *s = r->state;

	if (!all_is_asked(r) || (s->summary && info_summary_counts(s->summary)))
		return true;
	return info_report_wants(event, s->find_vms);
}

/* In a pass for this report alone, VMs are looked for in another one. */
static int info_open(struct result *r)
{
	struct info *s = r->state;
	const struct info_query *q = r->query->of;
	bool find_vms = all_is_asked(r) && !vm_names_nr(r->in->vms);

	if (find_vms && !s->find_vms) {
		s->find_vms = true;
		if (!q || !q->exits_come)
			return 1;
	}
	s->summary = info_summary_new(r->in);
	return s->summary ? 0 : error_code();
}

static int info_event(void *state, const struct event *ev)
{
	info_summary_event(((struct info *)state)->summary, ev);
	return 0;
}

static int info_write(struct result *r, const struct output *out)
{
	const struct info *s = r->state;
	struct report report = result_report(r, out);
	json_t *result = info_report_make(s->summary, r->in);

	if (!result)
		return error_code() ?: fail(-ENOMEM, "out of memory");
	if (report_is_json(&report)) {
		report_answer(&report, json_pack("{s:O}", "result", result), JSON_INDENT(2));
	} else {
		info_report_text(r->in, result, out->file);
		report.foot(&report);
	}
	json_decref(result);
	return 0;
}

static void info_close(struct result *r)
{
	info_summary_free(((struct info *)r->state)->summary);
}

const struct report_ops info_report = {
	.state_bytes = sizeof(struct info),
	.wants = info_wants,
	.open = info_open,
	.event = info_event,
	.write = info_write,
	.close = info_close,
};
