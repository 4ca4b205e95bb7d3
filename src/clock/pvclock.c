// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * kvm-clock: ns = system_time + ((tsc - tsc_timestamp) << shift) * mul >> 32, a negative shift to the right first
 * (kernel: Documentation/virt/kvm/x86/msr.rst, MSR_KVM_SYSTEM_TIME_NEW). KVM writes a new record whenever the map
 * changes, so times go through the record in force.
 */
#include <errno.h>
#include <math.h>

#include "base/array.h"
#include "base/error.h"
#include "clock/align_internal.h"

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

/*
 * Guests that timestamp with ns of their kvm-clock: Linux's trace clocks other than x86-tsc, OSv's uptime. The host's
 * recording has the same parameters that the guest uses (kvm_pvclock_update), so the host's data is converted to
 * the guest's kvm-clock, and only one constant must be fitted: the zero of the guest's timestamps.
 *
 *   host TSC --(offset, scale, if in effect)--> guest TSC --(record in force)--> kvm-clock ns --(constant)--> timestamp
 *
 * A stop of the VM makes a new record that continues where the old one stopped: the clock is stopped meanwhile, and so
 * does the map. A guest whose clock is disciplined by NTP drifts away from its kvm-clock; that is fitted, too, when the
 * constant alone does not do.
 */

#define DRIFT_MAX_PPB 500000.0 /* NTP slews by up to 500 ppm */

enum { ROUNDING_NS = 2 }; /* of the records' arithmetic, both ways */

static const struct clock_protocol pvclock_protocol = {
	"pvclock", "half the width of the feasible band, ns of the guest's kvm-clock", NULL};

bool align_on_kvmclock(const struct align_guest *g)
{
	return g->relation.protocol == &pvclock_protocol;
}

/* ---- the map of one vCPU ---- */

static const struct align_vcpu *vcpu_with_records(const struct align *a, uint32_t pid,
						  unsigned int v)
{
	const struct align_vcpu *any = NULL;

	for (unsigned int i = 0; i < a->nr_vcpus; i++) {
		if (a->vcpu[i].pid != pid || !a->vcpu[i].nr_pv)
			continue;
		if (a->vcpu[i].vcpu == v)
			return &a->vcpu[i];
		any = any ? any : &a->vcpu[i];
	}
	return any; /* with a master clock all vCPUs have the same parameters */
}

static int map_make(const struct align *a, const struct align_guest *g, uint32_t pid,
		    unsigned int v, struct align_pvmap *ret)
{
	const struct align_vcpu *with = vcpu_with_records(a, pid, v);
	struct clock_vcpu reported = {0};
	int err;

	if (!with)
		return fail(-ENODATA, "the recording has no kvm_pvclock_update");
	ret->rec = with->pv;
	ret->nr = with->nr_pv;
	err = clock_vcpu_read(&reported, g->input[v].report, g->input[v].nr_reports, true);
	if (!err && reported.nr_segments &&
	    clock_pvclock_offset_in_effect(ret->rec, ret->nr, &reported))
		ret->tsc = reported;
	else
		free(reported.segment);
	if (err)
		return err;
	ret->least_ns = malloc((ret->nr + 1) * sizeof(*ret->least_ns));
	if (!ret->least_ns)
		return fail(-ENOMEM, "out of memory");
	clock_pvclock_begins(ret->rec, ret->nr, &ret->tsc, ret->least_ns);
	return 0;
}

static const struct clock_pvclock *in_force(const struct align_pvmap *map, uint64_t host_tsc)
{
	size_t lo = 0, hi = map->nr;

	while (hi - lo > 1) {
		size_t mid = lo + (hi - lo) / 2;

		if (map->rec[mid].host_tsc <= host_tsc)
			lo = mid;
		else
			hi = mid;
	}
	return &map->rec[lo];
}

/* kvm-clock at a host event, at most the value with which the next record begins. */
static uint64_t kvmclock_ns(const struct align_pvmap *map, uint64_t host_tsc)
{
	size_t before = array_prefix(map->tsc.nr_segments, k,
				     !k || map->tsc.segment[k].from <= host_tsc);
	uint64_t tsc = before ? clock_segment_guest(&map->tsc.segment[before - 1], host_tsc)
			      : host_tsc;

	return clock_pvclock_ns(in_force(map, host_tsc), tsc);
}

