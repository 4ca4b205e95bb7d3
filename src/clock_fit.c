// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The fitted clock: no kernel is asked. From causality alone: all offsets under which every guest event lies within
 * guest mode of its vCPU (and every kick before the host saw it). The middle of what is feasible is the estimate,
 * half its width the bound.
 *
 * First one line for all vCPUs together. If there is none, each vCPU for itself, in as few segments as possible:
 * greedily from the front (each segment as long as it can be) and greedily from the back. Where the two disagree lies
 * the change; what is between them is used by neither segment and counted as uncertain. If not even that fits, the
 * line that leaves the fewest events outside, and the count of them.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "clock_fit.h"
#include "clock_protocols.h"

enum {
	EVENTS_MIN = 16,	/* fewer say nothing */
	PIECES_MAX = 64,	/* offset changes found by fitting */
	PROBE_FIRST = 64,	/* length of the first prefix tried */
	VIOLATIONS_DIVISOR = 20, /* at most 1 event in 20 may be left outside */
};

typedef unsigned __int128 wide;

struct guest_base {
	uint64_t guest, host; /* x = 0 */
	uint64_t scale;
	uint32_t bits;
};

struct job {
	const struct clock_input *in;
	unsigned int nr;
	const struct clock_options *opt;
	struct fit_spans *spans; /* per vCPU */
	struct guest_base base;
	double cover; /* length of the host's recording */
};

/* Provisional host time of a guest stamp: the nominal scale, no offset. */
static double provisional(const struct guest_base *b, uint64_t guest)
{
	bool before = guest < b->guest;
	uint64_t delta = before ? b->guest - guest : guest - b->guest;
	double x =
		b->bits && b->scale ? (double)(((wide)delta << b->bits) / b->scale) : (double)delta;

	return before ? -x : x;
}

/* ---- one fit over a choice of events ---- */

static void fit_deinit(struct fit *f)
{
	free(f->event);
	free(f->bound);
	free(f->sorted_x);
	*f = (struct fit){0};
}

