// SPDX-License-Identifier: GPL-2.0-or-later
/* What the search works on: spans with their lookup table, events in a useful order. */
#include <errno.h>
#include <float.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/order.h"
#include "clock/fit.h"

static int double_compare(const void *va, const void *vb)
{
	return order_double(*(const double *)va, *(const double *)vb);
}

static double rel(uint64_t t, uint64_t base)
{
	return t >= base ? (double)(t - base) : -(double)(base - t);
}

/* Widened spans that meet are merged: the gap between them is less than the host's own error. */
static void spans_fill(struct fit_spans *s, const struct clock_span *span, size_t nr, uint64_t base,
		       double widen)
{
	for (size_t i = 0; i < nr; i++) {
		double enter = rel(span[i].enter, base) - widen,
		       leave = rel(span[i].leave, base) + widen;

		if (s->nr && enter <= s->leave[s->nr - 1]) {
			s->leave[s->nr - 1] = fmax(s->leave[s->nr - 1], leave);
			continue;
		}
		s->enter[s->nr] = enter;
		s->leave[s->nr++] = leave;
	}
}

static int spans_measure(struct fit_spans *s)
{
	_cleanup_free_ double *cycle = malloc(s->nr * sizeof(*cycle));
	double gaps = 0, whole = s->leave[s->nr - 1] - s->enter[0];

	if (!cycle)
		return fail(-ENOMEM, "clock: out of memory");
	for (size_t i = 0; i + 1 < s->nr; i++) {
		gaps += s->enter[i + 1] - s->leave[i];
		s->max_gap = fmax(s->max_gap, s->enter[i + 1] - s->leave[i]);
		cycle[i] = s->enter[i + 1] - s->enter[i];
	}
	for (unsigned int level = 0; level < FIT_LEVELS; level++) {
		double width = ldexp(2, (int)level), share = 0;

		for (size_t i = 0; i + 1 < s->nr && width < s->max_gap; i++)
			share += fmax(0, s->enter[i + 1] - s->leave[i] - width);
		s->hit[level] = share / (s->leave[s->nr - 1] - s->enter[0] + 1);
	}
	s->grain = fmax(fmin(gaps, whole - gaps) / (double)s->nr, 1);
	if (s->nr > 1) {
		qsort(cycle, s->nr - 1, sizeof(*cycle), double_compare);
		s->median_cycle = cycle[(s->nr - 1) / 2];
	}
	return 0;
}

static int buckets_fill(struct fit_spans *s)
{
	double span = s->enter[s->nr - 1] - s->enter[0] + 1;

	s->nr_buckets = 2 * s->nr;
	s->buckets_per_tick = (double)s->nr_buckets / span;
	s->bucket = malloc((s->nr_buckets + 1) * sizeof(*s->bucket));
	if (!s->bucket)
		return fail(-ENOMEM, "clock: out of memory");
	for (size_t b = 0, i = 0; b <= s->nr_buckets; b++) {
		double begin = s->enter[0] + (double)b / s->buckets_per_tick;

		while (i < s->nr && s->enter[i] < begin)
			i++;
		s->bucket[b] = (uint32_t)i;
	}
	return 0;
}

int fit_spans_init(struct fit_spans *s, const struct clock_span *span, size_t nr, uint64_t base,
		   double widen)
{
	int err;

	*s = (struct fit_spans){.enter = malloc((nr + 1) * sizeof(double)),
				.leave = malloc((nr + 1) * sizeof(double))};
	if (!s->enter || !s->leave)
		return fail(-ENOMEM, "clock: out of memory");
	spans_fill(s, span, nr, base, widen);
	if (!s->nr)
		return 0;
	err = spans_measure(s);
	return err ? err : buckets_fill(s);
}

void fit_spans_deinit(struct fit_spans *s)
{
	free(s->enter);
	free(s->leave);
	free(s->bucket);
	*s = (struct fit_spans){0};
}

