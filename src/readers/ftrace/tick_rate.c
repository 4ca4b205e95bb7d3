// SPDX-License-Identifier: GPL-2.0-or-later
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/saturate.h"
#include "event/guest_fields.h"
#include "event/reader.h"
#include "event/records.h"
#include "readers/ftrace/tick_rate.h"

enum {
	HALT_NS_MIN = 100000, /* of shorter halts the work around them is too large a part */
	HALTS_AGREE = 3,
	NOW_NS_MIN = 100000000, /* between the first and the last timer */
};

#define AGREEMENT 1e-3 /* relative */

void tick_rate_exit(struct tick_rate *r, uint32_t tid, uint64_t tick)
{
	struct tick_exit *e = hash_add_u64(&r->exits, tid, NULL);

	if (e)
		e->tick = tick;
}

void tick_rate_wakeup(struct tick_rate *r, uint32_t tid, uint64_t tick, uint64_t halted_ns)
{
	const struct tick_exit *e = hash_find_u64(&r->exits, tid);

	if (!e || tick <= e->tick || halted_ns < HALT_NS_MIN ||
	    r->nr_halts == TICK_RATE_HALTS_MAX || array_room(r->halt, r->nr_halts))
		return;
	r->halt[r->nr_halts++] = (double)(tick - e->tick) / (double)halted_ns;
}

/* ns = tick * 2^shift * mul / 2^32 (struct pvclock_vcpu_time_info) */
void tick_rate_pvclock(struct tick_rate *r, uint32_t mul, int8_t shift)
{
	if (mul && shift > -32 && shift < 32 && r->pvclock <= 0)
		r->pvclock = ldexp(mul, shift - 32);
}

void tick_rate_now(struct tick_rate *r, uint64_t tick, uint64_t now_ns)
{
	struct tick_pair pair = {tick, now_ns};

	if (!r->first.tick)
		r->first = pair;
	if (tick > r->last.tick && now_ns > r->last.ns)
		r->last = pair;
}

void tick_rate_deinit(struct tick_rate *r)
{
	hash_deinit(&r->exits);
	free(r->halt);
	r->halt = NULL;
	r->nr_halts = 0;
}

bool tick_rate_is_valid(double ns_per_tick)
{
	return ns_per_tick > 1e-3 && ns_per_tick < 1e6;
}

static double rate_of_halts(const struct tick_rate *r)
{
	double least = INFINITY;
	size_t nr = 0;

	for (size_t i = 0; i < r->nr_halts; i++)
		least = fmin(least, r->halt[i]);
	for (size_t i = 0; i < r->nr_halts; i++)
		nr += r->halt[i] <= least * (1 + AGREEMENT);
	return nr >= HALTS_AGREE ? 1 / least : 0;
}

static double rate_of_timers(const struct tick_rate *r)
{
	if (r->last.ns < r->first.ns || r->last.ns - r->first.ns < NOW_NS_MIN)
		return 0;
	return (double)(r->last.ns - r->first.ns) / (double)(r->last.tick - r->first.tick);
}

double tick_rate_find(const struct tick_rate *r, const char **ret_event)
{
	*ret_event = "kvm_pvclock_update";
	if (tick_rate_is_valid(r->pvclock))
		return r->pvclock;
	double timers = rate_of_timers(r), halts = rate_of_halts(r);

	*ret_event = "hrtimer_expire_entry";
	if (tick_rate_is_valid(timers))
		return timers;
	*ret_event = "kvm_vcpu_wakeup";
	return tick_rate_is_valid(halts) ? halts : 0;
}

static void wakeup_take(struct tick_rate *r, const struct event *ev)
{
	RECORD(kvm_vcpu_wakeup, wakeup, ev);

	tick_rate_wakeup(r, ev->tid, ev->time_ns, wakeup->ns);
}

static void pvclock_take(struct tick_rate *r, const struct event *ev)
{
	RECORD(kvm_pvclock_update, clock, ev);

	tick_rate_pvclock(r, clock->mul, (int8_t)clock->shift);
}

void tick_rate_event(struct tick_rate *r, const struct event *ev)
{
	uint64_t now;

	switch (ev->type->id) {
	case EV_kvm_exit:
		tick_rate_exit(r, ev->tid, ev->time_ns);
		break;
	case EV_kvm_vcpu_wakeup:
		wakeup_take(r, ev);
		break;
	case EV_kvm_pvclock_update:
		pvclock_take(r, ev);
		break;
	default:
		if (kernel_event_kind(ev->type) == GUEST_TIMER && guest_number(ev, now, &now))
			tick_rate_now(r, ev->time_ns, now);
	}
}

double tick_rate_describe(struct trace_info *info, double ns_per_tick, const char *event)
{
	bool known = tick_rate_is_valid(ns_per_tick);

	json_object_set_new(info->meta, "tsc_map",
			    json_pack("{s:f, s:I}", "ns_per_tick", known ? ns_per_tick : 1.0,
				      "ns_offset", (json_int_t)0));
	if (!known) {
		trace_info_set_ticks(info);
		return 1;
	}
	json_object_set_new(info->meta, "tsc_khz",
			    json_integer(int64_of_double(1e6 / ns_per_tick + 0.5)));
	if (event && strcmp(event, "kvm_pvclock_update"))
		trace_info_caveat(info,
				  "%s: the frequency of the trace's clock, %.3f MHz, is estimated "
				  "from %s; another one can be given with --tsc-khz",
				  info->file, 1e3 / ns_per_tick, event);
	return ns_per_tick;
}
