// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "analyzers/profile/samples.h"
#include "base/error.h"
#include "commands/common/confined.h"
#include "commands/common/empty.h"
#include "commands/common/sample_run.h"
#include "readers/osv/osv.h"
#include "readers/osv/raw.h"

static int run_begin(struct sample_run *run, const char *supported)
{
	*run = (struct sample_run){0};
	if (output_open(supported, &run->out))
		return command_failed();
	output_unwrap(&run->out); /* the layout is that of OSv's own tool, which is wider */
	return SAMPLE_RUN_BEGUN;
}

static int run_opened(struct sample_run *run, int err)
{
	if (err) {
		sample_trace_close(run->trace);
		input_set_close(run->in);
		output_cancel(&run->out);
		return command_failed();
	}
	run->sink = (struct row_sink){.out = run->out.file,
				      .json = !strcmp(run->out.format, "json"),
				      .limit = run->out.limit};
	return SAMPLE_RUN_BEGUN;
}

static int osv_trace_open(const char *path, struct sample_run *run)
{
	int err = command_confine(output_file());

	return err ? err : osv_open(path, &run->trace);
}

int sample_run_open_file(const char *path, const char *supported, struct time_range *range,
			 struct sample_run *run)
{
	int status;

	if (options_unused_check("clock no-guest tsc-khz", "on one OSv trace"))
		return command_failed();
	status = time_range_given(range) ? time_range_wrong() : run_begin(run, supported);
	if (status == SAMPLE_RUN_BEGUN)
		status = run_opened(run, osv_trace_open(path, run));
	if (status != SAMPLE_RUN_BEGUN)
		return status;
	const struct osv_raw_counts *raw = osv_raw_counts(run->trace);

	if (raw->unfinished || raw->bad)
		command_note("%s: %llu vCPUs were writing a sample, %llu pages end in invalid "
			     "data; the data after that is skipped",
			     path, (unsigned long long)raw->unfinished,
			     (unsigned long long)raw->bad);
	return status;
}

/* Times are looked at by the report: a pair may begin before them. */
static int events_open(void *arg, struct reader **ret)
{
	struct input_set *in = arg;
	int err = input_set_open_all_times(in, NULL, NULL);

	*ret = in->reader;
	return err;
}

/* --since and so on count from the trace's start. */
static int events_range(const struct sample_trace *t, struct time_range *ret)
{
	uint64_t start, end, since, until;

	samples_span(t, &start, &end);
	*ret = (struct time_range){0};
	if (!input_options_window(&input_given, start, end, &since, &until))
		return 0;
	if (since >= until)
		return fail(-EINVAL, "--since is not before --until");
	*ret = (struct time_range){since > 0, until < UINT64_MAX, (double)since, (double)until};
	return 0;
}

static int run_open_samples(struct sample_run *run, struct time_range *range)
{
	struct samples_input in = {.open = events_open, .arg = run->in};

	in.first_source = run->in->nr_guests ? run->in->nr_hosts : 0;
	in.name = run->in->input[input_set_nr(run->in) - 1].path;
	int err = samples_open(&in, &run->trace);

	return err ? err : events_range(run->trace, range);
}

static int run_open_events(const char *supported, struct time_range *range, struct sample_run *run)
{
	int status = run_begin(run, supported), err;

	if (status != SAMPLE_RUN_BEGUN)
		return status;
	err = input_make(false, &run->in);
	return run_opened(run, err ? err : run_open_samples(run, range));
}

int sample_run_open_only(struct time_range *range, struct sample_run *run)
{
	const char *path = input_options_only_file(&input_given);

	*run = (struct sample_run){0};
	if (path && osv_is_trace(path))
		return time_range_given(range) ? -EINVAL : osv_trace_open(path, run);
	int err = input_make(false, &run->in);

	return err ? err : run_open_samples(run, range);
}

void sample_run_close_only(struct sample_run *run)
{
	sample_trace_close(run->trace);
	input_set_close(run->in);
}