static void fit_add(const struct job *j, struct fit *f, unsigned int vcpu, size_t from, size_t to)
{
	const struct clock_input *in = &j->in[vcpu];

	if (!j->spans[vcpu].nr)
		return;
	for (size_t i = from; i < to; i++)
		f->event[f->nr++] = (struct fit_event){.x = provisional(&j->base, in->stamp[i]),
						       .spans = &j->spans[vcpu]};
	if (from || to != in->nr_stamps) /* a limit's place among the segments is not known */
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

/* Events [from, to) of one vCPU, or all events of all when vcpu < 0. */
static int fit_make(const struct job *j, int vcpu, size_t from, size_t to, struct fit *f)
{
	size_t nr = 0, nr_bounds = 0;

	for (unsigned int v = 0; v < j->nr; v++) {
		nr += j->in[v].nr_stamps;
		nr_bounds += j->in[v].nr_limits;
	}
	*f = (struct fit){.event = malloc((nr + 1) * sizeof(*f->event)),
			  .bound = malloc((nr_bounds + 1) * sizeof(*f->bound))};
	if (!f->event || !f->bound)
		return fail(-ENOMEM, "clock: out of memory");
	if (vcpu >= 0)
		fit_add(j, f, (unsigned int)vcpu, from, to);
	else
		for (unsigned int v = 0; v < j->nr; v++)
			fit_add(j, f, v, 0, j->in[v].nr_stamps);
	if (f->nr < EVENTS_MIN)
		return fail(
			-ENODATA,
			"%zu guest events on vCPUs that the host recorded: too few to fit a clock",
			f->nr);
	return fit_prepare(f);
}

static struct fit_range range_all(const struct job *j, const struct fit *f)
{
	double e = j->opt->drift_max_ppb * 1e-9 * f->length;

	return (struct fit_range){.a_lo = f->cover_lo - f->sorted_x[f->nr - 1] - e,
				  .a_hi = f->cover_hi - f->sorted_x[0] + e, .e_max = e};
}

static double hull_bound(const struct fit_hull *h)
{
	return fmax(h->first_hi - h->first_lo, h->last_hi - h->last_lo) / 2;
}

/* Every line that violates nothing and puts half of the events into the host's recording. */
static int fit_exact(const struct job *j, struct fit *f, struct fit_hull *hull)
{
	struct fit_range range = range_all(j, f);
	size_t need = f->nr / 2 < EVENTS_MIN ? EVENTS_MIN : f->nr / 2;

	return fit_search(f, &range, need, false, hull);
}

/*
 * The guest recorded much longer than the host: a tenth or a hundredth of the events must do. So few can agree by
 * chance, so only an answer as sharp as one span counts.
 */
static int fit_partly(const struct job *j, struct fit *f, struct fit_hull *hull)
{
	struct fit_range range = range_all(j, f);

	*hull = (struct fit_hull){0};
	for (size_t share = 10; share <= 100; share *= 10) {
		size_t need = f->nr / share;
		int err;

		if (need < 8 * EVENTS_MIN)
			break;
		err = fit_search(f, &range, need, false, hull);
		if (err || (hull->nr_leaves && hull_bound(hull) < f->fine))
			return err;
	}
	*hull = (struct fit_hull){0};
	return 0;
}

/* ---- from a hull to a segment ---- */

/* host = x + a + e * u in KVM's own form. The middle of the events is exact; rounding grows from there by 2^-48. */
static struct clock_segment segment_of(const struct job *j, const struct fit *f,
				       const struct fit_hull *h, double *ret_drift_ppb)
{
	double first = (h->first_lo + h->first_hi) / 2, last = (h->last_lo + h->last_hi) / 2;
	double a = (first + last) / 2, stretch = 1 + (last - first) / f->length;
	double nominal = j->base.bits && j->base.scale
				 ? ldexp((double)j->base.scale, -(int)j->base.bits)
				 : 1;
	struct clock_segment s = {.scale = j->base.scale,
				  .scale_bits = j->base.scale ? j->base.bits : 0};
	int64_t x = (int64_t)llrint(f->x_mid);
	uint64_t guest = j->base.guest, host = j->base.host + (uint64_t)(x + llrint(a));

	guest += (uint64_t)(s.scale_bits ? (int64_t)llrint((double)x * nominal) : x);
	if (j->opt->drift_max_ppb > 0) {
		s.scale_bits = 48;
		s.scale = (uint64_t)llrint(ldexp(nominal / stretch, 48));
	}
	s.offset = 0;
	s.offset = (int64_t)(guest - clock_segment_guest(&s, host));
	*ret_drift_ppb = (1 / stretch - 1) * 1e9;
	return s;
}

static int segment_append(struct clock_vcpu *v, const struct clock_segment *s)
{
	struct clock_segment *grown = realloc(v->segment, (v->nr_segments + 1) * sizeof(*grown));

	if (!grown)
		return fail(-ENOMEM, "clock: out of memory");
	v->segment = grown;
	v->segment[v->nr_segments++] = *s;
	return 0;
}

static int vcpu_take(const struct job *j, const struct fit *f, const struct fit_hull *h,
		     uint64_t from, struct clock_vcpu *v)
{
	double drift = 0, bound = hull_bound(h) + 2; /* rounding: the scale, the middle */
	struct clock_segment s = segment_of(j, f, h, &drift);

	s.from = from;
	v->error_ticks = fmax(v->error_ticks, bound);
	if (!v->nr_segments || fabs(drift) > fabs(v->drift_ppb))
		v->drift_ppb = drift;
	return segment_append(v, &s);
}

/* ---- segments ---- */

/* Is there one line for events [from, to)? range is what was feasible for a shorter choice, NULL: everything. */
static int feasible(const struct job *j, int vcpu, size_t from, size_t to, struct fit_hull *known,
		    bool *ret)
{
	struct fit f;
	struct fit_hull hull = {0};
	struct fit_range range;
	int err = fit_make(j, vcpu, from, to, &f);

	if (!err) {
		range = range_all(j, &f);
		if (known->nr_leaves) { /* shifts only shrink; with drift the middle has moved by up to e */
			range.a_lo = fmin(known->first_lo, known->last_lo) - range.e_max - 1;
			range.a_hi = fmax(known->first_hi, known->last_hi) + range.e_max + 1;
		}
		err = fit_search(&f, &range, f.nr / 2, false, &hull);
	}
	*ret = !err && hull.nr_leaves;
	if (*ret)
		*known = hull;
	fit_deinit(&f);
	return err;
}

/*
 * How far a segment that begins (forward) or ends (backward) at `edge` can reach: the most events that one line
 * holds. Doubling, then halving, always within the shifts that the last success left.
 */
static int reach(const struct job *j, int vcpu, size_t edge, bool forward, size_t *ret)
{
	size_t most = forward ? j->in[vcpu].nr_stamps - edge : edge, good = 0, bad = most + 1;
	struct fit_hull known = {0};

	for (size_t n = PROBE_FIRST < most ? PROBE_FIRST : most; good < most;) {
		bool ok;
		int err = feasible(j, vcpu, forward ? edge : edge - n, forward ? edge + n : edge,
				   &known, &ok);

		if (err == -ENODATA) /* too few to say anything against them */
			ok = true;
		else if (err)
			return err;
		if (ok)
			good = n;
		else
			bad = n;
		if (bad - good <= 1)
			break;
		n = bad > most ? (2 * n < most ? 2 * n : most) : good + (bad - good) / 2;
	}
	*ret = good;
	return 0;
}

/* Fewest segments: front[k] is where greedy segments end, from the front. Both arrays have PIECES_MAX entries. */
static int cuts_find(const struct job *j, int vcpu, size_t *front, size_t *back, size_t *ret_nr)
{
	size_t nr = 0, nr_back = 0, at = 0, n, total = j->in[vcpu].nr_stamps;
	int err = 0;

	while (at < total) {
		err = reach(j, vcpu, at, true, &n);
		if (err || !n || nr == PIECES_MAX)
			return err ? err : -ENODATA;
		at += n;
		front[nr++] = at;
	}
	for (at = total; at > 0; at -= n) {
		err = reach(j, vcpu, at, false, &n);
		if (err || !n || nr_back == PIECES_MAX)
			return err ? err : -ENODATA;
		back[nr_back++] = at - n;
	}
	*ret_nr = nr;
	return nr == nr_back ? 0 : -ENODATA;
}

/* Segment k surely holds the events from front[k - 1] to back[nr - 2 - k]. */
static int vcpu_fit_pieces(const struct job *j, int vcpu, struct clock_vcpu *v)
{
	size_t front[PIECES_MAX], back[PIECES_MAX], nr = 0;
	const struct clock_input *in = &j->in[vcpu];
	int err = cuts_find(j, vcpu, front, back, &nr);

	if (err || nr < 2)
		return err ? err : -ENODATA;
	for (size_t k = 0; !err && k < nr; k++) {
		size_t from = k ? front[k - 1] : 0,
		       to = k + 1 < nr ? back[nr - 2 - k] : in->nr_stamps;
		struct fit f = {0};
		struct fit_hull hull = {0};

		if (to < from + EVENTS_MIN)
			return -ENODATA;
		err = fit_make(j, vcpu, from, to, &f);
		if (!err)
			err = fit_exact(j, &f, &hull);
		if (!err && !hull.nr_leaves)
			err = -ENODATA;
		if (!err)
			err = vcpu_take(j, &f, &hull, 0, v);
		fit_deinit(&f);
		if (!err && k) { /* holds from its first sure event on */
			v->segment[k].from = clock_segment_host(&v->segment[k], in->stamp[from]);
			v->uncertain += from - back[nr - 1 - k];
		}
	}
	return err;
}

/* ---- the protocol ---- */

static int vcpu_fit_best(const struct job *j, int vcpu, struct clock_vcpu *v, size_t *violations)
{
	struct fit f;
	struct fit_hull hull = {0};
	int err = fit_make(j, vcpu, 0, vcpu >= 0 ? j->in[vcpu].nr_stamps : 0, &f);
	struct fit_range range = {0};

	if (!err) {
		range = range_all(j, &f);
		err = fit_search_best(&f, &range, f.nr / 2, f.nr / VIOLATIONS_DIVISOR, &hull);
	}
	if (!err && !hull.nr_leaves)
		err = fail(-ENODATA,
			   "no offset fits the guest's events: more than 1 in %d would lie outside "
			   "of guest mode",
			   VIOLATIONS_DIVISOR);
	if (!err) {
		err = vcpu_take(j, &f, &hull, 0, v);
		*violations += hull.violations;
	}
	fit_deinit(&f);
	return err;
}

static void vcpu_reset(struct clock_vcpu *v)
{
	free(v->segment);
	*v = (struct clock_vcpu){0};
}

typedef int fit_how(const struct job *j, struct fit *f, struct fit_hull *hull);

static int vcpu_fit_line(const struct job *j, int vcpu, fit_how *how, struct clock_vcpu *v)
{
	struct fit f;
	struct fit_hull hull = {0};
	int err = fit_make(j, vcpu, 0, j->in[vcpu].nr_stamps, &f);

	if (!err)
		err = how(j, &f, &hull);
	if (!err)
		err = hull.nr_leaves ? vcpu_take(j, &f, &hull, 0, v) : -ENODATA;
	fit_deinit(&f);
	return err;
}

/* One vCPU for itself: one line, else segments, else a line for a part, else the line with the fewest violations. */
static int vcpu_fit(const struct job *j, int vcpu, struct clock_vcpu *v, size_t *violations)
{
	int err = vcpu_fit_line(j, vcpu, fit_exact, v);

	if (err == -ENODATA)
		err = vcpu_fit_pieces(j, vcpu, v);
	if (err == -ENODATA) {
		vcpu_reset(v);
		err = vcpu_fit_line(j, vcpu, fit_partly, v);
	}
	if (err == -ENODATA)
		err = vcpu_fit_best(j, vcpu, v, violations);
	return err;
}

static int fit_together(const struct job *j, struct clock_relation *ret, bool *done)
{
	struct fit f;
	struct fit_hull hull = {0};
	int err = fit_make(j, -1, 0, 0, &f);

	if (!err)
		err = fit_exact(j, &f, &hull);
	*done = !err && hull.nr_leaves;
	for (unsigned int v = 0; *done && !err && v < j->nr; v++)
		err = vcpu_take(j, &f, &hull, 0, &ret->vcpu[v]);
	fit_deinit(&f);
	return err;
}

static int fit_apart(const struct job *j, struct clock_relation *ret)
{
	size_t violations = 0;
	unsigned int skipped = 0;

	for (unsigned int v = 0; v < j->nr; v++) {
		int err;

		if (j->in[v].nr_stamps < EVENTS_MIN || !j->spans[v].nr) {
			skipped += j->in[v].nr_stamps > 0;
			continue;
		}
		err = vcpu_fit(j, (int)v, &ret->vcpu[v], &violations);
		if (err)
			return err;
	}
	if (violations)
		snprintf(ret->note, sizeof(ret->note),
			 "no offset puts every guest event into guest mode: the best "
			 "leaves %zu outside, and its bound is not proven",
			 violations);
	else if (skipped)
		snprintf(ret->note, sizeof(ret->note),
			 "%u vCPUs have too few events of their own to be fitted", skipped);
	return 0;
}

static int job_spans(struct job *j)
{
	j->spans = calloc(j->nr ? j->nr : 1, sizeof(*j->spans));
	if (!j->spans)
		return fail(-ENOMEM, "clock: out of memory");
	for (unsigned int v = 0; v < j->nr; v++) {
		int err = fit_spans_init(&j->spans[v], j->in[v].span, j->in[v].nr_spans,
					 j->base.host, j->opt->host_error_ticks);

		if (err)
			return err;
	}
	return 0;
}

static bool job_base(struct job *j)
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
	return guest && host;
}

int clock_fit(const struct clock_input *in, unsigned int nr, const struct clock_options *opt,
	      struct clock_relation *ret)
{
	struct job j = {.in = in, .nr = nr, .opt = opt,
			.base = {.scale = opt->nominal_scale, .bits = opt->nominal_bits}};
	bool done = false;
	int err;

	if (!job_base(&j))
		return fail(-ENODATA, "no guest-mode spans or no guest events to fit a clock with");
	err = job_spans(&j);
	if (!err)
		err = fit_together(&j, ret, &done);
	if (!err && !done)
		err = fit_apart(&j, ret);
	for (unsigned int v = 0; j.spans && v < nr; v++)
		fit_spans_deinit(&j.spans[v]);
	free(j.spans);
	return err;
}
