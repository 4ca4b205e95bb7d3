/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the commands of OSv's trace tool share: their options as tables, and from them what the
 * reports in guestside/osv/ want to know. Exit statuses are hostrace's; with --compat a wrong time
 * range is told on stdout and is fine, as there.
 */
#ifndef HOSTRACE_COMMANDS_SAMPLE_RUN_H
#define HOSTRACE_COMMANDS_SAMPLE_RUN_H

#include "analyzers/profile/profile.h"
#include "output/samples/samples_output.h"
#include "commands/common/command.h"
#include "commands/common/output.h"

extern const struct option_row profile_symbol_options[]; /* -d -e -x --no-inlined-by -L -A -F -S */
extern const struct option_row symbols_options[];     /* --symbols -x alone */
extern const struct option_row sample_line_options[]; /* -b -l --no-header */
extern bool no_header_given;
extern const struct option_row compat_options[];      /* --compat alone */
extern const struct option_row profile_options[];     /* -r -g --function --min-* --max-levels */
extern const struct option_row sample_list_options[]; /* -t --tcpdump, for `list` */

extern bool compat_given;

struct symbols_options symbols_given(void);
struct frames_options frames_given(void);
struct sample_line_options sample_line_given(void);

/* --group-by and the filters. -EINVAL with the sentence set. */
int profile_given(struct profile_options *ret);

/* "N" or "P%". NULL text: none. -EINVAL with the sentence set. */
int min_hits_parse(const char *text, uint64_t *ret_hits, double *ret_percent);

/*
 * Times as OSv's tool takes them: --since and --until in seconds unless a unit is given, --period
 * in nanoseconds. -EINVAL with the sentence set.
 */
int time_range_parse(const char *since, const char *until, const char *period,
		     struct time_range *ret);
int time_range_given(struct time_range *ret);

/* Like command_usage(), but as the original does it with --compat. */
int time_range_wrong(void);

enum { SAMPLE_RUN_BEGUN = -1 };

/* A command at work: the trace, its output, its sink. */
struct sample_run {
	struct sample_trace *trace;
	struct input_set *in; /* what trace reads; NULL: an OSv trace as it is */
	struct output out;
	struct row_sink sink;
	json_t *more; /* further notes under the report, or NULL; taken over by sample_run_close() */
};

/*
 * Opens what reading's options and the bare arguments name (default "tracefile"): an OSv trace as it is, all else by
 * its events. Sets the range of times that the report is to look at. SAMPLE_RUN_BEGUN, or the exit status.
 */
int sample_run_open(int argc, char **argv, const char *formats, struct time_range *range,
		    struct sample_run *run);
int sample_run_open_file(const char *path, const char *formats, struct time_range *range,
			 struct sample_run *run);
int sample_run_open_events(const char *formats, struct time_range *range, struct sample_run *run);

/* Ends the report: `err` is what it returned. JSON becomes whole; returns the exit status. */
int sample_run_close(struct sample_run *run, int err);

/* prof and its variants. */
int profile_run(int argc, char **argv, enum profile_of of, const char *tracepoint);

/* ---- list and summary, which know other kinds of file too ---- */

/* Is the file there, and an OSv trace of either form? */
bool osv_is_trace(const char *path);

/* The only input (or, without any, "tracefile") if it is an OSv trace; else NULL. */
const char *osv_only_input(void);

/* Were options given that only OSv traces know? The first one's name, or NULL. */
const char *osv_only_option(void);

int sample_list_run(const char *path);
int sample_summary_run(const char *path, bool timed);
/* --timed of anything else. */
int sample_summary_timed_run(int argc, char **argv);

#endif
