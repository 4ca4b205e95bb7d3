/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `prof` and its variants: what samples count, or the time of pairs of them, by call path. */
#ifndef HOSTRACE_REPORTS_PROFILE_H
#define HOSTRACE_REPORTS_PROFILE_H

#include "analyzers/profile/profile.h"
#include "output/samples/samples_output.h"
#include "reports/result.h"
#include "reports/samples.h"

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
