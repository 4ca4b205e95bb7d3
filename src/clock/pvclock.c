// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * kvm-clock: ns = system_time + ((tsc - tsc_timestamp) << shift) * mul >> 32, a negative shift to the right first
 * (kernel: Documentation/virt/kvm/x86/msr.rst, MSR_KVM_SYSTEM_TIME_NEW). KVM writes a new record whenever the map
 * changes, so times go through the record in force.
 */
#include <errno.h>
#include <stddef.h>

#include "base/array.h"
#include "base/error.h"
#include "clock/clock.h"

typedef unsigned __int128 wide;

uint64_t clock_pvclock_ns(const struct clock_pvclock *rec, uint64_t tsc)
{
	bool before = tsc < rec->tsc_timestamp;
	wide delta = before ? rec->tsc_timestamp - tsc : tsc - rec->tsc_timestamp;

	if (rec->shift >= 0)
		delta <<= rec->shift < 32 ? rec->shift : 32;
	else
		delta >>= rec->shift > -64 ? -rec->shift : 63;
	delta = (delta & UINT64_MAX) * rec->mul >> 32;
	return before ? rec->system_time - (uint64_t)delta : rec->system_time + (uint64_t)delta;
}

uint64_t clock_pvclock_tsc(const struct clock_pvclock *rec, uint64_t ns)
{
	bool before = ns < rec->system_time;
	wide delta = before ? rec->system_time - ns : ns - rec->system_time;

	if (!rec->mul)
		return rec->tsc_timestamp;
	delta = ((delta & UINT64_MAX) << 32) / rec->mul;
	if (rec->shift >= 0)
		delta >>= rec->shift < 64 ? rec->shift : 63;
	else
		delta <<= rec->shift > -32 ? -rec->shift : 31;
	return before ? rec->tsc_timestamp - (uint64_t)delta : rec->tsc_timestamp + (uint64_t)delta;
}

bool clock_pvclock_offset_in_effect(const struct clock_pvclock *rec, size_t nr,
				    const struct clock_vcpu *reported)
{
	size_t reported_nearer = 0;

	for (size_t i = 0; i < nr; i++) {
		size_t before = array_prefix(reported->nr_segments, k,
					     reported->segment[k].from <= rec[i].host_tsc);
		const struct clock_segment *s = reported->segment;
		int64_t own, with;

		if (!before)
			continue;
		s += before - 1;
		own = (int64_t)(rec[i].host_tsc - rec[i].tsc_timestamp);
		with = (int64_t)(clock_segment_guest(s, rec[i].host_tsc) - rec[i].tsc_timestamp);
		/* With a master clock the timestamp is older than the event, never newer: compare the sizes. */
		reported_nearer += (with < 0 ? -(uint64_t)with : (uint64_t)with) <=
				   (own < 0 ? -(uint64_t)own : (uint64_t)own);
	}
	return 2 * reported_nearer >= nr;
}

/* The guest's TSC at a host event, by the segment in force then. */
static uint64_t guest_tsc_at(const struct clock_vcpu *guest, uint64_t host_tsc)
{
	size_t before = array_prefix(guest->nr_segments, k,
				     !k || guest->segment[k].from <= host_tsc);

	return before ? clock_segment_guest(&guest->segment[before - 1], host_tsc) : host_tsc;
}

static uint64_t host_tsc_at(const struct clock_vcpu *guest, uint64_t guest_tsc, uint64_t not_before)
{
	size_t before = array_prefix(guest->nr_segments, k,
				     !k || guest->segment[k].from <= not_before);
	struct clock_cursor c = {.segment = before ? before - 1 : 0};

	return guest->nr_segments ? clock_vcpu_host(guest, &c, guest_tsc) : guest_tsc;
}

void clock_pvclock_begins(const struct clock_pvclock *rec, size_t nr,
			  const struct clock_vcpu *guest, uint64_t *ret_least)
{
	uint64_t least = UINT64_MAX;

	for (size_t i = nr; i-- > 0;) {
		uint64_t begin = clock_pvclock_ns(&rec[i], guest_tsc_at(guest, rec[i].host_tsc));

		ret_least[i] = least = begin < least ? begin : least;
	}
}

uint64_t clock_pvclock_host(const struct clock_pvclock *rec, const uint64_t *least, size_t nr,
			    const struct clock_vcpu *guest, uint64_t ns)
{
	size_t begun = array_prefix(nr, i, least[i] <= ns);

	if (!nr)
		return 0;
	rec += begun ? begun - 1 : 0;
	return host_tsc_at(guest, clock_pvclock_tsc(rec, ns), rec->host_tsc);
}

int clock_pvclock_boot(const struct clock_pvclock *rec, size_t nr, const struct clock_vcpu *guest,
		       uint64_t registered_tsc, const struct clock_limit *limit, size_t nr_limits,
		       uint64_t *ret_ns, double *ret_error_ns)
{
	const struct clock_pvclock *r = NULL;
	uint64_t low, high = UINT64_MAX;

	for (size_t i = 0; i < nr && rec[i].host_tsc <= registered_tsc; i++)
		r = &rec[i];
	if (!r)
		return fail(-ENODATA,
			    "the guest's boot was not recorded: no kvm_pvclock_update before it");
	low = clock_pvclock_ns(r, guest_tsc_at(guest, registered_tsc));
	for (size_t i = 0; i < nr_limits; i++) {
		const struct clock_limit *l = &limit[i];
		uint64_t at;

		for (size_t k = 0; k < nr && rec[k].host_tsc <= l->host_tsc; k++)
			r = &rec[k];
		at = clock_pvclock_ns(r, guest_tsc_at(guest, l->host_tsc)) - l->guest_tsc;
		if (l->guest_first && at < high)
			high = at;
		else if (!l->guest_first && at > low)
			low = at;
	}
	if (high < low)
		return fail(-EINVAL, "the guest's kicks contradict its boot time by %llu ns",
			    (unsigned long long)(low - high));
	*ret_ns = high == UINT64_MAX ? low : low + (high - low) / 2;
	*ret_error_ns = high == UINT64_MAX ? -1 : (double)(high - low) / 2; /* -1: bounded from one side only */
	return 0;
}
