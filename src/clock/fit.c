// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The fitted clock uses no data from the kernel, only causality: all offsets for which every guest event is within
 * guest mode of its vCPU (and every kick before the host's event). The middle of the feasible set is the estimate,
 * half its width the bound.
 *
 * The ladder: one line for all vCPUs together, all events within the host's recording. Each vCPU for itself, in as few
 * segments as possible: greedily from the front (each segment as long as it can be) and greedily from the back; where
 * the two disagree lies the change, and what is between them is used by neither segment and counted as uncertain. One
 * line with half of the events in the host's recording; with a few. The line that leaves the fewest events outside.
 */
#include <errno.h>
#include <math.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/saturate.h"
#include "clock/fit.h"
#include "clock/protocols.h"

enum {
	CENTRAL_FIRST = 1024,	/* events of the first search, and how many times more each next one has */
	CENTRAL_GROWTH = 8,
	VIOLATIONS_DIVISOR = 20, /* at most 1 event in 20 may be left outside */
};

/* Share of the guest's events that must fall into the host's recording; FIT_SHARE_ALL is in the header. */
#define SHARE_HALF 0.5
#define SHARE_PART 0.02

typedef unsigned __int128 wide;

/*
 * Provisional host time of a guest timestamp: the nominal scale, no offset. Modulo 2^64, for a guest may set its TSC.
 */
static double provisional(const struct fit_base *b, uint64_t guest)
{
	int64_t delta = (int64_t)(guest - b->guest);
	uint64_t size = delta < 0 ? -(uint64_t)delta : (uint64_t)delta;
	double x =
		b->bits && b->scale ? (double)(((wide)size << b->bits) / b->scale) : (double)size;

	return delta < 0 ? -x : x;
}

/* ---- one fit over a choice of events ---- */

static void fit_add(const struct fit_job *j, struct fit *f, unsigned int vcpu, size_t from,
		    size_t to)
{
	const struct clock_input *in = &j->in[vcpu];

	if (!j->spans[vcpu].nr)
		return;
	for (size_t i = from; i < to; i++)
		f->event[f->nr++] = (struct fit_event){.x = provisional(&j->base, in->stamp[i]),
						       .spans = &j->spans[vcpu]};
	if (from || to != in->nr_stamps) /* the segment of a limit is unknown */
		return;
	for (size_t i = 0; i < in->nr_limits; i++) {
		const struct clock_limit *l = &in->limit[i];
		double widen =
			l->guest_first ? j->opt->host_error_ticks : -j->opt->host_error_ticks;

		f->bound[f->nr_bounds++] = (struct fit_bound){
			.x = provisional(&j->base, l->guest_tsc), .guest_first = l->guest_first,
			.host = (double)(int64_t)(l->host_tsc - j->base.host) + widen};
	}
}

int fit_make(const struct fit_job *j, int vcpu, size_t from, size_t to, size_t most, struct fit *f)
{
	size_t nr = 0, nr_bounds = 0;

	for (unsigned int v = 0; v < j->nr; v++) {
		nr += j->in[v].nr_stamps;
		nr_bounds += j->in[v].nr_limits;
	}
	*f = (struct fit){.work = j->work, .event = malloc((nr + 1) * sizeof(*f->event)),
			  .bound = malloc((nr_bounds + 1) * sizeof(*f->bound))};
	if (!f->event || !f->bound)
		return fail(-ENOMEM, "clock: out of memory");
	if (vcpu >= 0)
		fit_add(j, f, (unsigned int)vcpu, from, to);
	else
		for (unsigned int v = 0; v < j->nr; v++)
			fit_add(j, f, v, 0, j->in[v].nr_stamps);
	if (!clock_work(j->opt->work, 4 * f->nr))
		return clock_work_over();
	if (f->nr < FIT_EVENTS_MIN)
		return fail(
			-ENODATA,
			"too few guest events to fit a clock: %zu on vCPUs that the host recorded",
			f->nr);
	fit_keep_central(f, most);
	return fit_prepare(f);
}

struct fit_range fit_range_of(const struct fit_job *j, const struct fit *f,
			      const struct fit_hull *known)
{
	double slope = j->opt->drift_max_ppb * 1e-9, slope_lo = -slope, slope_hi = slope, moved;

	if (!known || !known->nr_leaves)
		return (struct fit_range){.a_lo = f->cover_lo - f->sorted_x[f->nr - 1] -
						  slope * f->length,
					  .a_hi = f->cover_hi - f->sorted_x[0] + slope * f->length,
					  .e_lo = -slope * f->length,
					  .e_hi = slope * f->length};
	slope_lo = fmax(slope_lo, (known->last_lo - known->first_hi) / known->length);
	slope_hi = fmin(slope_hi, (known->last_hi - known->first_lo) / known->length);
	moved = f->x_mid - known->x_mid;
	return (struct fit_range){.a_lo = (known->first_lo + known->last_lo) / 2 +
					  fmin(slope_lo * moved, slope_hi * moved) - 1,
				  .a_hi = (known->first_hi + known->last_hi) / 2 +
					  fmax(slope_lo * moved, slope_hi * moved) + 1,
				  .e_lo = slope_lo * f->length,
				  .e_hi = slope_hi * f->length};
}

double fit_hull_bound(const struct fit_hull *h)
{
	return fmax(h->first_hi - h->first_lo, h->last_hi - h->last_lo) / 2;
}

size_t fit_need(const struct fit *f, double share)
{
	size_t need = (size_t)((double)f->nr * share);

	return need < FIT_EVENTS_MIN ? FIT_EVENTS_MIN : need;
}

/*
 * Every line that violates nothing and puts `share` of the events into the host's recording: of a few events in the
 * middle first, which takes the time, then of more and more. (If half of all is covered, the middle one is, and half
 * of those around it.) f is left with all events, to be freed in any case.
 */
static int fit_line(const struct fit_job *j, int vcpu, double share, struct fit *f,
		    struct fit_hull *hull)
{
	size_t to = vcpu >= 0 ? j->in[vcpu].nr_stamps : 0, most = CENTRAL_FIRST, all;
	struct fit_hull known = {0};

	for (;; most *= CENTRAL_GROWTH) {
		struct fit_range range;
		int err = fit_make(j, vcpu, 0, to, SIZE_MAX, f);

		all = f->nr;
		if (!err && most < all) {
			fit_deinit(f);
			err = fit_make(j, vcpu, 0, to, most, f);
		}
		if (err)
			return err;
		range = fit_range_of(j, f, &known);
		err = fit_search(f, &range, fit_need(f, share), false, hull);
		if (err || !hull->nr_leaves || most >= all)
			return err;
		known = *hull;
		fit_deinit(f);
	}
}

/* ---- from a hull to a segment ---- */

/* host = x + a + e * u in KVM's own form. The middle of the events is exact; rounding grows from there by 2^-48. */
static struct clock_segment segment_of(const struct fit_job *j, const struct fit *f,
				       const struct fit_hull *h, double *ret_drift_ppb)
{
	double first = (h->first_lo + h->first_hi) / 2, last = (h->last_lo + h->last_hi) / 2;
	double a = (first + last) / 2, stretch = 1 + (last - first) / f->length;
	double nominal = j->base.bits && j->base.scale
				 ? ldexp((double)j->base.scale, -(int)j->base.bits)
				 : 1;
	struct clock_segment s = {.scale = j->base.scale,
				  .scale_bits = j->base.scale ? j->base.bits : 0};
	int64_t x = int64_of_double(rint(f->x_mid));
	uint64_t guest = j->base.guest,
		 host = j->base.host + (uint64_t)x + (uint64_t)int64_of_double(rint(a));

	guest += (uint64_t)(s.scale_bits ? int64_of_double(rint((double)x * nominal)) : x);
	if (j->opt->drift_max_ppb > 0) {
		s.scale_bits = 48;
		s.scale = uint64_of_double(rint(ldexp(nominal / stretch, 48)));
	}
	s.offset = 0;
	s.offset = (int64_t)(guest - clock_segment_guest(&s, host));
	*ret_drift_ppb = (1 / stretch - 1) * 1e9;
	return s;
}

static int segment_append(struct clock_vcpu *v, const struct clock_segment *s)
{
	return array_add(v->segment, v->nr_segments, *s);
}

int fit_take(const struct fit_job *j, const struct fit *f, const struct fit_hull *h,
	     struct clock_vcpu *v)
{
	double drift = 0, bound = fit_hull_bound(h) + 2; /* rounding: the scale, the middle */
	struct clock_segment s = segment_of(j, f, h, &drift);

	v->error_ticks = fmax(v->error_ticks, bound);
	if (!v->nr_segments || fabs(drift) > fabs(v->drift_ppb))
		v->drift_ppb = drift;
	return segment_append(v, &s);
}

/* ---- the ladder ---- */

/* One line for all vCPUs. -ENODATA: there is none. */
static int fit_together(const struct fit_job *j, double share, struct clock_relation *ret)
{
	struct fit f;
	struct fit_hull hull = {0};
	int err = fit_line(j, -1, share, &f, &hull);

	if (!err && !hull.nr_leaves)
		err = -ENODATA;
	if (!err && share < SHARE_HALF && fit_hull_bound(&hull) > f.fine)
		err = -ENODATA; /* so few events can agree by chance */
	for (unsigned int v = 0; !err && v < j->nr; v++)
		err = fit_take(j, &f, &hull, &ret->vcpu[v]);
	fit_deinit(&f);
	return err;
}

static int fit_one(const struct fit_job *j, unsigned int v, struct clock_relation *ret)
{
	struct fit f;
	struct fit_hull hull = {0};
	int err = fit_line(j, (int)v, FIT_SHARE_ALL, &f, &hull);

	if (!err)
		err = hull.nr_leaves ? fit_take(j, &f, &hull, &ret->vcpu[v]) : -ENODATA;
	fit_deinit(&f);
	return err == -ENODATA ? fit_pieces(j, v, &ret->vcpu[v]) : err;
}

/* Each vCPU for itself: one line, else segments. */
static int fit_apart(const struct fit_job *j, struct clock_relation *ret)
{
	bool any = false;

	for (unsigned int v = 0; v < j->nr; v++) {
		int err;

		if (j->in[v].nr_stamps < FIT_EVENTS_MIN || !j->spans[v].nr)
			continue;
		err = fit_one(j, v, ret);
		if (err)
			return err;
		any = true;
	}
	return any ? 0 : -ENODATA;
}

/* Nothing fits: the line that leaves the fewest events outside. */
static int fit_best(const struct fit_job *j, struct clock_relation *ret)
{
	struct fit f;
	struct fit_hull hull = {0};
	int err = fit_make(j, -1, 0, 0, SIZE_MAX, &f);

	if (!err) {
		struct fit_range range = fit_range_of(j, &f, NULL);

		err = fit_search_best(&f, &range, fit_need(&f, SHARE_HALF),
				      f.nr / VIOLATIONS_DIVISOR, &hull);
	}
	if (!err && !hull.nr_leaves)
		err = fail(-ENODATA,
			   "no offset fits the guest's events: more than 1 in %d would lie outside "
			   "guest mode",
			   VIOLATIONS_DIVISOR);
	for (unsigned int v = 0; !err && v < j->nr; v++)
		err = fit_take(j, &f, &hull, &ret->vcpu[v]);
	if (!err)
		snprintf(ret->note, sizeof(ret->note),
			 "no offset places every guest event in guest mode: the best leaves %zu "
			 "outside, and its bound is not verified",
			 hull.violations);
	fit_deinit(&f);
	return err;
}

static void vcpus_reset(struct clock_relation *rel)
{
	for (unsigned int v = 0; v < rel->nr_vcpus; v++) {
		free(rel->vcpu[v].segment);
		rel->vcpu[v] = (struct clock_vcpu){0};
	}
}

/*
 * One line that leaves many events outside of the host's recording, or segments that leave fewer? An offset that jumps
 * far enough looks like a guest that recorded longer than its host.
 */
static int line_or_segments(const struct fit_job *j, struct clock_relation *ret)
{
	struct clock_relation apart = {.nr_vcpus = j->nr,
				       .vcpu = calloc(j->nr, sizeof(*apart.vcpu))};
	int line = fit_together(j, SHARE_HALF, ret), segments;
	uint64_t left;
	bool better;

	if (!apart.vcpu || (line && line != -ENODATA)) {
		free(apart.vcpu);
		return line ? line : -ENOMEM;
	}
	left = *j->work; /* if a line was found, segments may use only half of the remaining work */
	*j->work = line ? left : left / 2;
	segments = fit_apart(j, &apart);
	*j->work += line ? 0 : left - left / 2;
	better = !segments;
	if (!line && !segments) {
		uint64_t by_line = clock_check(ret, j->in, j->nr, j->opt->work).unchecked;
		uint64_t by_segments = clock_check(&apart, j->in, j->nr, j->opt->work).unchecked;

		better = by_segments + by_segments / 50 + FIT_EVENTS_MIN < by_line;
	}
	if (better) {
		struct clock_vcpu *swap = ret->vcpu;

		ret->vcpu = apart.vcpu;
		apart.vcpu = swap;
	}
	vcpus_reset(&apart);
	free(apart.vcpu);
	return line ? segments : 0;
}

/*
 * A line with nearly all events in the host's recording is not the only one possible if the guest recorded for longer
 * than the host: where the host's exits are rare or periodic, lines with half of them may fit as well. All of these
 * widen the bound. Too little structure to find them all: the verdict says how much the line is worth.
 */
static int fit_whole(const struct fit_job *j, struct clock_relation *ret)
{
	struct clock_relation half = {.nr_vcpus = j->nr, .vcpu = calloc(j->nr, sizeof(*half.vcpu))};
	int err = half.vcpu ? fit_together(j, FIT_SHARE_ALL, ret) : -ENOMEM;

	if (!err && !fit_together(j, SHARE_HALF, &half)) {
		struct clock_vcpu *swap = ret->vcpu;

		ret->vcpu = half.vcpu;
		half.vcpu = swap;
	}
	if (half.vcpu)
		vcpus_reset(&half);
	free(half.vcpu);
	return err;
}

/* How many different offsets the search distinguishes: anywhere that brings the two recordings together. */
static double tries_of(const struct fit_job *j)
{
	double grain = INFINITY, tries = 1;
	struct fit_range range;
	struct fit f;

	for (unsigned int v = 0; v < j->nr; v++)
		if (j->spans[v].nr > 1 && j->in[v].nr_stamps)
			grain = fmin(grain, j->spans[v].grain);
	if (!fit_make(j, -1, 0, 0, SIZE_MAX, &f)) {
		range = fit_range_of(j, &f, NULL);
		tries = fmax((range.a_hi - range.a_lo) / grain, 1) *
			fmax((range.e_hi - range.e_lo) / grain, 1);
	}
	fit_deinit(&f);
	return tries;
}

static int ladder(const struct fit_job *j, struct clock_relation *ret)
{
	int err = fit_whole(j, ret);

	if (err == -ENODATA)
		err = line_or_segments(j, ret);
	if (err == -ENODATA) {
		vcpus_reset(ret);
		err = fit_together(j, SHARE_PART, ret);
	}
	return err == -ENODATA ? fit_best(j, ret) : err;
}

/* The TSCs of a machine usually agree: vCPUs with too few events of their own get the relation of another one. */
static int unfitted_take(const struct fit_job *j, struct clock_relation *ret)
{
	const struct clock_vcpu *fitted = NULL;
	unsigned int skipped = 0;

	for (unsigned int v = 0; v < j->nr && !fitted; v++)
		fitted = ret->vcpu[v].nr_segments ? &ret->vcpu[v] : NULL;
	for (unsigned int v = 0; v < j->nr && fitted; v++) {
		struct clock_vcpu *to = &ret->vcpu[v];

		if (!j->in[v].nr_stamps || to->nr_segments)
			continue;
		skipped++;
		to->error_ticks = fitted->error_ticks;
		to->drift_ppb = fitted->drift_ppb;
		for (size_t i = 0; i < fitted->nr_segments; i++) {
			int err = segment_append(to, &fitted->segment[i]);

			if (err)
				return err;
		}
	}
	if (skipped)
		snprintf(ret->note, sizeof(ret->note),
			 "%u vCPUs have too few events of their own to be fitted: they are "
			 "converted as vCPU %u",
			 skipped, (unsigned int)(fitted - ret->vcpu));
	return 0;
}

static int job_spans(struct fit_job *j)
{
	j->spans = calloc(j->nr ? j->nr : 1, sizeof(*j->spans));
	if (!j->spans)
		return fail(-ENOMEM, "clock: out of memory");
	for (unsigned int v = 0; v < j->nr; v++) {
		int err = clock_work(j->opt->work, 8 * j->in[v].nr_spans)
				  ? fit_spans_init(&j->spans[v], j->in[v].span, j->in[v].nr_spans,
						   j->base.host, j->opt->host_error_ticks)
				  : clock_work_over();

		if (err)
			return err;
	}
	return 0;
}

/* -ENODATA: one side has no data. */
static int job_base(struct fit_job *j)
{
	bool guest = false, host = false;

	for (unsigned int v = 0; v < j->nr; v++) {
		if (!guest && j->in[v].nr_stamps) {
			j->base.guest = j->in[v].stamp[0];
			guest = true;
		}
		if (!host && j->in[v].nr_spans) {
			j->base.host = j->in[v].span[0].enter;
			host = true;
		}
	}
	if (!host)
		return fail(-ENODATA, "the host's recording has no kvm_entry, kvm_exit or kvm_run "
				      "of this VM to bound the guest's clock");
	return guest ? 0 : fail(-ENODATA, "no guest events to fit a clock with");
}

/* Steps that it may take, of those that are left. */
static uint64_t fit_work(const struct clock_input *in, unsigned int nr, uint64_t left)
{
	uint64_t most = FIT_WORK;

	for (unsigned int v = 0; v < nr; v++)
		most += FIT_WORK_PER_EVENT * (uint64_t)(in[v].nr_stamps + in[v].nr_spans);
	most = most < FIT_WORK_MAX ? most : FIT_WORK_MAX;
	return most < left ? most : left;
}

int clock_fit(const struct clock_input *in, unsigned int nr, const struct clock_options *opt,
	      struct clock_relation *ret)
{
	uint64_t most = fit_work(in, nr, *opt->work), work = most;
	struct fit_job j = {.in = in, .nr = nr, .opt = opt, .work = &work,
			.base = {.scale = opt->nominal_scale, .bits = opt->nominal_bits}};
	int err = job_base(&j);

	if (!err)
		err = job_spans(&j);
	if (!err)
		err = ladder(&j, ret);
	clock_work(opt->work, most - work);
	if (!err)
		err = unfitted_take(&j, ret);
	if (!err)
		ret->tries = tries_of(&j);
	for (unsigned int v = 0; j.spans && v < nr; v++)
		fit_spans_deinit(&j.spans[v]);
	free(j.spans);
	return err;
}
