/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Commands that work on samples: what they open and how they end. Input is one OSv trace as it is, or any other input,
 * or several, or a guest's trace with its host's, as the samples that their events mean (analyzers/profile/samples.h).
 */
#ifndef HOSTRACE_COMMANDS_SAMPLE_RUN_H
#define HOSTRACE_COMMANDS_SAMPLE_RUN_H

#include "commands/common/command.h"
#include "commands/common/input.h"
#include "commands/common/output.h"
#include "output/report.h"
#include "commands/common/sample_options.h"
#include "output/samples/samples_output.h"

enum { SAMPLE_RUN_BEGUN = -1 };

/* A command at work: the trace, its output, its sink. */
struct sample_run {
	struct sample_trace *trace;
	struct input_set *in; /* what trace reads; NULL: an OSv trace as it is */
	struct output out;
	struct row_sink sink;
	const struct report_needs *needs; /* to explain an empty report; NULL: any event */
	json_t *more; /* further notes under the report, or NULL; sample_run_close() takes the reference */
};

/*
 * Opens what reading's options and the bare arguments name (default "tracefile"): an OSv trace as it is, all else by
 * its events. Sets the range of times that the report is to look at. SAMPLE_RUN_BEGUN, or the exit status.
 */
int sample_run_open(int argc, char **argv, const char *supported, struct time_range *range,
		    struct sample_run *run);
int sample_run_open_file(const char *path, const char *supported, struct time_range *range,
			 struct sample_run *run);

/* Opens the only input without output: only `trace` may be used. 0 or -errno with the error message set. */
int sample_run_open_only(struct time_range *range, struct sample_run *run);
void sample_run_close_only(struct sample_run *run);

/* Ends the report: `err` is what it returned. JSON becomes whole; returns the exit status. */
int sample_run_close(struct sample_run *run, int err);

/* `prof` and its variants; causes: a wait is split by what its vCPU did meanwhile. Returns the exit status. */
int profile_run(int argc, char **argv, enum profile_of of, const char *tracepoint, bool causes);

/*
 * `summary`: of an OSv trace; and --timed of anything else. Both return the exit status.
 */
int sample_summary_run(const char *path, bool timed);
int sample_summary_timed_run(int argc, char **argv);

/* The only input (or, without any, "tracefile") if it is an OSv trace; else NULL. */
const char *osv_only_input(void);

#endif