static int event_compare(const void *va, const void *vb)
{
	const struct fit_event *a = va, *b = vb;
	int order = order_double(fabs(a->u), fabs(b->u));

	if (!order)
		order = order_double(a->x, b->x);
	return order ? order : (a->spans > b->spans) - (a->spans < b->spans); /* of one array */
}

static void hits_average(struct fit *f)
{
	for (unsigned int level = 0; level < FIT_LEVELS; level++)
		for (size_t i = 0; i < f->nr; i += f->nr / 64 + 1)
			f->hit[level] += f->event[i].spans->hit[level] /
					 (double)(f->nr / (f->nr / 64 + 1) + 1);
}

static int by_x(const void *va, const void *vb)
{
	const struct fit_event *a = va, *b = vb;

	int order = order_double(a->x, b->x);

	return order ? order : (a->spans > b->spans) - (a->spans < b->spans); /* of one array */
}

void fit_keep_central(struct fit *f, size_t nr)
{
	if (nr >= f->nr)
		return;
	qsort(f->event, f->nr, sizeof(*f->event), by_x);
	memmove(f->event, f->event + (f->nr - nr) / 2, nr * sizeof(*f->event));
	f->nr = nr;
}

int fit_prepare(struct fit *f)
{
	double lo = DBL_MAX, hi = -DBL_MAX, cycle = 0;

	f->cover_lo = DBL_MAX;
	f->cover_hi = -DBL_MAX;
	f->max_gap = 0;
	for (size_t i = 0; i < f->nr; i++) {
		const struct fit_spans *s = f->event[i].spans;

		lo = fmin(lo, f->event[i].x);
		hi = fmax(hi, f->event[i].x);
		f->cover_lo = fmin(f->cover_lo, s->enter[0]);
		f->cover_hi = fmax(f->cover_hi, s->leave[s->nr - 1]);
		f->max_gap = fmax(f->max_gap, s->max_gap);
		cycle = fmax(cycle, s->median_cycle);
	}
	f->fine = fmax(2 * cycle, 64);
	hits_average(f);
	f->x_mid = (lo + hi) / 2;
	f->length = fmax(hi - lo, 1);
	for (size_t i = 0; i < f->nr; i++)
		f->event[i].u = (f->event[i].x - f->x_mid) / f->length;
	for (size_t i = 0; i < f->nr_bounds; i++)
		f->bound[i].u = (f->bound[i].x - f->x_mid) / f->length;
	f->sorted_x = malloc((f->nr + 1) * sizeof(*f->sorted_x));
	if (!f->sorted_x)
		return fail(-ENOMEM, "clock: out of memory");
	for (size_t i = 0; i < f->nr; i++)
		f->sorted_x[i] = f->event[i].x;
	qsort(f->sorted_x, f->nr, sizeof(*f->sorted_x), double_compare);
	qsort(f->event, f->nr, sizeof(*f->event), event_compare);
	return 0;
}

void fit_deinit(struct fit *f)
{
	free(f->event);
	free(f->bound);
	free(f->sorted_x);
	*f = (struct fit){0};
}

/*
 * A vCPU whose offset jumped during the recording: its events, in the order in which it recorded them, are cut into as
 * few stretches as possible, each fitted by one line.
 *
 * Greedily from the front each stretch is as long as it can be, so it ends at the jump or a few events after it (those
 * fit the old line by chance). Looking back from the middle of the next stretch finds how early the jump can have been.
 * What is between the two belongs to either side: it is used by neither and counted as uncertain.
 *
 * Events before and after the host's recording fit nowhere; forced to, they fall into short stretches of chance. A
 * stretch counts only if its evidence rules out chance, and the others must be at the beginning or the end and lie
 * outside of the recording by the line of their neighbour.
 */

enum {
	PIECES_MAX = 512, /* stretches, chance ones included */
	PROBE_FIRST = 64, /* length of the first stretch tried */
	PIECE_MIN = 64,	  /* events that are surely a segment's own */
};

/* A wrong line survives n events by chance with exp(-n * share of gaps); some e^17 lines are tried in a search. */
#define EVIDENCE_MIN 40.0

