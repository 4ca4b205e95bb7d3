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

/* A command at work: the trace, the times that it is to look at, its output, its sink. */
struct sample_run {
	struct sample_trace *trace;
	struct time_range range;
	struct input_set *in; /* what trace reads; NULL: an OSv trace as it is */
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

/*
 * Opens the only input without output: only `trace` and `range` may be used. checked: the options were checked before.
 * 0 or -errno with the error message set.
 */
int sample_run_open_only(bool checked, struct sample_run *run);
void sample_run_close_only(struct sample_run *run);

/*
 * `prof` and its variants. causes: a wait is split by what its vCPU did meanwhile. stacks: as prof-flame, folded stacks
 * in order of appearance instead of a tree. Returns the exit status.
 */
struct profile_kind {
	enum profile_of of;
	const char *tracepoint;
	bool causes, stacks;
};
int profile_run(int argc, char **argv, const struct profile_kind *kind);

/* The head of its JSON answer, with the further notes. New reference. */
json_t *sample_run_head(const struct sample_run *run, const char *command);

/*
 * The JSON answer of `profile` or `prof-wait` on the options' inputs, for `hostrace report`. 0 or -errno with the error
 * message set.
 */
int profile_answer(const char *command, json_t **ret);

/* `summary` of an OSv trace, or with path NULL, --timed of anything else. Returns the exit status. */
int sample_summary_run(int argc, char **argv, const char *path, bool timed);

/* The only input (or, without any, "tracefile") if it is an OSv trace; else NULL. */
const char *osv_only_input(void);

#endif
