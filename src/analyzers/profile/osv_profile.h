/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Profiles of an OSv trace: hits (prof), times of pairs (prof-timed, prof-wait, prof-lock), idle
 * CPUs (prof-idle). */
#ifndef HOSTRACE_OSV_PROFILE_H
#define HOSTRACE_OSV_PROFILE_H

#include "analyzers/profile/osv_frames.h"
#include "analyzers/profile/osv_report.h"

enum osv_profile_of { OSV_HITS, OSV_TIMED, OSV_IDLE };
enum osv_group { OSV_GROUP_NONE, OSV_GROUP_THREAD, OSV_GROUP_CPU };

enum { OSV_PARTS_MAX = 8 };

/* Of one sample's time: so much of it under one more frame, "[device]". */
struct osv_part {
	const char *name;
	double ns;
};

struct osv_profile_options {
	enum osv_profile_of of;
	const char *tracepoint; /* exact name; NULL: all (OSV_HITS only) */
	enum osv_group group;
	bool compat;
	struct osv_range range;
	struct osv_symbols_options symbols;
	struct osv_frames_options frames;
	struct calltree_options tree;
	/* Splits [start, start + ns) of the sample; returns how many parts. NULL: it is not split. */
	unsigned int (*split)(void *arg, const struct osv_sample *s, double start_ns, double ns,
			      struct osv_part ret[OSV_PARTS_MAX]);
	void *split_arg;
};

/* Makes the finished tree; the caller closes it. 0 or -errno with the sentence set. */
int osv_profile(struct osv_trace *t, const struct osv_profile_options *opt, struct calltree **ret);

/* Prints it as OSv's tool does: one tree, or one under a header per group. */
void osv_profile_print(const struct calltree *tree, bool grouped, FILE *out);

#endif
