// SPDX-License-Identifier: GPL-2.0-or-later
/* Faults of guest RAM by what backed them (analyzers/faults). */
#include <errno.h>

#include "analyzers/faults/faults.h"
#include "base/error.h"
#include "output/faults_report.h"
#include "reports/reports.h"

static const struct report_needs faults_needs = {
	.events = "host_fault",
	.record_for = "faults",
};

struct faults_state {
	struct faults *faults;
	struct faults_row **row;
	size_t nr;
};

static enum faults_by faults_by_of(const struct result *r)
{
	const struct faults_query *q = r->query->of;

	return q ? q->by : FAULTS_BY_CAUSE;
}

static int faults_open(struct result *r)
{
	struct faults_state *s = r->state;

	s->faults = faults_new(faults_by_of(r));
	return s->faults ? 0 : fail(-ENOMEM, "out of memory");
}

static int faults_read(void *state, const struct event *ev)
{
	const struct faults_state *s = state;

	return faults_event(s->faults, ev);
}

static int faults_end(struct result *r)
{
	struct faults_state *s = r->state;

	return faults_rows(s->faults, &s->row, &s->nr);
}

static int faults_write(struct result *result, const struct output *out)
{
	const struct faults_state *s = result->state;
	struct report report = result_report(result, out);
	struct table t = {0};
	struct faults_notes notes;
	int err;

	faults_notes(s->faults, &notes);
	report.caveats = faults_report_caveats(&notes);
	err = faults_report_rows(result_vms(result), faults_by_of(result), s->row, s->nr, &t);
	err = report_table_made(&report, err, &t);
	json_decref(report.caveats);
	return err;
}

static void faults_close(struct result *r)
{
	struct faults_state *s = r->state;

	free(s->row);
	faults_free(s->faults);
}

const struct report_ops faults_report = {
	.where_rows = true,
	.state_bytes = sizeof(struct faults_state),
	.wants = faults_wants,
	.needs = &faults_needs,
	.open = faults_open,
	.event = faults_read,
	.end = faults_end,
	.write = faults_write,
	.close = faults_close,
};
