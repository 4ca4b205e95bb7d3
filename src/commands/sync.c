// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * How the clocks of host and guests are related, how well that is known, and the proof: each event
 * that a guest recorded on a vCPU must be between an entry and the following exit of that vCPU.
 */
#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "base/json_text.h"
#include "clock/align.h"
#include "commands/common/command.h"
#include "commands/common/input.h"
#include "commands/common/output.h"
#include "commands/common/reports.h"
#include "output/clock_report.h"

static bool check;

/* clang-format off */
static const struct option_row sync_options[] = {
	{0, "check", OPT_FLAG, &check, NULL, "exit with status 3 if a guest event lies outside guest mode"},
	{0},
};
/* clang-format on */

static const struct option_row *const options[] = {input_rows, output_options, sync_options, NULL};

struct sync {
	struct clock_report_rows clocks;
	json_t *caveats;
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

static int collect(struct sync *s, const struct input_set *in)
{
	int nr = (int)in->nr_guests, err = 0;

	for (int i = nr ? 0 : -1; !err && i < nr; i++) {
		const struct align_guest *g;
		struct align *a;
		char source[32] = "guest";

		if (i < 0 && nr)
			break;
		if (i > 0)
			snprintf(source, sizeof(source), "guest%d", i + 1);
		err = input_set_align(in, i, &a, &g);
		if (!err)
			err = align_check_tids(a);
		if (!err)
			err = clock_report_add(&s->clocks, a, g, i < 0 ? "host" : source);
		if (!err)
			clock_report_caveats(g, s->caveats);
	}
	return err;
}

static void draw_text(const struct sync *s, const struct input_set *in, FILE *f)
{
	clock_report_text(&s->clocks, in->nr_guests,
			  trace_info_in_ticks(&in->reader->info) ? "t" : "ns", f);
	input_foot(in, s->caveats, f);
}

static void draw_json(const struct sync *s, const struct input_set *in, FILE *f)
{
	json_t *head = input_head(in, s->caveats);

	clock_report_json(&s->clocks, head);
	if (trace_info_in_ticks(&in->reader->info))
		head = report_json_in_ticks(head);
	json_text_put(head, f,
		   JSON_INDENT(2) | JSON_ENSURE_ASCII | JSON_PRESERVE_ORDER |
			   JSON_REAL_PRECISION(12));
	fputc('\n', f);
	json_decref(head);
}

/* A check that looked at too little has not passed. */
static int not_checked(const struct input_set *in)
{
	if (!in->nr_guests)
		return fail(-ENODATA, "--check requires a guest trace (--guest)");
	return fail(-ENODATA, "the guest's clock is not checked: too few guest events, or none, "
			      "lie within the host's recording of guest mode");
}

static int run(int argc, char **argv, char **rest)
{
	_cleanup_input_set_ struct input_set *in = NULL;
	struct sync s = {0};
	struct output out;

	(void)rest;
	if (input_add_args(argc, argv, OPTION_LIST_MAX) || output_open("text json", &out))
		return command_failed();
	input_given.allow_ticks = true;
	s.caveats = json_array();
	int err = s.caveats ? input_open(true, wants, NULL, &in) : fail(-ENOMEM, "out of memory");

	if (!err)
		err = reader_each(in->reader, pass, NULL);
	if (!err)
		err = collect(&s, in);
	if (!err && !strcmp(out.format, "json"))
		draw_json(&s, in, out.file);
	else if (!err)
		draw_text(&s, in, out.file);
	json_decref(s.clocks.rows);
	json_decref(s.caveats);
	if (err || !check || s.clocks.verdicts[CLOCK_UNRELIABLE] ||
	    !s.clocks.verdicts[CLOCK_NOT_CHECKED])
		return report_end(err, &out, in, check && s.clocks.verdicts[CLOCK_UNRELIABLE]);
	report_end(0, &out, in, false);
	not_checked(in);
	return command_failed();
}

const struct command sync_command = {
	.name = "sync",
	.args = "[FILE...]",
	.summary = "Show how guest and host clocks are related, and verify it.",
	.group = "Report",
	.details = "guest TSC = host TSC * scale + offset. The error is the bound of every "
		   "converted timestamp.\nThe check counts guest events that lie outside guest "
		   "mode of their vCPU by more than that\nbound.",
	.examples = "  hostrace sync -i vm.hrt --guest guest.dat\n"
		    "  hostrace sync -i vm.hrt --guest guest.dat --clock fit -f json\n"
		    "  hostrace sync -i vm.hrt --guest guest.dat --check",
	.options = options,
	.unused = "since until period event reason limit sort",
	.run = run,
};
