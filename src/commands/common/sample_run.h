/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Commands that work on samples: what they open and how they end. Input is one OSv trace as it is, or any other input,
 * or several, or a guest's trace with its host's, as the samples that their events mean (analyzers/profile/samples.h).
 */
#ifndef HOSTRACE_COMMANDS_SAMPLE_RUN_H
#define HOSTRACE_COMMANDS_SAMPLE_RUN_H

#include "commands/common/input.h"
#include "commands/common/output.h"
#include "commands/common/sample_options.h"
#include "output/report.h"
#include "reports/profile.h"

/* A command at work: the trace, the times that it is to look at, its output, its sink. */
struct sample_run {
	struct sample_source source;
	struct output out;
	struct row_sink sink;
	json_t *more; /* further notes under the report, or NULL; it takes the reference */
};

struct sample_report {
	const char *formats;		  /* as in output_open() */
	const struct report_needs *needs; /* to explain an empty report; NULL: any event */
	int (*write)(struct sample_run *run, void *arg); /* 0 or -errno with the error message set */
	void *arg;
};

/*
 * The report of what reading's options and the bare arguments name (default "tracefile"): an OSv trace as it is, all
 * else by its events; or of one OSv trace. JSON becomes whole, also if write() fails. Returns the exit status.
 */
int sample_report_run(int argc, char **argv, const struct sample_report *report);
int sample_report_of(const char *osv_trace, const struct sample_report *report);

/* Opens the only input without output: only `source` may be used, and is to be closed. 0 or -errno. */
int sample_run_open_only(struct sample_run *run);

/* `prof` and its variants: samples, or pairs of this tracepoint. Returns the exit status. */
int profile_of(int argc, char **argv, enum profile_of of, const char *tracepoint);

/* `summary` of an OSv trace, or with path NULL, --timed of anything else. Returns the exit status. */
int sample_summary_run(int argc, char **argv, const char *path, bool timed);

/*
 * The only input (or, without any, "tracefile") if it is an OSv trace; else *ret is NULL. 0, or -errno with the error
 * message set: it cannot be read.
 */
int osv_only_input(const char **ret);

#endif