/* ---- spans on the kvm-clock ---- */

static int spans_convert(const struct align_pvmap *map, const struct clock_input *from,
			 struct clock_input *to)
{
	struct clock_span *span = malloc((from->nr_spans + 1) * sizeof(*span));
	uint64_t last = 0;

	if (!span)
		return fail(-ENOMEM, "out of memory");
	for (size_t i = 0; i < from->nr_spans; i++) {
		bool open = from->span[i].leave == UINT64_MAX;
		uint64_t enter = kvmclock_ns(map, from->span[i].enter),
			 leave = open ? UINT64_MAX : kvmclock_ns(map, from->span[i].leave);

		enter = enter < last ? last : enter;
		leave = leave < enter ? enter : leave;
		span[i] = (struct clock_span){enter, leave};
		last = leave;
	}
	to->span = span;
	to->nr_spans = from->nr_spans;
	return 0;
}

static int limits_convert(const struct align_pvmap *map, const struct clock_input *from,
			  struct clock_input *to)
{
	struct clock_limit *limit = malloc((from->nr_limits + 1) * sizeof(*limit)); /* and the boot */;

	if (!limit)
		return fail(-ENOMEM, "out of memory");
	for (size_t i = 0; i < from->nr_limits; i++) {
		limit[i] = from->limit[i];
		limit[i].host_tsc = kvmclock_ns(map, from->limit[i].host_tsc);
	}
	to->limit = limit;
	to->nr_limits = from->nr_limits;
	return 0;
}

/* ---- the fit ---- */

/* The constant alone, else with a drift. */
static int constant_fit(const struct align *a, struct align_guest *g, const struct clock_input *in)
{
	struct clock_relation *ret = &g->relation;
	unsigned int nr = g->nr_vcpus;
	struct clock_options opt = {
		.method = "fitted", .work = &g->work,
		.host_error_ticks = a->host_error_ticks / clock_mono_ticks_per_ns(&a->mono) +
				    ROUNDING_NS};
	int err = clock_align(in, nr, &opt, ret);

	if (!err && !ret->note[0] && !clock_proof_sum(ret).violations)
		return 0;
	if (!err)
		clock_relation_deinit(ret);
	opt.drift_max_ppb = DRIFT_MAX_PPB;
	return clock_align(in, nr, &opt, ret);
}

static void parts_free(struct clock_input *in, unsigned int nr)
{
	for (unsigned int v = 0; in && v < nr; v++) {
		free((void *)in[v].span);
		free((void *)in[v].limit);
	}
	free(in);
}

/*
 * Uptime is 0 after the last vCPU enabled its kvm-clock, which the host recorded. On hardware that is accurate to a
 * microsecond and better than the bound from KVM_RUN alone.
 */
static void boot_limit(const struct align *a, struct align_guest *g, uint32_t pid,
		       struct clock_input *in)
{
	uint64_t registered = 0;

	for (unsigned int i = 0; i < a->nr_vcpus; i++)
		if (a->vcpu[i].pid == pid && a->vcpu[i].registered > registered)
			registered = a->vcpu[i].registered;
	for (unsigned int v = 0; registered && v < g->nr_vcpus; v++) {
		struct clock_limit *limit = (struct clock_limit *)in[v].limit;

		if (!in[v].nr_stamps || !in[v].nr_spans)
			continue;
		limit[in[v].nr_limits++] =
			(struct clock_limit){.host_tsc = kvmclock_ns(&g->map[v], registered)};
		return;
	}
}

static int parts_make(const struct align *a, struct align_guest *g, uint32_t pid,
		      struct clock_input *in)
{
	int err = 0;

	for (unsigned int v = 0; !err && v < g->nr_vcpus; v++) {
		in[v] = (struct clock_input){.stamp = g->input[v].stamp,
					     .nr_stamps = g->input[v].nr_stamps};
		err = map_make(a, g, pid, v, &g->map[v]);
		if (!err)
			err = spans_convert(&g->map[v], &g->input[v], &in[v]);
		if (!err)
			err = limits_convert(&g->map[v], &g->input[v], &in[v]);
	}
	return err;
}

