// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Branch and bound over boxes of (a, e). A box puts an event not at a point but into a range; if that range lies
 * wholly inside a gap, every line of the box is wrong and the box is discarded. Wrong boxes fall to the first few
 * events, so nearly all of the search is over after a glance. What survives is halved, and once it is smaller than
 * the usual distance of two spans it is cut down exactly: each event's span is then known, and gives two linear
 * constraints, by which the box, a polygon now, is clipped.
 */
#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/error.h"
#include "clock/fit.h"

enum {
	SAMPLE = 256,	   /* most events tried on a box before it is looked at closely */
	STACK = 512,	   /* boxes waiting: twice the deepest halving */
	VERTICES = 64,	   /* of a polygon; a clip that would need more is skipped (the set stays too large) */
	STRIDE = 7919,	   /* a prime: picks events all over the recording */
	LEAVES_MAX = 1 << 20, /* pieces of the best lines */
};

struct box {
	double a, e, ha, he; /* centre and half widths */
};

struct point {
	double a, e;
};

struct polygon {
	struct point p[VERTICES];
	unsigned int nr;
};

struct search {
	struct box stack[STACK]; /* boxes still to be searched; the last is next */
	size_t nr;
	struct fit *f;
	struct fit_hull *hull;
	size_t need, allowed, killer;
	bool any, descending, robust;
	struct box *leaf; /* robust: pieces with their violations, filtered at the end */
	size_t *leaf_violations, nr_leaf, room_leaf, room_violations, best;
};

/* ---- one event against one box ---- */

enum verdict { FREE, POSSIBLE, DEAD };

/* The last span that enters at or before t; -1 if none. */
static ptrdiff_t span_at(const struct fit_spans *s, double t)
{
	double at = (t - s->enter[0]) * s->buckets_per_tick;
	size_t lo, hi, b;

	if (at < 0)
		return -1;
	if (at >= (double)s->nr_buckets)
		return (ptrdiff_t)s->nr - 1;
	b = (size_t)at;
	lo = s->bucket[b] ? s->bucket[b] - 1 : 0; /* rounding at a bucket's edge: a span to either side */
	hi = s->bucket[b + 1] < s->nr ? s->bucket[b + 1] + 1 : s->nr;
	while (hi - lo > 1) {
		size_t mid = (lo + hi) / 2;

		if (s->enter[mid] <= t)
			lo = mid;
		else
			hi = mid;
	}
	return s->enter[lo] <= t ? (ptrdiff_t)lo : (ptrdiff_t)lo - 1;
}

static enum verdict event_verdict(const struct fit_event *ev, const struct box *b)
{
	double r = b->ha + b->he * fabs(ev->u), pos = ev->x + b->a + b->e * ev->u;
	const struct fit_spans *s = ev->spans;
	ptrdiff_t i;

	if (2 * r >= s->max_gap)
		return POSSIBLE;
	i = span_at(s, pos + r);
	if (i < 0)
		return FREE;
	if (s->leave[i] >= pos - r)
		return POSSIBLE;
	return (size_t)i + 1 == s->nr ? FREE : DEAD;
}

static bool bounds_dead(const struct fit *f, const struct box *b)
{
	for (size_t i = 0; i < f->nr_bounds; i++) {
		const struct fit_bound *l = &f->bound[i];
		double r = b->ha + b->he * fabs(l->u), pos = l->x + b->a + b->e * l->u;

		if (l->guest_first ? pos - r > l->host : pos + r < l->host)
			return true;
	}
	return false;
}

/* ---- whole boxes ---- */

/* How many events the box can put into the host's recording at most. */
static size_t covered_most(const struct fit *f, const struct box *b)
{
	double r = b->ha + (fabs(b->e) + b->he) / 2;

	return array_prefix(f->nr, i, f->sorted_x[i] < f->cover_hi - b->a + r) -
	       array_prefix(f->nr, i, f->sorted_x[i] < f->cover_lo - b->a - r);
}

/* Events whose range in the box is at most twice the box's own width: the others prove little yet. */
static size_t events_sharp(const struct fit *f, const struct box *b)
{
	double limit = b->he > 0 ? 2 * b->ha / b->he : 1;

	return limit >= 0.5 ? f->nr : array_prefix(f->nr, i, fabs(f->event[i].u) <= limit);
}