struct piece {
	size_t from, to; /* surely its own */
	size_t end;	 /* where the greedy stretch ended */
	struct fit_hull hull, half; /* of all of it; of `nr_half` events at its beginning, half of it at most */
	size_t nr_half;
	bool real;
};

/* What a search along a vCPU's events found. */
struct reach {
	size_t nr;
	struct fit_hull hull; /* of the nr events */
	struct fit_hull half; /* of the nr_half first ones that were tried, half of nr at most */
	size_t nr_half;
};

static int range_fit(const struct fit_job *j, unsigned int vcpu, size_t from, size_t to,
		     const struct fit_hull *known, struct fit *f, struct fit_hull *hull)
{
	int err = fit_make(j, (int)vcpu, from, to, SIZE_MAX, f);
	struct fit_range range;

	hull->nr_leaves = 0;
	if (err)
		return err;
	range = fit_range_of(j, f, known);
	return fit_search(f, &range, fit_need(f, FIT_SHARE_ALL), false, hull);
}

static void reach_take(struct reach *r, size_t nr, const struct fit_hull *hull, size_t *last)
{
	if (2 * *last <= nr) {
		r->nr_half = *last;
		r->half = r->hull;
	}
	r->hull = *hull;
	*last = nr;
}

/*
 * How many events from `edge` on, or back from it, one line can hold, at most `most`. By doubling, then halving, always
 * within the lines of the last success; at first those of `known`, which may be empty.
 */
static int reach(const struct fit_job *j, unsigned int vcpu, size_t edge, bool forward, size_t most,
		 const struct fit_hull *known, struct reach *r)
{
	size_t bad = most + 1, n = PROBE_FIRST < most ? PROBE_FIRST : most, last = 0;
	struct fit_hull hull = {0};

	*r = (struct reach){.hull = *known};
	while (bad - r->nr > 1 && r->nr < most) {
		struct fit f;
		int err = range_fit(j, vcpu, forward ? edge : edge - n, forward ? edge + n : edge,
				    &r->hull, &f, &hull);

		fit_deinit(&f);
		if (err && err != -ENODATA)
			return err;
		if (err || hull.nr_leaves) { /* -ENODATA: too few to exclude them */
			r->nr = n;
			if (!err)
				reach_take(r, n, &hull, &last);
		} else {
			bad = n;
		}
		n = bad > most ? (2 * n < most ? 2 * n : most) : r->nr + (bad - r->nr) / 2;
	}
	return 0;
}

/* Does this stretch rule out chance? Stores its hull, which is searched among the lines of a part of it. */
static int piece_weigh(const struct fit_job *j, unsigned int vcpu, struct piece *p,
		       const struct fit_hull *part)
{
	struct fit f;
	int err;

	p->real = false;
	if (p->to < p->from + PIECE_MIN)
		return 0;
	err = range_fit(j, vcpu, p->from, p->to, part, &f, &p->hull);
	p->real = !err && p->hull.nr_leaves && fit_hull_bound(&p->hull) <= f.fine &&
		  (double)f.nr * f.hit[0] >= EVIDENCE_MIN;
	fit_deinit(&f);
	return err;
}

static int pieces_cut(const struct fit_job *j, unsigned int vcpu, struct piece *p, size_t *ret_nr)
{
	size_t total = j->in[vcpu].nr_stamps, nr = 0;

	for (size_t at = 0; at < total; at = p[nr++].end) {
		struct fit_hull any = {0};
		struct reach r;
		int err = reach(j, vcpu, at, true, total - at, &any, &r);

		if (!err && (!r.nr || nr == PIECES_MAX))
			err = -ENODATA;
		if (err)
			return err;
		p[nr] = (struct piece){.from = at, .to = at + r.nr, .end = at + r.nr,
				       .half = r.half, .nr_half = r.nr_half};
		err = piece_weigh(j, vcpu, &p[nr], &r.hull);
		if (err)
			return err;
	}
	*ret_nr = nr;
	return 0;
}

/*
 * How early can the jump before piece b be? Shortens piece a to the events that are certainly its own. The end of b may
 * not belong to b: only the lines of its beginning are certain to include its line.
 */
