// SPDX-License-Identifier: GPL-2.0-or-later
/* What the search works on: spans with their lookup table, events in a useful order. */
#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
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
