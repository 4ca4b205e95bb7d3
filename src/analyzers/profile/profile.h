/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Profiles of an OSv trace: hits (prof), times of pairs (prof-timed, prof-wait, prof-lock), idle
 * CPUs (prof-idle). */
#ifndef HOSTRACE_PROFILE_H
#define HOSTRACE_PROFILE_H

#include "analyzers/profile/frames.h"
#include "analyzers/profile/time_range.h"

enum profile_of { PROFILE_HITS, PROFILE_TIMED, PROFILE_IDLE };
enum profile_group { PROFILE_GROUP_NONE, PROFILE_GROUP_THREAD, PROFILE_GROUP_CPU };

enum { PROFILE_PARTS_MAX = 8 };

/* A part of one sample's time, shown below one more frame, such as "[device]". */
struct profile_part {
	const char *name;
	double ns;
};

struct profile_options {
	enum profile_of of;
	const char *tracepoint; /* exact name; NULL: all (PROFILE_HITS only) */
	enum profile_group group;
	bool compat;
	struct time_range range;
	struct frames_options frames;
	struct calltree_options tree;
	/* Splits [start, start + ns) of the sample; returns the number of parts. NULL: samples are not split. */
	unsigned int (*split)(void *arg, const struct sample *s, double start_ns, double ns,
			      struct profile_part ret[PROFILE_PARTS_MAX]);
	void *split_arg;
};

/* Returns the finished tree in *ret; the caller closes it. 0 or -errno with the error message set. */
int sample_profile(struct sample_trace *t, const struct profile_options *opt,
		   struct calltree **ret);

#endif
