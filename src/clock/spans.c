// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * When a vCPU may have been in guest mode. Only certain times are excluded: if an entry or an exit is missing,
 * or events were lost, the time in question is allowed. kvm_entry's timestamp is before the real entry and kvm_exit's
 * after the real exit, so spans are never too short.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/order.h"
#include "clock/clock.h"

enum { NOTHING_SEEN, IN_GUEST, OUT_OF_GUEST };

static int span_add(struct clock_spans *s, uint64_t enter, uint64_t leave)
{
	if (s->nr >= CLOCK_SPANS_MAX) {
		s->full = true;
		return 0;
	}
	if (s->nr == s->room) {
		size_t room = s->room ? 2 * s->room : 256;
		void *grown = realloc(s->span, room * sizeof(*s->span));

		if (!grown)
			return fail(-ENOMEM, "clock: out of memory");
		s->span = grown;
		s->room = room;
	}
	s->span[s->nr++] = (struct clock_span){.enter = enter, .leave = leave};
	return 0;
}

int clock_spans_enter(struct clock_spans *s, uint64_t host_tsc)
{
	if (s->state == IN_GUEST) { /* the exit is missing: allowed all the way */
		s->repaired++;
		return 0;
	}
	s->state = IN_GUEST;
	s->since = host_tsc;
	return 0;
}

int clock_spans_leave(struct clock_spans *s, uint64_t host_tsc)
{
	int state = s->state;

	s->state = OUT_OF_GUEST;
	if (state == IN_GUEST)
		return host_tsc < s->since ? 0 : span_add(s, s->since, host_tsc);
	if (state == OUT_OF_GUEST && s->nr && !s->full && host_tsc > s->span[s->nr - 1].leave) {
		s->repaired++; /* the entry is missing */
		s->span[s->nr - 1].leave = host_tsc;
	}
	return 0;
}

/* Merges spans that touch or overlap after an insertion. */
static void spans_merge(struct clock_spans *s)
{
	size_t kept = 0;

	for (size_t i = 1; i < s->nr; i++) {
		struct clock_span *last = &s->span[kept];

		if (s->span[i].enter > last->leave)
			s->span[++kept] = s->span[i];
		else if (s->span[i].leave > last->leave)
			last->leave = s->span[i].leave;
	}
	if (s->nr)
		s->nr = kept + 1;
}

static int by_enter(const void *va, const void *vb)
{
	const struct clock_span *a = va, *b = vb;

	return a->enter != b->enter ? order_u64(a->enter, b->enter) : order_u64(a->leave, b->leave);
}

int clock_spans_allow(struct clock_spans *s, const struct clock_span *hole, size_t nr)
{
	size_t known = s->nr;
	uint64_t first = known ? s->span[0].enter : 0, last = known ? s->span[known - 1].leave : 0;
	int err = 0;

	for (size_t i = 0; known && !err && i < nr; i++)
		if (hole[i].leave >= first && hole[i].enter <= last) /* else it is not checked anyway */
			err = span_add(s, hole[i].enter, hole[i].leave);
	if (err || s->nr == known)
		return err;
	qsort(s->span, s->nr, sizeof(*s->span), by_enter);
	spans_merge(s);
	return 0;
}

void clock_spans_deinit(struct clock_spans *s)
{
	free(s->span);
	*s = (struct clock_spans){0};
}

/* ---- pairing kicks ---- */

enum { MATCH_SHIFTS_MAX = 4096 };

/* The value that would be at `nth` if they were sorted (Hoare's selection). */
static double nth_of(double *v, size_t nr, size_t nth)
{
	ptrdiff_t lo = 0, hi = (ptrdiff_t)nr - 1, at = (ptrdiff_t)nth;

	while (lo < hi) {
		double pivot = v[lo + (hi - lo) / 2];
		ptrdiff_t i = lo, k = hi;

		while (i <= k) {
			while (v[i] < pivot)
				i++;
			while (v[k] > pivot)
				k--;
			if (i > k)
				break;
			double swap = v[i];

			v[i++] = v[k];
			v[k--] = swap;
		}
		lo = at >= i ? i : lo;
		hi = at <= k ? k : hi;
		if (at > k && at < i)
			break;
	}
	return v[at];
}

/* How much the distances of the pairs i <-> i + shift vary: median less minimum. */
static double spread(const uint64_t *guest, const uint64_t *host, size_t nr, double *scratch)
{
	double least = 0; /* of the first pair */

	for (size_t i = 0; i < nr; i++) {
		scratch[i] = (double)(int64_t)(host[i] - host[0] - (guest[i] - guest[0]));
		least = scratch[i] < least ? scratch[i] : least;
	}
	return nth_of(scratch, nr, nr / 2) - least;
}

size_t clock_limits_match(const uint64_t *guest_tsc, size_t nr_guest, const uint64_t *host_tsc,
			  size_t nr_host, uint64_t *work, struct clock_limit *ret)
{
	size_t least = nr_guest < nr_host ? nr_guest : nr_host;
	_cleanup_free_ double *scratch = malloc((least + 1) * sizeof(*scratch));
	size_t best_g = 0, best_h = 0, best_nr = 0;
	double best = -1;

	if (!scratch || !least)
		return 0;
	for (long shift = -MATCH_SHIFTS_MAX; shift <= MATCH_SHIFTS_MAX; shift++) {
		size_t g = shift < 0 ? (size_t)-shift : 0, h = shift > 0 ? (size_t)shift : 0, nr;
		double cost;

		if (g >= nr_guest || h >= nr_host)
			continue;
		nr = nr_guest - g < nr_host - h ? nr_guest - g : nr_host - h;
		if (nr < 3 && least >= 3)
			continue;
		if (2 * nr < least) /* a handful can agree by chance */
			continue;
		if (!clock_work(work, 2 * nr))
			return 0;
		cost = spread(guest_tsc + g, host_tsc + h, nr, scratch);
		if (best < 0 || cost < best) {
			best = cost;
			best_g = g;
			best_h = h;
			best_nr = nr;
		}
	}
	for (size_t i = 0; i < best_nr; i++)
		ret[i] = (struct clock_limit){.guest_tsc = guest_tsc[best_g + i],
					      .host_tsc = host_tsc[best_h + i],
					      .guest_first = true};
	return best_nr;
}
