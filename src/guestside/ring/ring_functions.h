/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Function tracing into a guest ring: build the code to be traced with -finstrument-functions and include this in
 * ONE file of it, after defining where records go:
 *
 *   #define RING_FUNCTIONS_RING   (&my_ring)          a struct ring *, NULL until it is ready
 *   #define RING_FUNCTIONS_CPU    (my_cpu())          index of the vCPU's buffer
 *   #define RING_FUNCTIONS_THREAD (my_thread_id())
 *   #include "ring_functions.h"
 *   ...
 *   ring_functions_init(&my_ring);                    describes the two events, then tracing is on
 *
 * What the three macros call must itself be marked no_instrument_function, or it traces itself for ever. Leave hot
 * one-line helpers out with -finstrument-functions-exclude-file-list and -exclude-function-list.
 */
#ifndef HOSTRACE_GUEST_RING_FUNCTIONS_H
#define HOSTRACE_GUEST_RING_FUNCTIONS_H

#include "ring.h"

static int ring_function_entry = -1, ring_function_exit = -1;

__attribute__((no_instrument_function, unused)) static int ring_functions_init(struct ring *r)
{
	/* Without names of members, which C++ before 20 does not have. */
	static const struct ring_event entry = {
		0, 2, 0, "function_entry", {{"function", RING_ADDR, 1}, {"caller", RING_ADDR, 1}}};
	static const struct ring_event leave = {
		0, 2, 0, "function_exit", {{"function", RING_ADDR, 1}, {"caller", RING_ADDR, 1}}};
	int exit_id = ring_event_add(r, &leave), entry_id = ring_event_add(r, &entry);

	if (exit_id < 0 || entry_id < 0)
		return -1;
	__atomic_store_n(&ring_function_exit, exit_id, __ATOMIC_RELAXED);
	__atomic_store_n(&ring_function_entry, entry_id, __ATOMIC_RELEASE);
	return 0;
}

RING_INLINE void ring_function(int event, void *function, void *caller)
{
	struct ring *r = RING_FUNCTIONS_RING;

	if (r && event >= 0)
		ring_trace(r, RING_FUNCTIONS_CPU, RING_FUNCTIONS_THREAD, (uint16_t)event,
			   (uintptr_t)function, (uintptr_t)caller);
}

/* GCC and clang call these two around every instrumented function. */
#ifdef __cplusplus
extern "C" {
#endif
void __cyg_profile_func_enter(void *function, void *caller);
void __cyg_profile_func_exit(void *function, void *caller);

__attribute__((no_instrument_function)) void __cyg_profile_func_enter(void *function, void *caller)
{
	ring_function(__atomic_load_n(&ring_function_entry, __ATOMIC_RELAXED), function, caller);
}

__attribute__((no_instrument_function)) void __cyg_profile_func_exit(void *function, void *caller)
{
	ring_function(__atomic_load_n(&ring_function_exit, __ATOMIC_RELAXED), function, caller);
}
#ifdef __cplusplus
}
#endif

#endif
