// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * How the clocks of host and guests are related, how well that is known, and the proof: each event that a guest
 * recorded on a vCPU must lie between an entry and the following exit of that vCPU.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "clock/align.h"
#include "commands/common/command.h"
#include "commands/common/output.h"
#include "commands/common/reading.h"
#include "commands/common/reports.h"

static bool check;

/* clang-format off */
static const struct option_row sync_options[] = {
	{0, "check", OPT_FLAG, &check, NULL, "exit with status 3 if a guest event lies outside of guest mode"},
	{0},
};
/* clang-format on */

static const struct option_row *const options[] = {reading_options, output_options, sync_options,
						   NULL};

struct sync {
	json_t *rows;
	json_t *caveats;
	struct clock_proof sum;
};

static bool wants(const char *event, void *arg)
{
	(void)arg;
	return !strcmp(event, "lost");
}

static int pass(void *arg, const struct event *ev)
{
	(void)arg, (void)ev;
	return 0;
}

static double scale_of(const struct clock_segment *s)
{
	return s->scale_bits && s->scale ? ldexp((double)s->scale, -(int)s->scale_bits) : 1;
}

/* The proof of one segment: the stamps from first on that belong to it. */
static struct clock_proof segment_proof(struct clock_vcpu *v, const struct clock_input *in,
					size_t segment, size_t *first, struct clock_cursor *cursor)
{
	struct clock_vcpu one = {.segment = &v->segment[segment], .nr_segments = 1,
				 .error_ticks = v->error_ticks};
	struct clock_relation rel = {.vcpu = &one, .nr_vcpus = 1};
	struct clock_input part = *in;
	size_t end = *first;

	while (end < in->nr_stamps) {
		struct clock_cursor c = *cursor;

		clock_vcpu_host(v, &c, in->stamp[end]);
		if (c.segment > segment)
			break;
		*cursor = c;
		end++;
	}
	part.stamp = in->stamp + *first;
	part.nr_stamps = end - *first;
	*first = end;
	return clock_check(&rel, &part, 1);
}

static json_int_t rounded(double v)
{
	return v > 9e18 ? INT64_MAX : v < -9e18 ? INT64_MIN : (json_int_t)llround(v);
}

static void row_add(struct sync *s, const struct align *a, const struct align_guest *g,
		    const char *source, unsigned int vcpu, size_t segment,
		    const struct clock_proof *p)
{
	const struct clock_vcpu *v = &g->relation.vcpu[vcpu];
	const struct clock_segment *seg = &v->segment[segment];
	double rate = align_guest_ticks_per_ns(a, g), scale = scale_of(seg);
	json_int_t from = segment ? (json_int_t)align_guest_ns(a, g, vcpu, seg->from) : 0;

	json_array_append_new(
		s->rows,
		json_pack("{s:s, s:i, s:s, s:I, s:I, s:I, s:f, s:f, s:I, s:I, s:I, s:I, s:I}",
			  "source", source, "vcpu", (int)vcpu, "method", g->relation.protocol->name,
			  "from_ns", from, "offset", (json_int_t)seg->offset, "offset_ns",
			  rounded((double)seg->offset / (rate * scale)), "scale", scale,
			  "drift_ppb", v->drift_ppb, "error_ns",
			  rounded(ceil(v->error_ticks / rate)), "checked", (json_int_t)p->checked,
			  "unchecked", (json_int_t)p->unchecked, "violations",
			  (json_int_t)p->violations, "worst_ns",
			  rounded((double)p->worst_ticks / rate)));
}

static int vcpu_rows(struct sync *s, const struct align *a, const struct align_guest *g,
		     const char *source, unsigned int vcpu)
{
	struct clock_vcpu *v = &g->relation.vcpu[vcpu];
	const struct clock_input *in = &align_input(g)[vcpu];
	struct clock_cursor cursor = {0};
	size_t first = 0;

	if (g->path && !in->nr_stamps)
		return 0;
	for (size_t i = 0; i < v->nr_segments; i++) {
		struct clock_proof p = segment_proof(v, in, i, &first, &cursor);

		row_add(s, a, g, source, vcpu, i, &p);
		s->sum.checked += p.checked;
		s->sum.unchecked += p.unchecked;
		s->sum.violations += p.violations;
	}
	return 0;
}

static void caveats_add(struct sync *s, const struct align_guest *g)
{
	if (g->by_userspace)
		json_array_append_new(
			s->caveats,
			json_string("the host has no kvm_entry and kvm_exit: events are only "
				    "checked to lie between a call of KVM_RUN and its "
				    "return"));
	if (g->by_disk)
		json_array_append_new(
			s->caveats,
			json_string(
				"the host knows nothing of guest mode: the clock is bounded by the "
				"guest's disk requests alone, and no event could refute it"));
	if (g->by_kicks)
		json_array_append_new(
			s->caveats,
			json_string(
				"the bound is narrowed by the guest's kicks: they come before the "
				"host's records of them"));
	if (!g->path)
		json_array_append_new(
			s->caveats,
			json_string("no guest's trace was given (--guest): this is what the "
				    "host's kernel says, unproven"));
}

