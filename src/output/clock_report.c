// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * `hostrace sync`: a row for each vCPU and relation of clocks, and the verdict with its reasons, which all reports
 * print a line of. How clocks are related, and what proves it, is in clock/align.h.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>

#include "base/error.h"
#include "base/json_text.h"
#include "output/clock_report.h"
#include "output/report.h"

/* Where so many of the host's entries and exits are missing, reports other than `sync` mention it, too. */
enum { REPAIRED_SHARE = 100 };

static json_t *row_json(const struct align_row *r, const char *source, const char *verdict)
{
	return json_pack(
		"{s:s, s:i, s:s, s:I, s:I, s:I, s:f, s:f, s:I, s:I, s:I, s:I, s:I, s:I, s:s}",
		"source", source, "vcpu", (int)r->vcpu, "method", r->method, "from_ns",
		(json_int_t)r->from_ns, "offset", (json_int_t)r->offset, "offset_ns",
		(json_int_t)r->offset_ns, "scale", r->scale, "drift_ppb", r->drift_ppb, "error_ns",
		(json_int_t)r->error_ns, "checked", (json_int_t)r->proof.checked, "unchecked",
		(json_int_t)r->proof.unchecked, "violations", (json_int_t)r->proof.violations,
		"worst_ns", (json_int_t)r->worst_ns, "repaired", (json_int_t)r->repaired, "verdict",
		verdict);
}

int clock_report_add(struct clock_report_rows *rows, const struct align *a,
		     const struct align_guest *g, const char *source)
{
	_cleanup_free_ struct align_row *row = NULL;
	enum clock_verdict verdict = align_verdict(g, NULL);
	size_t nr = 0;
	int err = align_rows(a, g, &row, &nr);

	if (!err && !rows->rows && !(rows->rows = json_array()))
		err = fail(-ENOMEM, "out of memory");
	rows->verdicts[verdict]++;
	for (size_t i = 0; i < nr && !err; i++) {
		json_array_append_new(rows->rows,
				      row_json(&row[i], source, clock_verdict_name(verdict)));
		rows->sum.checked += row[i].proof.checked;
		rows->sum.unchecked += row[i].proof.unchecked;
		rows->sum.violations += row[i].proof.violations;
		rows->repaired += row[i].repaired;
	}
	return err;
}

/* "" if it is verified. */
static void unverified_text(const struct align_guest *g, char *text, size_t size)
{
	struct clock_proof sum;
	enum clock_verdict verdict = align_verdict(g, &sum);

	text[0] = 0;
	if (verdict == CLOCK_UNRELIABLE)
		snprintf(text, size,
			 "guest timestamps are unreliable: %" PRIu64 " of %" PRIu64
			 " guest events lie outside guest mode",
			 sum.violations, sum.checked);
	else if (verdict == CLOCK_NOT_CHECKED && sum.checked)
		snprintf(text, size,
			 "guest timestamps are not checked: %" PRIu64
			 " guest events were compared with guest mode, too few to exclude a wrong "
			 "offset",
			 sum.checked);
	else if (verdict == CLOCK_NOT_CHECKED)
		snprintf(text, size,
			 "guest timestamps are not checked: no guest event could be compared with "
			 "guest mode");
}

void clock_report_verdict(const struct align_guest *g, const char *unit, char *text, size_t size)
{
	const char *method = g->relation.protocol->name;

	switch (align_verdict(g, NULL)) {
	case CLOCK_VERIFIED:
		snprintf(text, size,
			 "guest timestamps are on the host's clock: %s, accurate to %.0f %s",
			 method, ceil(g->error_ns), unit);
		return;
	case CLOCK_UNRELIABLE:
		snprintf(text, size, "the guest's clock (%s) failed verification", method);
		return;
	case CLOCK_NOT_CHECKED:
		snprintf(text, size, "guest timestamps are on the host's clock: %s, not checked",
			 method);
		return;
	}
}

