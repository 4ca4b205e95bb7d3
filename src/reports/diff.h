/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * `hostrace diff`: what differs between two recordings, from one pass over each. Each of both may be several runs, and
 * there may be further ones: each is compared with the first.
 */
#ifndef HOSTRACE_REPORTS_DIFF_H
#define HOSTRACE_REPORTS_DIFF_H

#include "analyzers/compare/compare.h"
#include "reports/result.h"

enum { DIFF_SIDES_MAX = 26 }; /* A to Z */

struct diff_side {
	const char *baseline;	/* its name, if these are its recordings; else NULL */
	unsigned int first, nr; /* of the input's files: those that are its runs */
	bool whole; /* the time window is not one of theirs */
};

struct diff_query {
	const char *command;
	const struct input_options *input; /* of all; its files are the recordings */
	struct diff_side side[DIFF_SIDES_MAX];
	unsigned int nr_sides;		   /* two or more */
	const char *by;			   /* only these kinds, comma-separated; NULL: all */
	double margin, min_share;	   /* see compare.h */
	bool all;			   /* text: with figures that have not changed */
	unsigned int jobs;		   /* threads; 0: one per CPU */
	void (*note)(const char *fmt, ...) __attribute__((format(printf, 1, 2))); /* on guests' traces */
};

struct diff;

/* Is `by` a list of kinds? 0, or -EINVAL with the error message set. */
int diff_by_check(const char *by);

/* The query is borrowed. 0 or -errno with the error message set; *ret is to be closed in both cases. */
int diff_run(const struct diff_query *q, struct diff **ret);
int diff_write(const struct diff *d, const struct output *out);

/* What `-f json` prints, but for its head. *ret: a new reference. 0 or -errno with the error message set. */
int diff_tree(const struct diff *d, json_t **ret);
void diff_close(struct diff *d);

/* Did a figure change by more than this part, or grow if only_up? */
bool diff_exceeds(const struct diff *d, double limit, bool only_up);

/* --strict: did one of the recordings lose events? */
bool diff_strict_failed(const struct diff *d);

#endif