int sample_run_open(int argc, char **argv, const char *supported, struct time_range *range,
		    struct sample_run *run)
{
	if (input_add_args(argc, argv, OPTION_LIST_MAX))
		return command_usage("%s", error_text());
	bool none = !input_options_nr_files(&input_given);
	const char *path = none ? "tracefile" : input_options_only_file(&input_given);

	if (none && !osv_is_trace(path) && !access("hostrace.hrt", F_OK))
		path = NULL;
	if (path && (osv_is_trace(path) || (access(path, F_OK) && errno == ENOENT) || compat_given))
		return sample_run_open_file(path, supported, range, run);
	if (compat_given)
		return command_usage("--compat requires exactly one OSv trace");
	return run_open_events(supported, range, run);
}

static void osv_head_put(struct sample_run *run)
{
	json_t *head =
		json_pack("{s:{s:s, s:s}, s:[{s:o, s:s, s:I, s:i}], s:{s:s, s:i}, s:[]}",
			  "hostrace", "version", HOSTRACE_VERSION, "command", command_now->name,
			  "inputs", "file", json_text(run->trace->file), "kind", run->trace->kind,
			  "events", (json_int_t)run->trace->nr_read, "lost", 0, "clock", "method",
			  "guest uptime", "error_ns", 0, "caveats");

	row_sink_end(&run->sink, head);
}

/* What the inputs report at their end: losses, clocks. */
static bool events_end(struct sample_run *run)
{
	if (run->sink.json) {
		row_sink_end(&run->sink, input_head(run->in, run->more));
	} else if (!strcmp(run->out.format, "text")) {
		input_foot(run->in, run->more, run->sink.out);
	}
	return input_set_strict_failed(run->in);
}

/* A note, or in JSON with the others. What OSv's own tool does not print is not printed with --compat. */
static void empty_report(struct sample_run *run)
{
	_cleanup_input_set_ struct input_set *in = NULL;
	struct input_options options = {.files = {.item = {run->trace->file}, .nr = 1}};

	if (run->in && run->sink.json) {
		json_t *lines = empty_lines(run->in, run->needs);

		run->more = run->more ? run->more : json_array();
		json_array_extend(run->more, lines);
		json_decref(lines);
	} else if (run->in) {
		empty_note(run->in, run->needs);
	} else if (!input_set_new(&options, &in)) {
		empty_note(in, run->needs);
	}
}

/* With the other notes, or where there are none, as under OSv's own formats, on stderr. */
static void limit_note(struct sample_run *run)
{
	char text[64];

	snprintf(text, sizeof(text), "stopped after %" PRIu64 " rows (--limit)", run->sink.nr);
	if (!run->in || !(run->sink.json || !strcmp(run->out.format, "text"))) {
		command_note("%s", text);
		return;
	}
	run->more = run->more ? run->more : json_array();
	json_array_append_new(run->more, json_string(text));
}

int sample_run_close(struct sample_run *run, int err)
{
	bool strict = false;

	if (!err && row_sink_empty(&run->sink) && !compat_given)
		empty_report(run);
	if (!err && run->sink.cut)
		limit_note(run);
	if (!err && run->in)
		strict = events_end(run);
	else if (!err && run->sink.json)
		osv_head_put(run);
	json_decref(run->more);
	sample_trace_close(run->trace);
	input_set_close(run->in);
	if (err) {
		/* What was read before stays, as in OSv's tool; where nothing was, JSON is not begun. */
		if (run->sink.json && run->sink.nr)
			row_sink_end(&run->sink, json_pack("{s:s}", "error", error_text()));
		fflush(run->out.file);
		output_cancel(&run->out);
		return command_failed();
	}
	if (output_close(&run->out))
		return command_failed();
	return strict ? EXIT_FOUND : EXIT_FINE;
}

const char *osv_only_input(void)
{
	const char *path = input_options_only_file(&input_given);

	if (!input_options_nr_files(&input_given) && access("hostrace.hrt", F_OK))
		path = "tracefile"; /* OSv's default */
	return path && osv_is_trace(path) ? path : NULL;
}
