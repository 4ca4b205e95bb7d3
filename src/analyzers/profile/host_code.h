/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Samples of the host's own code: perf's counters, each an event and the one of its call chain. */
#ifndef HOSTRACE_HOST_CODE_H
#define HOSTRACE_HOST_CODE_H

#include "analyzers/profile/call_chains.h"

/* The newest sample of a counter, which a call chain may follow. */
struct counter_seen {
	uint64_t time_ns;
	uint32_t tid, cpu;
	bool any;
};

/* Is the event a sample of a counter; a call chain of the newest one? */
bool counter_note(struct counter_seen *seen, const struct event *ev);
bool counter_follows(struct counter_seen *seen, const struct event *ev);

/*
 * As call_chain_frames(), but no frame is a kernel's address. Those of host_stack, which are shown beside a guest's
 * code, also tell the host's kernel from the guest's ("schedule [host]"), and none is an address of user space.
 */
unsigned int host_code_frames(const struct event *ev, struct backtraces *stacks,
			      struct code_maps *maps, const struct sample_resolve *how,
			      uint64_t address[CALL_CHAINS_FRAMES_MAX]);

#endif