static int collect(struct sync *s)
{
	int nr = (int)reading_guests(), err = 0;

	for (int i = nr ? 0 : -1; !err && i < nr; i++) {
		const struct align_guest *g;
		struct align *a;
		char source[32] = "guest";

		if (i < 0 && nr)
			break;
		if (i > 0)
			snprintf(source, sizeof(source), "guest%d", i + 1);
		err = reading_align(i, &a, &g);
		for (unsigned int v = 0; !err && v < g->relation.nr_vcpus; v++)
			err = vcpu_rows(s, a, g, i < 0 ? "host" : source, v);
		if (!err)
			caveats_add(s, g);
	}
	return err;
}

/* ---- drawing ---- */

static int64_t number(const json_t *row, const char *key)
{
	return json_integer_value(json_object_get(row, key));
}

static void draw_sum(const struct sync *s, int64_t worst, FILE *f)
{
	fprintf(f, "%" PRIu64 " guest events checked against guest mode, %" PRIu64 " outside",
		s->sum.checked, s->sum.violations);
	if (s->sum.violations)
		fprintf(f, ", by %" PRId64 "ns at worst", worst);
	fprintf(f, "\n%" PRIu64 " guest events are not within the host's recording\n",
		s->sum.unchecked);
}

static void draw_text(const struct sync *s, const struct reader *r, FILE *f)
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
		snprintf(error, sizeof(error), "%" PRId64 "ns", number(row, "error_ns"));
		if (number(row, "worst_ns") > worst)
			worst = number(row, "worst_ns");
		fprintf(f, "%-6s %4" PRId64 " %-7s %16" PRId64 " %11.9f %9s %8s %7" PRId64
			   " %4" PRId64 "\n",
			json_string_value(json_object_get(row, "source")), number(row, "vcpu"),
			json_string_value(json_object_get(row, "method")), number(row, "offset"),
			json_real_value(json_object_get(row, "scale")), drift, error,
			number(row, "checked"), number(row, "violations"));
	}
	if (reading_guests())
		draw_sum(s, worst, f);
	else
		fprintf(f, "nothing was checked\n");
	reading_foot(r, s->caveats, f);
}

static void draw_json(const struct sync *s, const struct reader *r, FILE *f)
{
	json_t *head = reading_head(r, s->caveats);

	json_object_set(head, "rows", s->rows);
	json_object_set_new(head, "totals",
			    json_pack("{s:I, s:I, s:I}", "checked", (json_int_t)s->sum.checked,
				      "unchecked", (json_int_t)s->sum.unchecked, "violations",
				      (json_int_t)s->sum.violations));
	json_dumpf(head, f, JSON_INDENT(2) | JSON_PRESERVE_ORDER | JSON_REAL_PRECISION(12));
	fputc('\n', f);
	json_decref(head);
}

/* A check that looked at nothing has not passed. */
static int nothing_checked(void)
{
	if (!reading_guests())
		return fail(-ENODATA, "--check needs a guest's trace: give it with --guest");
	return fail(-ENODATA,
		    "no guest event lies within the host's recording: nothing was checked");
}

static int run(int argc, char **argv, char **rest)
{
	_cleanup_reader_ struct reader *r = NULL;
	struct sync s = {0};
	struct output out;

	(void)rest;
	if (reading_take_args(argc, argv, OPTION_LIST_MAX) || output_open("text json", &out))
		return command_failed();
	reading_want_guests();
	s.rows = json_array();
	s.caveats = json_array();
	int err = s.rows && s.caveats ? reading_open(wants, NULL, &r)
				      : fail(-ENOMEM, "out of memory");

	if (!err)
		err = reader_each(r, pass, NULL);
	if (!err)
		err = collect(&s);
	if (!err && !strcmp(out.format, "json"))
		draw_json(&s, r, out.file);
	else if (!err)
		draw_text(&s, r, out.file);
	json_decref(s.rows);
	json_decref(s.caveats);
	if (err || !check || s.sum.checked)
		return report_end(err, &out, r, check && s.sum.violations);
	report_end(0, &out, r, false);
	nothing_checked();
	return command_failed();
}

const struct command sync_command = {
	.name = "sync",
	.args = "[FILE...]",
	.summary = "How guests' clocks are related to the host's, how well, and the proof.",
	.group = "Report",
	.details =
		"guest TSC = host TSC * scale + offset. The error is the bound of every converted "
		"time. The\n"
		"proof counts guest events that fall outside of every stay of their vCPU in guest\n"
		"mode by more than that bound.",
	.examples = "  hostrace sync -i vm.hrt --guest guest.dat\n"
		    "  hostrace sync -i vm.hrt --guest guest.dat --clock fit -f json\n"
		    "  hostrace sync -i vm.hrt --guest guest.dat --check",
	.options = options,
	.run = run,
};