/* Counts dead events, up to `stop` of them, among a sample or (sample >= nr) all. */
static size_t dead_count(struct search *s, const struct box *b, size_t nr, size_t sample,
			 size_t stop)
{
	struct fit *f = s->f;
	size_t dead = 0;

	if (!nr)
		return 0;
	if (s->killer < nr && sample < nr && stop == 1 &&
	    event_verdict(&f->event[s->killer], b) == DEAD) {
		*f->work -= *f->work > 0;
		return 1;
	}
	for (size_t i = 0; i < sample && i < nr; i++) {
		size_t at = sample < nr ? (i * STRIDE + nr / 2) % nr : i;

		*f->work -= *f->work > 0;
		if (event_verdict(&f->event[at], b) != DEAD)
			continue;
		s->killer = at;
		if (++dead >= stop)
			break;
	}
	return dead;
}

/*
 * How many events to try on a box of half width r. Each event refutes a wrong box with probability hit(r), so
 * about 4 / hit; but if halving raises the probability by more than it costs (r * hit(r) is far below what smaller
 * boxes reach), none: split at once.
 */
static size_t sample_size(const struct fit *f, double r)
{
	unsigned int level = r > 1 ? (unsigned int)ilogb(r) : 0;
	double gain, best = 0;

	if (level >= FIT_LEVELS || f->hit[level] <= 0)
		return 0;
	for (unsigned int l = 0; l < level; l++)
		best = fmax(best, ldexp(f->hit[l], (int)l));
	gain = ldexp(f->hit[level], (int)level);
	if (gain < best / 4)
		return 0;
	return (size_t)fmin(SAMPLE, 8 + 4 / f->hit[level]);
}

/* ---- polygons ---- */

static void polygon_of(const struct box *b, struct polygon *p)
{
	p->nr = 0;
	p->p[p->nr++] = (struct point){b->a - b->ha, b->e - b->he};
	p->p[p->nr++] = (struct point){b->a + b->ha, b->e - b->he};
	if (b->he <= 0)
		return;
	p->p[p->nr++] = (struct point){b->a + b->ha, b->e + b->he};
	p->p[p->nr++] = (struct point){b->a - b->ha, b->e + b->he};
}

static double side(const struct point *p, double u, double limit, double sign)
{
	return sign * (p->a + p->e * u - limit);
}

/* Keeps the part where sign * (a + e u - limit) >= 0. */
static void polygon_clip(struct polygon *p, double u, double limit, double sign)
{
	struct polygon out = {.nr = 0};

	for (unsigned int i = 0; i < p->nr; i++) {
		const struct point *v = &p->p[i], *w = &p->p[(i + 1) % p->nr];
		double sv = side(v, u, limit, sign), sw = side(w, u, limit, sign);

		if (out.nr + 2 > VERTICES)
			return;
		if (sv >= 0)
			out.p[out.nr++] = *v;
		if ((sv < 0 && sw > 0) || (sv > 0 && sw < 0)) {
			double t = sv / (sv - sw);

			out.p[out.nr++] =
				(struct point){v->a + t * (w->a - v->a), v->e + t * (w->e - v->e)};
		}
	}
	if (p->nr == 2 && out.nr > 2) /* a line's two ends were visited both ways */
		out.nr = 2;
	*p = out;
}

static void polygon_box(const struct polygon *p, struct box *b)
{
	double alo = DBL_MAX, ahi = -DBL_MAX, elo = DBL_MAX, ehi = -DBL_MAX;

	for (unsigned int i = 0; i < p->nr; i++) {
		alo = fmin(alo, p->p[i].a);
		ahi = fmax(ahi, p->p[i].a);
		elo = fmin(elo, p->p[i].e);
		ehi = fmax(ehi, p->p[i].e);
	}
	*b = (struct box){(alo + ahi) / 2, (elo + ehi) / 2, (ahi - alo) / 2, (ehi - elo) / 2};
}

