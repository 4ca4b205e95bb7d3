/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A profile of guest code from the host's events alone. The events that have the guest's instruction pointer:
 *
 *   guest_sample, guest_stack   record --sample: a timer's interrupt made the guest exit: unbiased
 *   host_stack                  ... beside these: what the VM's threads did in the host at the other ticks
 *   kvm_exit, by an external    without that timer: any interrupt of the host's CPU. Its own timer is unbiased;
 *   interrupt                   devices and other CPUs interrupt when the guest has given them work
 *   kvm_exit, by its reason     not where the guest spends time, but what makes it exit (HOST_CAUSES)
 *   kvm_page_fault,             if the KVM backend has no kvm_exit, the only ones without the timer
 *   kvm_emulate_insn
 *
 * A recording of perf's counters with call chains has none of these: its profile is of the host's code.
 */
#ifndef HOSTRACE_HOST_PROFILE_H
#define HOSTRACE_HOST_PROFILE_H

#include <jansson.h>

#include "analyzers/profile/frames.h"
#include "analyzers/profile/host_code.h"
#include "event/reader.h"

struct vm_names;

enum host_profile_of {
	HOST_CLOCK,	/* the timer's samples in the guest, and those in the host with a call chain */
	HOST_EMULATED,	/* the timer's samples in the kernel, where the backend emulates the guest */
	HOST_INTERRUPT, /* exits by external interrupts */
	HOST_CAUSES,	/* exits, and how long each kept the vCPU */
	HOST_OTHERS,	/* other events with an instruction pointer */
	HOST_CODE,	/* call chains of perf's counters */
};

enum { HOST_GROUPS_MAX = 4096, HOST_ERRORS = 7 };

/* vCPUs are those of each VM by itself. */
enum {
	HOST_BY_VM = 1,
	HOST_BY_VCPU = 2,
	HOST_BY_TID = 4,
	HOST_BY_TASK = 8,
	HOST_BY_REASON = 16,
};

struct host_profile_options {
	struct code_maps *maps; /* borrowed; names the host's code; NULL: none */
	enum host_profile_of of;
	unsigned int by; /* HOST_BY_*: a tree for each; 0: one */
	const struct vm_names *vms; /* borrowed; NULL: pids only */
	uint64_t since_ns, until_ns; /* the time window: of samples, and of the ends of exits */
	struct frames_options frames;
	struct calltree_options tree;

	/* Is given each sample that would be counted, and there is no tree then. is_host: without `rip`. NULL: none. */
	int (*seen)(void *arg, const struct event *ev, bool is_host, uint64_t rip);
	void *seen_arg;
};

/* The events in the trace: counted by host_profile_count() to choose what to profile. */
struct host_profile_totals {
	uint64_t clock[3]; /* guest, kernel, VMM */
	uint64_t unknown;  /* of them in the guest, or emulated, without an instruction pointer */
	uint64_t stacks, cut[HOST_ERRORS]; /* --frames: call chains, and how they ended, by stack_error */
	struct {
		uint64_t all, kernel_cut, user_cut; /* of as many frames as fit */
		uint64_t counted; /* set by host_profile_end(): those in the tree */
		uint64_t user_none, user_one;	    /* ... that do not show the VMM's callers */
	} host; /* host_stack */
	uint64_t interrupts, exits, others;
	bool has_exits; /* with an instruction pointer, in the window or not */
	uint64_t counters, chains; /* samples of perf's counters; call chains of them */
	struct counter_seen seen;
	uint64_t unknown_ends; /* set by host_profile(): exits whose end may be among lost events: no latency */
	uint64_t sample_hz;
};

bool host_profile_wants(const char *event, void *arg);

/* Can it be counted, and does not only tell more about others? */
bool host_profile_where_on(const char *event);

/* All events. Of `opt` the time window counts. */
void host_profile_count(const struct host_profile_options *opt, const struct event *ev,
			struct host_profile_totals *t);

/* Chooses the least biased events available, or with `causes` exits. -ENODATA with the error message set: none. */
int host_profile_choose(const struct host_profile_totals *t, bool causes,
			enum host_profile_of *ret);

/*
 * All events, for opt->of. `opt` is borrowed. host_profile_end(): the finished tree, a root by group; the caller
 * closes it. With HOST_CAUSES, totals->exits are those in the tree; notes are added to those of
 * `r`, the reader. 0 or -errno with the error message set.
 */
struct host_profile;
int host_profile_new(const struct reader *r, const struct host_profile_options *opt,
		     struct host_profile **ret);
int host_profile_event(struct host_profile *p, const struct event *ev);
int host_profile_end(struct host_profile *p, struct reader *r, struct host_profile_totals *totals,
		     struct calltree **ret);
void host_profile_free(struct host_profile *p);

#endif
