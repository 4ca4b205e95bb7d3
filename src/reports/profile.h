/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What reports of samples read (samples.c): one OSv trace as it is, or the events of any inputs, as the samples that
 * they mean (analyzers/profile/samples.h). And `prof` and its variants (profile.c): what samples count, or the time of
 * pairs of them, by call path.
 */
#ifndef HOSTRACE_REPORTS_PROFILE_H
#define HOSTRACE_REPORTS_PROFILE_H

#include "analyzers/profile/profile.h"
#include "output/samples/samples_output.h"
#include "reports/result.h"

struct sample_source {
	struct sample_trace *trace;
	struct time_range range; /* that is asked for; the report looks at it: a pair may begin before */
	struct input_set *in;	 /* what trace reads; NULL: an OSv trace as it is, without filters */
	struct osv_events *events; /* in which its filters select, if it reads one OSv trace */
};

/*
 * Of a zeroed source, to be closed, and not moved, also after a failure. Steals `in`, which is not open. The samples of
 * one OSv trace are those of sample_source_open_osv(), without those that the filters reject.
 */
int sample_source_open(struct sample_source *s, struct input_set *in);
int sample_source_open_osv(struct sample_source *s, const char *path, struct open_files *files);
void sample_source_close(struct sample_source *s);

/*
 * The time window of an OSv trace, as OSv's tool takes it: --since and --until in seconds unless a unit is given,
 * --period in nanoseconds. -EINVAL with the error message set.
 */
int sample_range_of_osv(const struct input_options *o, bool compat, struct time_range *ret);

/* The head of its JSON answer. New reference. */
json_t *sample_source_head(const struct sample_source *s, const char *command, const json_t *more);

struct profile_query {
	struct profile_options opt; /* but the times, which are the source's */
	bool causes; /* a wait is split by what its vCPU did meanwhile: the source has a host's events, too */
	bool stacks; /* as prof-flame: folded stacks in order of appearance instead of a tree */
};

/* *ret is the caller's; *notes: notes on it, a new reference or NULL. 0 or -errno with the error message set. */
int profile_make(const struct profile_query *q, const struct sample_source *s,
		 struct calltree **ret, json_t **notes);

/* Writes it in out's format; rows, as of text and JSON, go to the sink. `command` is its title. */
int profile_put(const struct profile_query *q, struct calltree *tree, const struct sample_source *s,
		const char *command, const struct output *out, struct row_sink *sink);

/* As folded stacks. */
void profile_fold(const struct profile_query *q, struct calltree *tree, FILE *out);

/* What it is made of, in OSv's names and Linux's; without events: any. */
struct report_needs profile_needs(const struct profile_query *q);

/* For `hostrace report`, as a value of JSON; `of` is a struct profile_query. Reads a set of its own. */
extern const struct report_ops profile_report;

#endif