/* Clips by one event. 0: nothing to cut, 1: cut (p and b are smaller now), 2: its span is not unique yet, -1: dead. */
static int event_clip(const struct fit_event *ev, struct polygon *p, struct box *b)
{
	double r = b->ha + b->he * fabs(ev->u), pos = ev->x + b->a + b->e * ev->u;
	const struct fit_spans *s = ev->spans;
	ptrdiff_t i = span_at(s, pos + r);

	if (i < 0)
		return 0;
	if (s->leave[i] < pos - r)
		return (size_t)i + 1 == s->nr ? 0 : -1;
	if (pos - r >= s->enter[i] && pos + r <= s->leave[i])
		return 0;
	if (i > 0 && s->leave[i - 1] >= pos - r)
		return 2;
	if ((i == 0 && pos - r < s->enter[0]) || ((size_t)i + 1 == s->nr && pos + r > s->leave[i]))
		return 2; /* partly outside of the recording, where everything is allowed */
	polygon_clip(p, ev->u, s->enter[i] - ev->x, 1);
	polygon_clip(p, ev->u, s->leave[i] - ev->x, -1);
	if (!p->nr)
		return -1;
	polygon_box(p, b);
	return 1;
}

/* One pass over all. -1: dead; else how many are not clear yet. */
static ptrdiff_t contract_once(struct fit *f, struct polygon *p, struct box *b)
{
	ptrdiff_t unclear = 0;

	clock_work(f->work, f->nr_bounds);
	for (size_t i = 0; i < f->nr_bounds; i++) {
		const struct fit_bound *l = &f->bound[i];

		polygon_clip(p, l->u, l->host - l->x, l->guest_first ? -1 : 1);
		if (!p->nr)
			return -1;
	}
	polygon_box(p, b);
	for (size_t i = 0; i < f->nr; i++) {
		int what = event_clip(&f->event[i], p, b);

		*f->work -= *f->work > 0;
		if (what < 0)
			return -1;
		unclear += what == 2;
	}
	return unclear;
}

/* ---- results ---- */

static void hull_add(struct fit_hull *h, const struct polygon *p)
{
	for (unsigned int i = 0; i < p->nr; i++) {
		double first = p->p[i].a - p->p[i].e / 2, last = p->p[i].a + p->p[i].e / 2;
		bool fresh = !h->nr_leaves && !i;

		h->first_lo = fresh ? first : fmin(h->first_lo, first);
		h->first_hi = fresh ? first : fmax(h->first_hi, first);
		h->last_lo = fresh ? last : fmin(h->last_lo, last);
		h->last_hi = fresh ? last : fmax(h->last_hi, last);
	}
	h->nr_leaves++;
}

/* Nothing in the box could widen the hull. */
static bool hull_has(const struct fit_hull *h, const struct box *b)
{
	double r = b->ha + b->he / 2;

	return h->nr_leaves && b->a - b->e / 2 - r >= h->first_lo &&
	       b->a - b->e / 2 + r <= h->first_hi && b->a + b->e / 2 - r >= h->last_lo &&
	       b->a + b->e / 2 + r <= h->last_hi;
}

static int robust_leaf(struct search *s, const struct box *b)
{
	struct box centre = {b->a, b->e, 0, 0};
	size_t surely = dead_count(s, b, s->f->nr, s->f->nr, s->allowed + 1), at;

	if (surely > s->allowed)
		return 0;
	at = dead_count(s, &centre, s->f->nr, s->f->nr, s->best + 1);
	if (at < s->best)
		s->best = at;
	if (s->best < s->allowed)
		s->allowed = s->best;
	if (s->nr_leaf == LEAVES_MAX)
		return fail(-E2BIG, "cannot fit the guest's clock: search limit exceeded");
	if (array_room_kept(s->leaf_violations, s->nr_leaf, s->room_violations) ||
	    array_room_kept(s->leaf, s->nr_leaf, s->room_leaf))
		return -ENOMEM;
	s->leaf_violations[s->nr_leaf] = surely;
	s->leaf[s->nr_leaf++] = *b;
	return 0;
}

/* ---- the search ---- */

static void box_split(const struct box *b, bool by_e, struct box *low, struct box *high)
{
	*low = *high = *b;
	if (by_e) {
		low->he = high->he = b->he / 2;
		low->e -= b->he / 2;
		high->e += b->he / 2;
	} else {
		low->ha = high->ha = b->ha / 2;
		low->a -= b->ha / 2;
		high->a += b->ha / 2;
	}
}

/* Cuts a small box down. True: done with it; false: *b (smaller by now) must be split. */
static bool box_contract(struct search *s, struct box *b)
{
	struct polygon p;

	polygon_of(b, &p);
	for (;;) {
		struct box before = *b;
		ptrdiff_t unclear = contract_once(s->f, &p, b);

		if (unclear < 0)
			return true;
		if (!unclear || b->ha + b->he / 2 < 1) {
			if (covered_most(s->f, b) >= s->need)
				hull_add(s->hull, &p);
			return true;
		}
		if ((b->ha >= before.ha * 0.9 && b->he >= before.he * 0.9) || !*s->f->work)
			return false;
		polygon_of(b, &p);
	}
}

