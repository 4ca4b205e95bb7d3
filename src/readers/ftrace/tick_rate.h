/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The rate of a clock that counts ticks (trace_clock x86-tsc), from events that carry both a timestamp in ticks and a
 * duration or a time in ns:
 *
 *   kvm_pvclock_update    the rate that KVM tells the guest: exact; a guest whose TSC is scaled would mislead
 *   kvm_vcpu_wakeup       how long the vCPU was halted: its kvm_exit was before, so the ticks between the two are at
 *                         least as many. The least ratio is the rate if several halts agree: the work around them is
 *                         then negligible.
 *   hrtimer_expire_entry  the time of the timer's clock
 */
#ifndef HOSTRACE_TICK_RATE_H
#define HOSTRACE_TICK_RATE_H

#include "base/cleanup.h"
#include "base/hash.h"

enum { TICK_RATE_HALTS_MAX = 1 << 16 };

struct tick_rate {
	double pvclock; /* ns per tick; 0: unknown */
	struct hash_table exits;
	double *halt; /* ticks per ns of each halt */
	size_t nr_halts;
	struct tick_pair {
		uint64_t tick, ns;
	} first, last;
};

#define TICK_RATE (struct tick_rate){.exits = HASH_TABLE(struct tick_exit, 1, 1 << 16)}

/* A thread's newest kvm_exit. */
struct tick_exit {
	uint64_t tid, tick;
};

struct event;
struct trace_info;

/* The same from an event whose time is in ticks: of these types, or of others, which are ignored. */
void tick_rate_event(struct tick_rate *r, const struct event *ev);

void tick_rate_exit(struct tick_rate *r, uint32_t tid, uint64_t tick);
void tick_rate_wakeup(struct tick_rate *r, uint32_t tid, uint64_t tick, uint64_t halted_ns);
void tick_rate_pvclock(struct tick_rate *r, uint32_t mul, int8_t shift);
void tick_rate_now(struct tick_rate *r, uint64_t tick, uint64_t now_ns);
void tick_rate_deinit(struct tick_rate *r);

/* ns per tick, and the name of the events that show it; 0: unknown. */
double tick_rate_find(const struct tick_rate *r, const char **ret_event);

/*
 * Describes a host's clock in the metadata: its rate ("tsc_map", "tsc_khz"), with a note if it was estimated from
 * `event` (NULL: it is given); or that the times are in ticks, if the rate is not valid. Returns the ns per tick to
 * convert with, 1 if they are not converted.
 */
double tick_rate_describe(struct trace_info *info, double ns_per_tick, const char *event);

/* Is this a rate that a real clock can have? */
bool tick_rate_is_valid(double ns_per_tick);

#endif
