/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A profile of waits (struct profile_options of PROFILE_TIMED), each split by what its vCPU did during the wait. */
#ifndef HOSTRACE_WAIT_PROFILE_H
#define HOSTRACE_WAIT_PROFILE_H

#include "analyzers/causes/wait_causes.h"
#include "analyzers/profile/profile.h"

/* Of all waits in the profile. */
struct wait_sums {
	uint64_t ns[CAUSES];
	bool sees_devices; /* the host's recording has virtqueue elements */
	uint64_t refused;  /* events of the host that were not used, see wait_causes_refused() */
};

/* The caller closes the tree. 0 or -errno with the error message set. */
int wait_profile(struct sample_trace *t, const struct profile_options *opt,
		 const struct wait_causes_input *host, struct calltree **ret,
		 struct wait_sums *ret_sums);

#endif
