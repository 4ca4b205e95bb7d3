/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the commands of OSv's trace tool share: their options as tables, and from them what the
 * reports in guestside/osv/ want to know. Exit statuses are hostrace's; with --compat a wrong time
 * range is told on stdout and is fine, as there.
 */
#ifndef HOSTRACE_COMMANDS_OSV_H
#define HOSTRACE_COMMANDS_OSV_H

#include "analyzers/profile/osv_profile.h"
#include "analyzers/profile/osv_report.h"
#include "commands/common/command.h"
#include "commands/common/output.h"

extern const struct option_row osv_symbol_options[];  /* -d -e -x --no-inlined-by -L -A -F -S */
extern const struct option_row symbols_options[];     /* --symbols -x alone */
extern const struct option_row osv_line_options[];    /* -b -l --no-header */
extern bool osv_no_header;
extern const struct option_row osv_compat_options[];  /* --compat alone */
extern const struct option_row osv_profile_options[]; /* -r -g --function --min-* --max-levels */
extern const struct option_row osv_list_options[];    /* -t --tcpdump, for `list` */

extern bool osv_compat;

struct osv_symbols_options osv_symbols_given(void);
struct osv_frames_options osv_frames_given(void);
struct osv_line_options osv_line_given(void);

/* --group-by and the filters. -EINVAL with the sentence set. */
int osv_profile_given(struct osv_profile_options *ret);

/* "N" or "P%". NULL text: none. -EINVAL with the sentence set. */
int osv_hits_parse(const char *text, uint64_t *ret_hits, double *ret_percent);

/*
 * Times as OSv's tool takes them: --since and --until in seconds unless a unit is given, --period
 * in nanoseconds. -EINVAL with the sentence set.
 */
int osv_range_parse(const char *since, const char *until, const char *period,
		    struct osv_range *ret);
int osv_range_given(struct osv_range *ret);

/* Like command_usage(), but as the original does it with --compat. */
int osv_range_wrong(void);

enum { OSV_RUN_BEGUN = -1 };

/* A command at work: the trace, its output, its sink. */
struct osv_run {
	struct osv_trace *trace;
	struct output out;
	struct osv_sink sink;
	json_t *more; /* further notes under the report, or NULL; taken over by osv_run_close() */
};

/*
 * Opens what reading's options and the bare arguments name (default "tracefile"): an OSv trace as it is, all else by
 * its events. Sets the range of times that the report is to look at. OSV_RUN_BEGUN, or the exit status.
 */
int osv_run_open(int argc, char **argv, const char *formats, struct osv_range *range,
		 struct osv_run *run);
int osv_run_open_file(const char *path, const char *formats, struct osv_range *range,
		      struct osv_run *run);
int osv_run_open_events(const char *formats, struct osv_range *range, struct osv_run *run);

/* Ends the report: `err` is what it returned. JSON becomes whole; returns the exit status. */
int osv_run_close(struct osv_run *run, int err);

/* prof and its sisters; and how their trees are written: text, or rows of JSON. */
int osv_prof_run(int argc, char **argv, enum osv_profile_of of, const char *tracepoint);
void osv_trees_put(const struct calltree *tree, bool grouped, struct osv_sink *sink);

/* ---- list and summary, which know other kinds of file too ---- */

/* Is the file there, and an OSv trace of either form? */
bool osv_is_trace(const char *path);

/* The only input (or, without any, "tracefile") if it is an OSv trace; else NULL. */
const char *osv_only_input(void);

/* Were options given that only OSv traces know? The first one's name, or NULL. */
const char *osv_only_option(void);

int osv_list_run(const char *path);
int osv_summary_run(const char *path, bool timed);
/* --timed of anything else. */
int osv_summary_timed_run(int argc, char **argv);

#endif