static void caveat_repaired(const struct align_guest *g, json_t *caveats)
{
	uint64_t repaired = 0, spans = 0;

	for (unsigned int v = 0; v < g->nr_vcpus; v++) {
		repaired += g->input[v].repaired;
		spans += g->input[v].nr_spans;
	}
	if (repaired * REPAIRED_SHARE > spans)
		caveat_add(caveats,
			   "%" PRIu64
			   " VM-entries or VM-exits are missing in the host's recording: "
			   "guest events at these times cannot be checked",
			   repaired);
}

void clock_report_unverified(const struct align_guest *g, bool several, json_t *caveats)
{
	char text[256];

	unverified_text(g, text, sizeof(text));
	if (*text && several)
		caveat_add(caveats, "%s: %s", g->path, text);
	else if (*text)
		caveat_add(caveats, "%s", text);
	caveat_repaired(g, caveats);
}

void clock_report_caveats(const struct align_guest *g, json_t *caveats)
{
	if (g->by_userspace)
		caveat_add(caveats,
			   "the host's recording has no kvm_entry and kvm_exit: events are only "
			   "checked to lie between a call of KVM_RUN and its return");
	if (g->by_disk)
		caveat_add(caveats, "the host's recording has no guest mode events: the clock is "
				    "bounded by the guest's disk requests only");
	if (g->by_kicks)
		caveat_add(caveats, "the error bound is tightened by the guest's kicks, which "
				    "precede the host's records of them");
	if (!g->path)
		caveat_add(caveats, "no guest trace is merged (--guest): these are the host "
				    "kernel's values, not checked");
}

static void draw_sum(const struct clock_report_rows *s, int64_t worst, const char *unit, FILE *f)
{
	fprintf(f, "%" PRIu64 " guest events checked against guest mode, %" PRIu64 " outside",
		s->sum.checked, s->sum.violations);
	if (s->sum.violations)
		fprintf(f, ", by at most %" PRId64 "%s", worst, unit);
	fprintf(f, "\n%" PRIu64 " guest events could not be checked\n", s->sum.unchecked);
	if (s->repaired)
		fprintf(f,
			"%" PRIu64 " VM-entries or VM-exits are missing in the host's recording\n",
			s->repaired);
}

void clock_report_text(const struct clock_report_rows *s, bool guests, const char *unit, FILE *f)
{
	int64_t worst = 0;
	size_t i;
	json_t *row;

	fprintf(f, "%-6s %4s %-7s %16s %11s %9s %8s %7s %4s\n", "source", "vcpu", "method",
		"offset", "scale", "drift", "error", "checked", "out");
	json_array_foreach (s->rows, i, row) {
		char drift[32], error[32];

		snprintf(drift, sizeof(drift), "%.0fppb",
			 json_real_value(json_object_get(row, "drift_ppb")));
		snprintf(error, sizeof(error), "%" PRId64 "%s", number_of(row, "error_ns"), unit);
		if (number_of(row, "worst_ns") > worst)
			worst = number_of(row, "worst_ns");
		fprintf(f,
			"%-6s %4" PRId64 " %-7s %16" PRId64 " %11.9f %9s %8s %7" PRId64 " %4" PRId64
			"\n",
			json_string_value(json_object_get(row, "source")), number_of(row, "vcpu"),
			json_string_value(json_object_get(row, "method")), number_of(row, "offset"),
			json_real_value(json_object_get(row, "scale")), drift, error,
			number_of(row, "checked"), number_of(row, "violations"));
	}
	if (guests)
		draw_sum(s, worst, unit, f);
	else
		fprintf(f, "no guest events were checked\n");
}

void clock_report_json(const struct clock_report_rows *s, json_t *answer)
{
	json_object_set_new(answer, "rows", s->rows ? json_incref(s->rows) : json_array());
	json_object_set_new(answer, "totals",
			    json_pack("{s:I, s:I, s:I, s:I}", "checked", (json_int_t)s->sum.checked,
				      "unchecked", (json_int_t)s->sum.unchecked, "violations",
				      (json_int_t)s->sum.violations, "repaired",
				      (json_int_t)s->repaired));
}
