/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Frames of perf's call chains (event/call_chain.h), and of host_stack, as backtraces. */
#ifndef HOSTRACE_CALL_CHAINS_H
#define HOSTRACE_CALL_CHAINS_H

#include "analyzers/profile/backtraces.h"
#include "analyzers/profile/code_maps.h"

enum { CALL_CHAINS_FRAMES_MAX = 128 };

bool call_chain_is(const struct event_type *type);

/* Is it a sample of a counter, which a call chain of its time, thread and CPU may follow? */
bool call_chain_is_counter(const struct event_type *type);

/*
 * The frames of a call chain as addresses for backtrace_set(): names are the backtraces', code of user space is a place
 * in a file (maps NULL: an address). Returns their number.
 */
unsigned int call_chain_frames(const struct event *ev, struct backtraces *stacks,
			       struct code_maps *maps, uint64_t address[CALL_CHAINS_FRAMES_MAX]);

#endif