struct write_map {
	const struct align_pvmap *map;
	int64_t offset; /* of the fit */
};

/* A guest's timestamp corresponds to this, within the error of the fit. */
static uint64_t write_convert(const void *arg, uint64_t tsc)
{
	const struct write_map *w = arg;

	return kvmclock_ns(w->map, tsc) + (uint64_t)w->offset;
}

/* One constant for all vCPUs, no drift: further data can narrow its band. */
static bool is_constant(const struct clock_relation *rel)
{
	for (unsigned int v = 0; v < rel->nr_vcpus; v++)
		if (rel->vcpu[v].nr_segments != 1 || rel->vcpu[v].segment[0].scale_bits ||
		    rel->vcpu[v].segment[0].offset != rel->vcpu[0].segment[0].offset)
			return false;
	return rel->nr_vcpus && !rel->note[0] && !clock_proof_sum(rel).violations;
}

/* If the host has only KVM_RUN for guest mode, the guest's kicks are more precise. */
static int kicks_bound(const struct align *a, struct align_guest *g, uint32_t pid)
{
	struct clock_relation *rel = &g->relation;
	double tolerance = a->host_error_ticks / clock_mono_ticks_per_ns(&a->mono) + ROUNDING_NS;
	struct write_map w = {.map = &g->map[0]};
	double error, bound;
	int err;

	for (unsigned int i = 0; i < a->nr_vcpus; i++)
		if (a->vcpu[i].pid == pid && a->vcpu[i].exits)
			return 0;
	if (!g->nr_kicks || !is_constant(rel))
		return 0;
	w.offset = rel->vcpu[0].segment[0].offset;
	error = bound = rel->vcpu[0].error_ticks;
	err = align_kicks(a, g, pid, write_convert, &w, -error, &bound, tolerance);
	g->by_kicks = !err && bound < error;
	for (unsigned int v = 0; g->by_kicks && v < rel->nr_vcpus; v++) {
		rel->vcpu[v].segment[0].offset = w.offset - (int64_t)llrint((bound - error) / 2);
		rel->vcpu[v].error_ticks = (bound + error) / 2 + 1;
	}
	return err;
}

int align_pvclock(const struct align *a, struct align_guest *g, uint32_t pid, bool uptime)
{
	struct clock_input *in = calloc(g->nr_vcpus + 1, sizeof(*in));
	int err;

	if (!a->ticks_known) {
		free(in);
		return fail(
			-ENODATA,
			"the host's recording has no calibration between its clock and the TSC");
	}
	g->map = calloc(g->nr_vcpus + 1, sizeof(*g->map));
	g->nr_maps = g->nr_vcpus;
	err = in && g->map ? parts_make(a, g, pid, in) : fail(-ENOMEM, "out of memory");
	if (!err && uptime)
		boot_limit(a, g, pid, in);
	if (!err)
		err = constant_fit(a, g, in);
	if (!err) {
		err = kicks_bound(a, g, pid);
		if (err)
			clock_relation_deinit(&g->relation);
	}
	if (err) {
		parts_free(in, in ? g->nr_vcpus : 0);
		align_pvclock_free(g);
		return err;
	}
	g->relation.protocol = &pvclock_protocol;
	g->kvmclock = in;
	return 0;
}

void align_pvclock_free(struct align_guest *g)
{
	for (unsigned int v = 0; g->map && v < g->nr_maps; v++) {
		free(g->map[v].tsc.segment);
		free(g->map[v].least_ns);
	}
	free(g->map);
	parts_free(g->kvmclock, g->nr_maps);
	g->map = NULL;
	g->kvmclock = NULL;
}

uint64_t align_pvclock_tsc(const struct align_guest *g, unsigned int vcpu, uint64_t kvmclock)
{
	const struct align_pvmap *map = &g->map[vcpu < g->nr_maps ? vcpu : 0];

	return clock_pvclock_host(map->rec, map->least_ns, map->nr, &map->tsc, kvmclock);
}
