// SPDX-License-Identifier: GPL-2.0-or-later
/* Opens what a report of samples is about, has it written, and ends it with what its inputs say: losses, clocks. */
#include <errno.h>
#include <inttypes.h>

#include "analyzers/profile/samples.h"
#include "base/error.h"
#include "commands/common/confined.h"
#include "commands/common/sample_run.h"
#include "readers/osv/osv.h"
#include "readers/osv/raw.h"
#include "reports/empty.h"
#include "reports/head.h"

static int run_failed(struct sample_run *run)
{
	sample_source_close(&run->source);
	output_cancel(&run->out);
	return command_failed();
}

static json_t *run_head(const struct sample_run *run)
{
	return sample_source_head(&run->source, command_now->name, run->more);
}

/* What the inputs report at their end: losses, clocks. */
static bool events_end(struct sample_run *run)
{
	if (run->sink.json) {
		row_sink_end(&run->sink, run_head(run));
	} else if (!strcmp(run->out.format, "text")) {
		inputs_foot(run->source.in, run->more, &run->out, run->sink.out);
	}
	return input_set_strict_failed(run->source.in);
}

/* A note, or in JSON with the others. What OSv's own tool does not print is not printed with --compat. */
static void empty_report(struct sample_run *run, const struct report_needs *needs)
{
	_cleanup_input_set_ struct input_set *in = NULL;
	struct input_options options = {.files = {.item = {run->source.trace->file}, .nr = 1}};

	if (run->source.in && run->sink.json) {
		json_t *lines = empty_lines(run->source.in, needs);

		run->more = run->more ? run->more : json_array();
		json_array_extend(run->more, lines);
		json_decref(lines);
	} else if (run->source.in) {
		empty_note(run->source.in, needs, command_note);
	} else if (!input_set_new(&options, &in)) {
		empty_note(in, needs, command_note);
	}
}

/* With the other notes, or where there are none, as under OSv's own formats, on stderr. */
__attribute__((format(printf, 2, 3))) static void note_add(struct sample_run *run, const char *fmt,
							   ...)
{
	_cleanup_free_ char *text = NULL;
	va_list args;

	va_start(args, fmt);
	if (vasprintf(&text, fmt, args) < 0)
		text = NULL;
	va_end(args);
	if (!text)
		return;
	if (!run->source.in || !(run->sink.json || !strcmp(run->out.format, "text"))) {
		command_note("%s", text);
		return;
	}
	run->more = run->more ? run->more : json_array();
	json_array_append_new(run->more, json_string(text));
}

/* What OSv's tool would have printed is not left out of what is compared with it. */
static int refused_check(const struct sample_run *run)
{
	uint64_t nr = run->source.trace->refused;

	return nr && compat_given ? fail(-E2BIG, SAMPLES_REFUSED, nr) : 0;
}

static int run_close(struct sample_run *run, const struct report_needs *needs, int err)
{
	bool strict = false;

	err = err ? err : refused_check(run);
	if (!err && row_sink_empty(&run->sink) && !compat_given)
		empty_report(run, needs);
	if (!err && run->sink.cut)
		note_add(run, "stopped after %" PRIu64 " rows (--limit)", run->sink.nr);
	if (!err && run->source.trace->refused)
		note_add(run, SAMPLES_REFUSED, run->source.trace->refused);
	if (!err && run->source.in)
		strict = events_end(run);
	else if (!err && run->sink.json)
		row_sink_end(&run->sink, run_head(run));
	json_decref(run->more);
	if (err) {
		/* What was read before stays, as in OSv's tool; where nothing was, JSON is not begun. */
		if (run->sink.json && run->sink.nr)
			row_sink_end(&run->sink, json_pack("{s:s}", "error", error_text()));
		fflush(run->out.file);
		return run_failed(run);
	}
	sample_source_close(&run->source);
	return output_end(0, &run->out, strict);
}

