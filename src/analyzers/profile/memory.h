/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Allocations by allocator, alignment, size and call path. */
#ifndef HOSTRACE_MEMORY_PROFILE_H
#define HOSTRACE_MEMORY_PROFILE_H

#include "analyzers/profile/frames.h"
#include "analyzers/profile/time_range.h"

struct memory_options {
	struct time_range range;
	bool no_backtrace;
	struct calltree_options tree; /* of allocations */
	struct frames_options frames;
};

/* The finished tree; the caller closes it. 0 or -errno with the error message set. */
int memory_profile(struct sample_trace *t, const struct memory_options *opt, struct calltree **ret);

#endif