/* 1: done with the box, 0: split it, -errno. */
static int box_look(struct search *s, struct box *b)
{
	struct fit *f = s->f;
	double r = b->ha + b->he / 2;
	size_t sharp, sample = r > f->fine ? sample_size(f, b->ha) : SAMPLE;

	clock_work(f->work, 2 + f->nr_bounds / 8);
	if (covered_most(f, b) < s->need || hull_has(s->hull, b))
		return 1;
	if (!s->robust && bounds_dead(f, b))
		return 1;
	sharp = sample && 2 * b->ha < f->max_gap ? events_sharp(f, b) : 0;
	if (dead_count(s, b, sharp, sample, s->allowed + 1) > s->allowed)
		return 1;
	if (r > (s->robust ? f->fine / 64 : f->fine))
		return 0;
	if (s->robust) {
		int err = robust_leaf(s, b);

		return err ? err : 1;
	}
	return box_contract(s, b);
}

static void search_begin(struct search *s, const struct fit_range *range)
{
	s->nr = 0;
	s->stack[s->nr++] =
		(struct box){(range->a_lo + range->a_hi) / 2, (range->e_lo + range->e_hi) / 2,
			     (range->a_hi - range->a_lo) / 2, (range->e_hi - range->e_lo) / 2};
}

static int search_run(struct search *s)
{
	size_t leaves = s->hull->nr_leaves;

	while (s->nr) {
		struct box b = s->stack[--s->nr], low, high;
		int what = box_look(s, &b);

		if (what < 0)
			return what;
		if (!*s->f->work)
			return fail(-E2BIG, "cannot determine the guest's clock from its events: "
					    "too many offsets fit equally well; give its offset "
					    "with --clock OFFSET[,SCALE]");
		if (what > 0) {
			if (s->any && s->hull->nr_leaves > leaves)
				return 0;
			continue;
		}
		box_split(&b, b.he / 2 > b.ha, &low, &high);
		if (s->nr + 2 > STACK)
			return fail(
				-E2BIG,
				"cannot fit the guest's clock: search limit exceeded");
		s->stack[s->nr++] = s->descending ? low : high;
		s->stack[s->nr++] = s->descending ? high : low;
	}
	return 0;
}

/* The remaining range is searched from its other end. */
static void search_turn(struct search *s)
{
	for (size_t i = 0, k = s->nr; i + 1 < k; i++) {
		struct box swap = s->stack[i];

		s->stack[i] = s->stack[--k];
		s->stack[k] = swap;
	}
	s->descending = true;
}

int fit_search(struct fit *f, const struct fit_range *range, size_t need, bool any,
	       struct fit_hull *hull)
{
	struct search s = {.f = f, .hull = hull, .need = need, .any = true};
	int err;

	*hull = (struct fit_hull){.x_mid = f->x_mid, .length = f->length};
	search_begin(&s, range);
	err = search_run(&s); /* the lowest piece, */
	if (err || any || !hull->nr_leaves)
		return err;
	search_turn(&s);
	err = search_run(&s); /* the highest, */
	s.any = false;	      /* and the part outside the hull of both */
	return err ? err : search_run(&s);
}

int fit_search_best(struct fit *f, const struct fit_range *range, size_t need, size_t most,
		    struct fit_hull *hull)
{
	int err = 0;

	*hull = (struct fit_hull){.x_mid = f->x_mid, .length = f->length};
	for (size_t allowed = 1; !err && !hull->nr_leaves && allowed <= most; allowed *= 2) {
		struct search s = {.f = f,
				   .hull = hull,
				   .need = need,
				   .robust = true,
				   .allowed = allowed,
				   .best = allowed + 1};

		search_begin(&s, range);
		err = search_run(&s);
		for (size_t i = 0; !err && s.best <= allowed && i < s.nr_leaf; i++) {
			struct polygon p;

			polygon_of(&s.leaf[i], &p);
			if (s.leaf_violations[i] <= s.best)
				hull_add(hull, &p);
		}
		hull->violations = s.best;
		free(s.leaf);
		free(s.leaf_violations);
	}
	return err;
}