/* path NULL: not an OSv trace alone. */
static int run_open(const char *path, struct sample_run *run)
{
	struct input_set *in = NULL;
	int err = path ? command_confine(output_file()) : input_make(false, &in);

	if (!err)
		return path ? sample_source_open_osv(&run->source, path, NULL)
			    : sample_source_open(&run->source, in);
	input_set_close(in);
	return err;
}

int sample_run_open_only(struct sample_run *run)
{
	const char *path = input_options_only_file(&input_given);

	*run = (struct sample_run){0};
	if (!path || !osv_is_trace(path, NULL))
		return run_open(NULL, run);
	int err = sample_range_of_osv(&input_given, compat_given, &run->source.range);

	return err ? err : run_open(path, run);
}

static int report_write(const char *path, const struct sample_report *report)
{
	struct sample_run run = {0};

	if (path && options_unused_check("clock no-guest tsc-khz", "on one OSv trace"))
		return command_failed();
	if (path && sample_range_of_osv(&input_given, compat_given, &run.source.range))
		return time_range_wrong();
	if (output_open(report->formats, &run.out))
		return command_failed();
	output_unwrap(&run.out); /* the layout is that of OSv's own tool, which is wider */
	if (run_open(path, &run))
		return run_failed(&run);
	run.sink = (struct row_sink){.out = run.out.file,
				     .json = !strcmp(run.out.format, "json"),
				     .limit = run.out.limit};
	const struct osv_raw_counts *raw = osv_raw_counts(run.source.trace);

	if (path && (raw->unfinished || raw->bad))
		command_note("%s: vCPUs that were writing a sample: %" PRIu64
			     "; pages that end in invalid data: %" PRIu64
			     "; the data after that is skipped",
			     path, raw->unfinished, raw->bad);
	return run_close(&run, report->needs, report->write(&run, report->arg));
}

int sample_report_of(const char *osv_trace, const struct sample_report *report)
{
	return report_write(osv_trace, report);
}

int sample_report_run(int argc, char **argv, const struct sample_report *report)
{
	if (input_add_args(argc, argv, OPTION_LIST_MAX))
		return command_usage("%s", error_text());
	bool none = !input_options_nr_files(&input_given);
	const char *path = none ? "tracefile" : input_options_only_file(&input_given);

	if (none && !osv_is_trace(path, NULL) && !access("hostrace.hrt", F_OK))
		path = NULL;
	if (path && (osv_is_trace(path, NULL) || (access(path, F_OK) && errno == ENOENT) ||
		     compat_given))
		return report_write(path, report);
	if (compat_given)
		return command_usage("--compat requires exactly one OSv trace");
	return report_write(NULL, report);
}

/* ---- summary ---- */

static int summary_write(struct sample_run *run, void *arg)
{
	const struct sample_summary_options opt = {.timed = *(const bool *)arg,
						   .compat = compat_given,
						   .range = run->source.range};
	struct sample_summary summary = {0};
	int err = sample_summary_make(run->source.trace, &opt, &summary);

	if (!err)
		summary_print(&summary, &run->sink);
	sample_summary_deinit(&summary);
	return err;
}

int sample_summary_run(int argc, char **argv, const char *path, bool timed)
{
	const struct sample_report report = {
		.formats = "text json", .write = summary_write, .arg = &timed};

	/* A summary of tracepoints is one table, in the order of OSv's tool. */
	if (options_unused_check("by symbols no-resolve limit sort where wide",
				 "on a summary of tracepoints"))
		return command_failed();
	return path ? sample_report_of(path, &report) : sample_report_run(argc, argv, &report);
}

int osv_only_input(const char **ret)
{
	const char *path = input_options_only_file(&input_given);

	if (!input_options_nr_files(&input_given) && access("hostrace.hrt", F_OK))
		path = "tracefile"; /* OSv's default */

	int is = path ? osv_is_trace(path, NULL) : 0;

	*ret = is > 0 ? path : NULL;
	return is < 0 ? is : 0;
}