static int cut_refine(const struct fit_job *j, unsigned int vcpu, struct piece *a,
		      const struct piece *b)
{
	size_t middle = b->from + (b->end - b->from) / 2;
	struct fit_hull any = {0};
	struct reach r;
	int err = reach(j, vcpu, middle, false, middle - a->from, &b->half, &r);

	if (err)
		return err;
	if (middle - r.nr < a->to)
		a->to = middle - r.nr;
	return piece_weigh(j, vcpu, a, a->from + a->nr_half <= a->to ? &a->half : &any);
}

static int piece_take(const struct fit_job *j, unsigned int vcpu, const struct piece *p,
		      struct clock_vcpu *v)
{
	struct fit f;
	int err = fit_make(j, (int)vcpu, p->from, p->to, SIZE_MAX, &f);

	if (!err)
		err = fit_take(j, &f, &p->hull, v);
	fit_deinit(&f);
	return err;
}

/*
 * The jump is half way between the last certain event of one side and the first of the other; on the guest's clock, if
 * that was stopped meanwhile (a VM that was stopped), since it is timestamps that must be distinguished.
 */
static int segment_join(const struct fit_job *j, unsigned int vcpu, const struct piece *a,
			const struct piece *b, struct clock_vcpu *v)
{
	const uint64_t *stamp = j->in[vcpu].stamp;
	struct clock_segment *s = &v->segment[v->nr_segments - 1];
	uint64_t last = stamp[a->to - 1], first = stamp[b->from];
	uint64_t end = clock_segment_host(s - 1, last), begin = clock_segment_host(s, first), still;

	s->from = end + (begin - end) / 2;
	still = clock_segment_host(s - 1, last + (first - last) / 2 + 1);
	if (first > last && still < s->from)
		s->from = still;
	v->uncertain += b->from - a->to;
	return begin > end ? 0 : -ENODATA; /* time does not run backward: this was chance */
}

/* Are all but a few of these events outside the time that the host recorded? */
static bool outside(const struct fit_job *j, unsigned int vcpu, const struct clock_segment *s,
		    size_t from, size_t to)
{
	const struct clock_input *in = &j->in[vcpu];
	size_t inside = 0;

	for (size_t i = from; i < to; i++) {
		uint64_t host = clock_segment_host(s, in->stamp[i]);

		inside += host > in->span[0].enter && host < in->span[in->nr_spans - 1].leave;
	}
	return inside <= (to - from) / 10 + PROBE_FIRST;
}

static int pieces_join(const struct fit_job *j, unsigned int vcpu, struct piece *p, size_t first,
		       size_t last, struct clock_vcpu *v)
{
	int err = 0;

	for (size_t k = first; !err && k < last; k++)
		err = p[k].real && p[k + 1].real ? cut_refine(j, vcpu, &p[k], &p[k + 1]) : -ENODATA;
	for (size_t k = first; !err && k <= last; k++) {
		err = p[k].real ? piece_take(j, vcpu, &p[k], v) : -ENODATA;
		if (!err && k > first)
			err = segment_join(j, vcpu, &p[k - 1], &p[k], v);
	}
	return err;
}

int fit_pieces(const struct fit_job *j, unsigned int vcpu, struct clock_vcpu *v)
{
	_cleanup_free_ struct piece *p = malloc(PIECES_MAX * sizeof(*p));
	size_t nr = 0, first = 0, last;
	int err = p ? pieces_cut(j, vcpu, p, &nr) : -ENOMEM;

	if (err)
		return err;
	while (first < nr && !p[first].real)
		first++;
	if (first == nr)
		return -ENODATA;
	for (last = nr - 1; last > first && !p[last].real;)
		last--;
	err = pieces_join(j, vcpu, p, first, last, v);
	if (!err && (!outside(j, vcpu, &v->segment[0], 0, p[first].from) ||
		     !outside(j, vcpu, &v->segment[v->nr_segments - 1], p[last].end,
			      j->in[vcpu].nr_stamps)))
		err = -ENODATA;
	return err;
}
