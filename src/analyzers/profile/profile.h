/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Profiles of an OSv trace: hits (prof), times of pairs (prof-timed, prof-wait, prof-lock), idle
 * CPUs (prof-idle). */
#ifndef HOSTRACE_PROFILE_H
#define HOSTRACE_PROFILE_H

#include "analyzers/causes/wait_causes.h"
#include "analyzers/profile/frames.h"

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

/* ---- waits, each split by what its vCPU did meanwhile ---- */

/* Of all waits in the profile. */
struct wait_sums {
	uint64_t ns[CAUSES];
	bool sees_devices; /* the host's recording has virtqueue elements */
	uint64_t refused;  /* events of the host that were not used, see wait_causes_refused() */
};

/* As sample_profile(), of PROFILE_TIMED. The caller closes the tree. 0 or -errno with the error message set. */
int wait_profile(struct sample_trace *t, const struct profile_options *opt,
		 const struct wait_causes_input *host, struct calltree **ret,
		 struct wait_sums *ret_sums);

/* ---- allocations by allocator, alignment, size and call path ---- */

struct memory_options {
	struct time_range range;
	bool no_backtrace;
	struct calltree_options tree; /* of allocations */
	struct frames_options frames;
};

/* The finished tree; the caller closes it. 0 or -errno with the error message set. */
int memory_profile(struct sample_trace *t, const struct memory_options *opt, struct calltree **ret);

#endif
