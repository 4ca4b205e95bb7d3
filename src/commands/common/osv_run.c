// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The profiles at work on what the options name: one OSv trace as it is, or any other input, or several, or a guest's
 * trace beside its host's, as the samples that their events mean (profile/samples.h).
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "analyzers/profile/samples.h"
#include "base/error.h"
#include "commands/common/osv.h"
#include "commands/common/reading.h"

static int run_begin(struct osv_run *run, const char *formats)
{
	*run = (struct osv_run){0};
	return output_open(formats, &run->out) ? command_failed() : OSV_RUN_BEGUN;
}

static int run_opened(struct osv_run *run, int err)
{
	if (err) {
		osv_close(run->trace);
		output_cancel(&run->out);
		return command_failed();
	}
	run->sink = (struct osv_sink){.out = run->out.file,
				      .json = !strcmp(run->out.format, "json"),
				      .limit = run->out.limit};
	return OSV_RUN_BEGUN;
}

int osv_run_open_file(const char *path, const char *formats, struct osv_range *range,
		      struct osv_run *run)
{
	int status = osv_range_given(range) ? osv_range_wrong() : run_begin(run, formats);

	if (status == OSV_RUN_BEGUN)
		status = run_opened(run, osv_open(path, &run->trace));
	if (status == OSV_RUN_BEGUN && (run->trace->unfinished || run->trace->bad))
		command_note("%s: %llu vCPUs were writing a sample, %llu pages end in something "
			     "that is none; what follows them is not read",
			     path, (unsigned long long)run->trace->unfinished,
			     (unsigned long long)run->trace->bad);
	return status;
}

/* Times are looked at by the report: a pair may begin before them. */
static int events_open(void *arg, struct reader **ret)
{
	(void)arg;
	return reading_open_all_times(NULL, NULL, ret);
}

/* --since and so on count from the trace's start. */
static int events_range(const struct osv_trace *t, struct osv_range *ret)
{
	uint64_t start, end, since, until;

	samples_span(t, &start, &end);
	*ret = (struct osv_range){0};
	if (!reading_window(start, end, &since, &until))
		return 0;
	if (since >= until)
		return fail(-EINVAL, "--since is not before --until");
	*ret = (struct osv_range){since > 0, until < UINT64_MAX, (double)since, (double)until};
	return 0;
}

int osv_run_open_events(const char *formats, struct osv_range *range, struct osv_run *run)
{
	struct samples_input in = {.open = events_open, .first_source = reading_first_guest(),
				   .name = reading_last_path()};
	int status = run_begin(run, formats), err;

	if (status != OSV_RUN_BEGUN)
		return status;
	err = samples_open(&in, &run->trace);
	return run_opened(run, err ? err : events_range(run->trace, range));
}

int osv_run_open(int argc, char **argv, const char *formats, struct osv_range *range,
		 struct osv_run *run)
{
	if (reading_take_args(argc, argv, OPTION_LIST_MAX))
		return command_usage("%s", error_text());
	const char *path = reading_nr_files() ? reading_only_file() : "tracefile";

	if (!reading_nr_files() && !osv_is_trace(path) && !access("hostrace.hrt", F_OK))
		path = NULL;
	if (path && (osv_is_trace(path) || access(path, F_OK) || osv_compat))
		return osv_run_open_file(path, formats, range, run);
	if (osv_compat)
		return command_usage("--compat goes with one OSv trace");
	return osv_run_open_events(formats, range, run);
}

static void osv_head_put(struct osv_run *run)
{
	json_t *head = json_pack(
		"{s:{s:s, s:s}, s:[{s:s, s:s, s:I, s:i}], s:{s:s, s:i}, s:[]}", "hostrace",
		"version", HOSTRACE_VERSION, "command", command_now->name, "inputs", "file",
		run->trace->file, "kind", osv_kind(run->trace),
		"events", (json_int_t)osv_nr_read(run->trace), "lost", 0, "clock", "method",
		"guest uptime", "error_ns", 0, "caveats");

	osv_sink_end(&run->sink, head);
}

/* What the inputs told at their end: losses, clocks. */
static bool events_end(struct osv_run *run)
{
	const struct reader *r = samples_reader(run->trace);

	if (!r)
		return false;
	if (run->sink.json) {
		osv_sink_end(&run->sink, reading_head(r, run->more));
	} else if (!strcmp(run->out.format, "text")) {
		reading_foot(r, run->more, run->sink.out);
	}
	return reading_strict_failed(r);
}

int osv_run_close(struct osv_run *run, int err)
{
	bool strict = false;

	if (!err && run->trace->source)
		strict = events_end(run);
	else if (!err && run->sink.json)
		osv_head_put(run);
	json_decref(run->more);
	osv_close(run->trace);
	if (err) {
		/* What was read before stays, as in OSv's tool; where nothing was, JSON is not begun. */
		if (run->sink.json && run->sink.nr)
			osv_sink_end(&run->sink, json_pack("{s:s}", "error", error_text()));
		fflush(run->out.file);
		output_cancel(&run->out);
		return command_failed();
	}
	if (output_close(&run->out))
		return command_failed();
	return strict ? EXIT_FOUND : EXIT_FINE;
}
