/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a vCPU was doing while a task of its guest waited. At each instant the first of these that holds:
 *
 *   preempted  its thread could run on the host, and was switched out
 *   runqueue   its thread was woken, and had not got a CPU yet
 *   stopped    a signal (SIGSTOP) or a tracer had stopped its thread
 *   vmm        it had left KVM_RUN: QEMU works, or waits, before the guest can go on
 *   device     an element of one of the VM's virtqueues was with its device (popped, not yet filled)
 *   halted     the guest had nothing to run on it
 *   kernel     KVM handled an exit
 *   guest      it ran the guest: other tasks, or interrupts
 *   unknown    not known from the host's recording
 *
 * The parts of a wait add up to the wait. Elements without a fill in the whole trace (a balloon's, a lost request's)
 * are ignored; otherwise all time after them would count as the device's.
 */
#ifndef HOSTRACE_WAIT_CAUSES_H
#define HOSTRACE_WAIT_CAUSES_H

#include "base/cleanup.h"
#include "event/reader.h"

#define WAIT_CAUSES(CAUSE)                                                                         \
	CAUSE(PREEMPTED, "preempted")                                                              \
	CAUSE(RUNQUEUE, "runqueue")                                                                \
	CAUSE(STOPPED, "stopped")                                                                  \
	CAUSE(VMM, "vmm")                                                                          \
	CAUSE(DEVICE, "device")                                                                    \
	CAUSE(HALTED, "halted")                                                                    \
	CAUSE(KERNEL, "kernel")                                                                    \
	CAUSE(GUEST, "guest")                                                                      \
	CAUSE(UNKNOWN, "unknown")

enum wait_cause {
#define WAIT_CAUSE_NUMBER(id, name) CAUSE_##id,
	WAIT_CAUSES(WAIT_CAUSE_NUMBER) CAUSES
#undef WAIT_CAUSE_NUMBER
};

extern const char *const wait_cause_names[CAUSES];

enum { CAUSES_VCPUS_MAX = 1024, CAUSES_STEPS_MAX = 1 << 24 }; /* changes kept, of all vCPUs: 1 GiB at most */

struct wait_causes;

struct wait_causes_input {
	/* Opens the host's events (and perhaps others), all times; called twice. It owns the reader. */
	int (*open)(void *arg, bool (*wants)(const char *event, void *arg), struct reader **ret);
	void *arg;
	unsigned int nr_sources; /* events of inputs from this one on are not the host's */
	bool foreign;		 /* as model_set_foreign() */
};

/* -EINVAL: several VMs. 0 or -errno with the error message set. */
int wait_causes_open(const struct wait_causes_input *in, struct wait_causes **ret);
void wait_causes_close(struct wait_causes *c);
DEFINE_CLEANUP(wait_causes, struct wait_causes *, wait_causes_close);

/* Events that could not be used, as there were too many vCPU threads or elements in flight. */
uint64_t wait_causes_refused(const struct wait_causes *c);

/* Does the recording have any virtqueue element? Without, no wait is for a device. */
bool wait_causes_sees_devices(const struct wait_causes *c);

/* The parts of [start, end) on this vCPU; they add up to end - start. */
void wait_causes_of(const struct wait_causes *c, unsigned int vcpu, uint64_t start_ns,
		    uint64_t end_ns, uint64_t ret[CAUSES]);

#endif
