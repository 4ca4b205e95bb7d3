/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Any trace's events as samples, the input of prof, prof-wait, list-timed, ... Waits, locks, wakeups and allocations
 * are identified by name; the names are those of OSv's tracepoints, which an OSv trace has itself. For other traces
 * one table (sample_kinds.c) defines the equivalent events:
 *
 *   profile          Linux's ftrace                 our guest ring         the host's own events
 *   wait             sched_switch, not runnable     sched_wait ... _ret    sched_switch, not runnable
 *   preempted        sched_switch, runnable         -                      sched_switch, runnable
 *   lock             lock:contention_begin ... end  mutex_lock_wait ...    bql_lock ... bql_locked
 *   idle, load       sched_switch to task 0         sched_idle ... _ret    -
 *   wakeup           sched_wakeup (or waking)       sched_wake             sched_wakeup
 *   allocation       kmalloc, kmem_cache_alloc,     memory_malloc_*        -
 *                    mm_page_alloc
 *   timed pairs      NAME_entry ... _exit, _enter   NAME ... NAME_ret,     kvm_exit ... kvm_entry, virtqueue_pop ...
 *                    ... _exit, _begin ... _end,    NAME_err               fill, kvm_userspace_exit ... kvm_run
 *                    _start ... _end, _start ...
 *                    _done; sys_enter: by its number
 *   backtrace        the kernel_stack that follows  frame0, frame1, ...    the guest's instruction pointer; of a
 *                    on the same CPU; perf's                               wait, the reason of the VM-exit
 *                    call_chain
 */
#ifndef HOSTRACE_SAMPLES_H
#define HOSTRACE_SAMPLES_H

#include "event/reader.h"
#include "event/sample.h"
#include "input/input_options.h"

enum {
	SAMPLES_HELD = 4096,	       /* events that wait for their backtrace */
	SAMPLES_THREADS_MAX = 1 << 16, /* threads whose state is kept; waits of others have no end */
	SAMPLES_FRAMES_MAX = 128,      /* of one backtrace; also of a call chain */
	SAMPLES_CPUS_MAX = 4096,
};

struct samples_input {
	/* Opens the input, once for each pass; the callee owns the reader, which stays open until the next call. */
	int (*open)(void *arg, struct reader **ret);
	/* The kind of the file `name`, once it is open; NULL: as the reader's, which has no other input. */
	const char *(*kind)(void *arg);
	void *arg;
	unsigned int first_source; /* events of inputs before this one are skipped */
	const char *name;	   /* of the trace, for messages and symbols */
	struct open_files *files;  /* keeps it; may be NULL */
	struct host_code code;
};

/* 0, or -errno with the error message set. */
int samples_open(const struct samples_input *in, struct sample_trace **ret);

/* The times of the first and the last sample, in ns, approximately: as the reader reported when it was opened. */
void samples_span(const struct sample_trace *t, uint64_t *ret_start, uint64_t *ret_end);

#endif
