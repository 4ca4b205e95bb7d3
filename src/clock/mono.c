// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Host TSC to CLOCK_MONOTONIC: a line through every calibration pair. The TSC is steady, but CLOCK_MONOTONIC is
 * slewed by NTP, so its slope against the TSC changes a little all the time. How far the true curve may leave the
 * line between two pairs is estimated from the pairs themselves: how far each lies from the line through its
 * neighbours.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/order.h"
#include "clock/clock.h"

enum { BRACKET_FACTOR = 8, BRACKET_SLACK = 200 }; /* a bracket is usual up to 8 medians + 200 ticks */

/* The slope beyond the pairs: crystals drift within some 0.1 ppm over minutes, NTP slews by more when it corrects. */
#define END_ERROR_MIN 1e-6

static int pair_compare(const void *va, const void *vb)
{
	const struct clock_pair *a = va, *b = vb;

	if (a->tsc != b->tsc)
		return a->tsc < b->tsc ? -1 : 1;
	return a->bracket != b->bracket ? order_u64(a->bracket, b->bracket)
					: order_u64(a->ns, b->ns);
}

static int u32_compare(const void *va, const void *vb)
{
	return order_u64(*(const uint32_t *)va, *(const uint32_t *)vb);
}

static uint32_t bracket_limit(const struct clock_pair *p, size_t nr, uint32_t *scratch)
{
	uint64_t limit;

	for (size_t i = 0; i < nr; i++)
		scratch[i] = p[i].bracket;
	qsort(scratch, nr, sizeof(*scratch), u32_compare);
	limit = (uint64_t)scratch[(nr - 1) / 2] * BRACKET_FACTOR + BRACKET_SLACK;
	return limit > UINT32_MAX ? UINT32_MAX : (uint32_t)limit;
}

/* Sorts and keeps the good ones; returns how many. */
static size_t pairs_clean(struct clock_pair *p, size_t nr, uint32_t *scratch)
{
	uint32_t limit = nr ? bracket_limit(p, nr, scratch) : 0;
	size_t kept = 0;

	qsort(p, nr, sizeof(*p), pair_compare);
	for (size_t i = 0; i < nr; i++) {
		if (p[i].bracket > limit)
			continue;
		if (kept && (p[i].tsc <= p[kept - 1].tsc || p[i].ns <= p[kept - 1].ns))
			continue;
		p[kept++] = p[i];
	}
	return kept;
}

static double slope(const struct clock_pair *a, const struct clock_pair *b)
{
	return (double)(b->ns - a->ns) / (double)(b->tsc - a->tsc);
}

/* How far pair i lies from the line through its neighbours, ns. */
static double bend(const struct clock_pair *p, size_t i, size_t nr)
{
	if (i == 0 || i + 1 >= nr)
		return 0;
	return fabs((double)(p[i].ns - p[i - 1].ns) -
		    (double)(p[i].tsc - p[i - 1].tsc) * slope(&p[i - 1], &p[i + 1]));
}

static double half_bracket_ns(const struct clock_pair *p, double ns_per_tick)
{
	return p->bracket / 2.0 * ns_per_tick + 1; /* the clock's own grain */
}

static void pieces_make(struct clock_mono *m, const struct clock_pair *p, size_t nr)
{
	double steepest = 0;

	for (size_t i = 0; i + 1 < nr; i++) {
		double k = slope(&p[i], &p[i + 1]);

		m->piece[i] = (struct clock_mono_piece){
			.ns = p[i].ns, .tsc = p[i].tsc, .ns_per_tick = k,
			.error_ns = fmax(half_bracket_ns(&p[i], k), half_bracket_ns(&p[i + 1], k)) +
				    fmax(bend(p, i, nr), bend(p, i + 1, nr)),
		};
		if (i)
			steepest = fmax(steepest, fabs(k / m->piece[i - 1].ns_per_tick - 1));
	}
	m->piece[nr - 1] = m->piece[nr - 2];
	m->piece[nr - 1].ns = p[nr - 1].ns;
	m->piece[nr - 1].tsc = p[nr - 1].tsc;
	m->nr = nr;
	m->end_error = fmax(END_ERROR_MIN, steepest);
}

int clock_mono_init(struct clock_mono *m, const struct clock_pair *pairs, size_t nr)
{
	_cleanup_free_ struct clock_pair *p = NULL;
	_cleanup_free_ uint32_t *scratch = NULL;

	*m = (struct clock_mono){0};
	nr = nr > CLOCK_PAIRS_MAX ? CLOCK_PAIRS_MAX : nr;
	p = malloc((nr + 1) * sizeof(*p));
	scratch = malloc((nr + 1) * sizeof(*scratch));
	if (!p || !scratch)
		return fail(-ENOMEM, "clock: out of memory");
	if (nr)
		memcpy(p, pairs, nr * sizeof(*p));
	nr = pairs_clean(p, nr, scratch);
	if (nr < 2)
		return fail(-ENODATA,
			    "cannot relate the host's TSC to its clock: %zu usable calibration "
			    "pairs, at least two are needed",
			    nr);
	m->piece = calloc(nr, sizeof(*m->piece));
	if (!m->piece)
		return fail(-ENOMEM, "clock: out of memory");
	pieces_make(m, p, nr);
	return 0;
}

void clock_mono_deinit(struct clock_mono *m)
{
	free(m->piece);
	*m = (struct clock_mono){0};
}

/* The piece that contains x; the first for earlier values. by_tsc chooses the axis. */
static const struct clock_mono_piece *piece_at(const struct clock_mono *m, uint64_t x, bool by_tsc)
{
	size_t lo = 0, hi = m->nr;

	while (hi - lo > 1) {
		size_t mid = (lo + hi) / 2;

		if ((by_tsc ? m->piece[mid].tsc : m->piece[mid].ns) <= x)
			lo = mid;
		else
			hi = mid;
	}
	return &m->piece[lo];
}

static uint64_t add_clamped(uint64_t base, double delta)
{
	if (delta < 0)
		return -delta >= (double)base ? 0 : base - (uint64_t)(-delta + 0.5);
	return delta >= 0x1p63 ? UINT64_MAX : base + (uint64_t)(delta + 0.5);
}

uint64_t clock_mono_ns(const struct clock_mono *m, uint64_t tsc, double *ret_error_ns)
{
	const struct clock_mono_piece *p = piece_at(m, tsc, true), *last = &m->piece[m->nr - 1];
	double delta = tsc >= p->tsc ? (double)(tsc - p->tsc) : -(double)(p->tsc - tsc);

	if (ret_error_ns) {
		*ret_error_ns = p->error_ns;
		if (tsc < p->tsc || tsc > last->tsc)
			*ret_error_ns += fabs(delta) * p->ns_per_tick * m->end_error;
	}
	return add_clamped(p->ns, delta * p->ns_per_tick);
}

uint64_t clock_mono_tsc(const struct clock_mono *m, uint64_t ns)
{
	const struct clock_mono_piece *p = piece_at(m, ns, false);
	double delta = ns >= p->ns ? (double)(ns - p->ns) : -(double)(p->ns - ns);

	return add_clamped(p->tsc, delta / p->ns_per_tick);
}

double clock_mono_error_ns(const struct clock_mono *m)
{
	double worst = 0;

	for (size_t i = 0; i < m->nr; i++)
		worst = fmax(worst, m->piece[i].error_ns);
	return worst;
}

double clock_mono_ticks_per_ns(const struct clock_mono *m)
{
	const struct clock_mono_piece *a = &m->piece[0], *b = &m->piece[m->nr - 1];

	return (double)(b->tsc - a->tsc) / (double)(b->ns - a->ns);
}
