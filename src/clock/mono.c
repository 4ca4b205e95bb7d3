// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Host TSC to CLOCK_MONOTONIC: a line through every calibration pair. The TSC is steady, but CLOCK_MONOTONIC is
 * slewed by NTP, so its slope against the TSC changes a little all the time. How far the true curve may leave the
 * line between two pairs is estimated from the pairs themselves: how far each lies from the line through its
 * neighbours.
 */
#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/order.h"
#include "clock/protocols.h"

enum { BRACKET_FACTOR = 8, BRACKET_SLACK = 200 }; /* a bracket is usual up to 8 medians + 200 ticks */

/* The slope beyond the pairs: crystals drift within some 0.1 ppm over minutes, NTP slews by more when it corrects. */
#define END_ERROR_MIN 1e-6

ORDER_BY(pair_compare, struct clock_pair, tsc, bracket, ns)

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

/*
 * Guest TSC to host TSC: segments of (offset, scale), and the segment that a timestamp belongs to. KVM computes
 * guest = (host * ratio >> frac_bits) + offset (kvm_scale_tsc(), Intel SDM 25.6.5, AMD APM 15.30.5).
 */

typedef unsigned __int128 wide; /* the one typedef: the language has no other name for it */

uint64_t clock_segment_guest(const struct clock_segment *s, uint64_t host_tsc)
{
	if (!s->scale_bits || !s->scale)
		return host_tsc + (uint64_t)s->offset;
	return (uint64_t)((wide)host_tsc * s->scale >> s->scale_bits) + (uint64_t)s->offset;
}

/* The earliest host tick that gives this guest tick or a later one. */
uint64_t clock_segment_host(const struct clock_segment *s, uint64_t guest_tsc)
{
	uint64_t scaled = guest_tsc - (uint64_t)s->offset;
	wide host;

	if (scaled >> 63) /* before the host's TSC began: a wrong offset or a wrong timestamp */
		return 0;
	if (!s->scale_bits || !s->scale)
		return scaled;
	host = (((wide)scaled << s->scale_bits) + s->scale - 1) / s->scale;
	return host >> 64 ? UINT64_MAX : (uint64_t)host;
}

/*
 * Timestamps of one vCPU may step back this far without a jump: an interrupted writer timestamps first and is
 * recorded last, or the other way round.
 */
enum { DISORDER_TICKS = 1 << 18 };

static uint64_t segment_end(const struct clock_vcpu *v, size_t i)
{
	uint64_t end = i + 1 < v->nr_segments ? v->segment[i + 1].from : UINT64_MAX;

	return v->segment[i].until && v->segment[i].until < end ? v->segment[i].until : end;
}

uint64_t clock_implausible(const struct clock_vcpu *v, size_t i, uint64_t host, uint64_t last)
{
	uint64_t cost = 0, end = segment_end(v, i);

	if (i && host < v->segment[i].from)
		cost = v->segment[i].from - host;
	else if (end != UINT64_MAX && host >= end)
		cost = host - end + 1;
	if (host < last && last - host > DISORDER_TICKS && last - host > cost)
		cost = last - host;
	return cost;
}

uint64_t clock_vcpu_host(const struct clock_vcpu *v, struct clock_cursor *c, uint64_t guest_tsc)
{
	uint64_t best_cost = UINT64_MAX, best_host = guest_tsc;
	size_t best = c->segment;

	/* Earlier segments never apply again; the first that matches is used. */
	for (size_t i = c->segment; i < v->nr_segments && best_cost; i++, c->steps++) {
		uint64_t host = clock_segment_host(&v->segment[i], guest_tsc);
		uint64_t cost = clock_implausible(v, i, host, c->last);

		if (cost < best_cost) {
			best_cost = cost;
			best_host = host;
			best = i;
		}
	}
	c->segment = best;
	c->last = best_host > c->last ? best_host : c->last;
	return best_host;
}

static bool same_relation(const struct clock_segment *a, const struct clock_segment *b)
{
	return a->offset == b->offset && a->scale == b->scale && a->scale_bits == b->scale_bits;
}

static int segment_add(struct clock_vcpu *v, const struct clock_segment *s)
{
	if (v->nr_segments && same_relation(&v->segment[v->nr_segments - 1], s))
		return 0;
	if (v->nr_segments >= CLOCK_SEGMENTS_MAX)
		return fail(-E2BIG, "a vCPU's TSC offset was changed more than %d times",
			    CLOCK_SEGMENTS_MAX);
	return array_add(v->segment, v->nr_segments, *s);
}

int clock_vcpu_read(struct clock_vcpu *v, const struct clock_report *report, size_t nr,
		    bool in_effect)
{
	struct clock_segment s = {0};
	int err = 0;

	if (!in_effect)
		return segment_add(v, &s);
	for (size_t i = 0; !err && i < nr; i++) {
		const struct clock_report *r = &report[i];
		bool first = v->nr_segments == 0;

		/* A change of the offset does not contain the scale, which is kept. */
		if (r->scale_bits && r->scale_bits <= CLOCK_SCALE_BITS_MAX) {
			s.scale = r->scale;
			s.scale_bits = r->scale_bits;
		}
		s.from = 0;
		s.offset = r->before;
		if (first && r->change)
			err = segment_add(v, &s);
		s.from = first && !r->change ? 0 : r->host_tsc;
		s.offset = r->offset;
		if (!err)
			err = segment_add(v, &s);
	}
	return err;
}
