/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Guest TSC to host time while events are read, for times close to the current one: by the newest offset of the vCPU,
 * and the two newest calibration pairs. Elsewhere src/clock/ does this from the whole recording.
 */
#ifndef HOSTRACE_INTERRUPTS_TSC_H
#define HOSTRACE_INTERRUPTS_TSC_H

#include "base/hash.h"
#include "event/event.h"

struct tsc_clock {
	struct hash_table vcpus; /* their offsets */
	struct {
		uint64_t ns, tsc;
	} pair[2]; /* the newer one last */
	unsigned int nr_pairs;
};

void tsc_clock_init(struct tsc_clock *c);
void tsc_clock_deinit(struct tsc_clock *c);

/* Learns from clock_pair, vcpu_tsc and kvm_write_tsc_offset. */
void tsc_clock_event(struct tsc_clock *c, const struct event *ev);

/* Of the vCPU of ev; 0: not known. */
uint64_t tsc_clock_ns(const struct tsc_clock *c, const struct event *ev, uint64_t guest_tsc);

#endif
