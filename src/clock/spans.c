// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * When a vCPU may have been in guest mode. Only certain times are excluded: if an entry or an exit is missing,
 * or events were lost, the time in question is allowed. kvm_entry's timestamp is before the real entry and kvm_exit's
 * after the real exit, so spans are never too short.
 */
#include <errno.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/order.h"
#include "clock/protocols.h"

enum { NOTHING_SEEN, IN_GUEST, OUT_OF_GUEST };

static int span_add(struct clock_spans *s, uint64_t enter, uint64_t leave)
{
	if (s->nr >= CLOCK_SPANS_MAX) {
		s->full = true;
		return 0;
	}
	if (array_reserve(s->span, s->nr + 1, s->room))
		return -ENOMEM;
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

ORDER_BY(by_enter, struct clock_span, enter, leave)

/* Sorts spans and merges those that touch or overlap; returns how many remain. */
static size_t spans_merge(struct clock_span *span, size_t nr)
{
	size_t kept = 0;

	qsort(span, nr, sizeof(*span), by_enter);
	for (size_t i = 1; i < nr; i++) {
		struct clock_span *last = &span[kept];

		if (span[i].enter > last->leave)
			span[++kept] = span[i];
		else if (span[i].leave > last->leave)
			last->leave = span[i].leave;
	}
	return nr ? kept + 1 : 0;
}

size_t clock_holes_join(struct clock_span *hole, size_t nr, size_t max)
{
	size_t each, kept = 0;

	nr = spans_merge(hole, nr);
	each = (nr + max - 1) / max;
	for (size_t i = 0; i < nr; i += each)
		hole[kept++] = (struct clock_span){
			hole[i].enter, hole[i + each < nr ? i + each - 1 : nr - 1].leave};
	return kept;
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
	s->nr = spans_merge(s->span, s->nr);
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

/*
 * Which timestamps of a vCPU were made after a change of its TSC offset. The time of the change is known, and mostly a
 * timestamp is possible on one side of it only. But if the TSC was set back by more than the guest had been silent (a
 * VM that is put back to a snapshot), the timestamps after the change also fit the time before it. Guest mode decides:
 * of all ways to divide the timestamps among the segments, one with the fewest timestamps outside guest mode is used.
 *
 * A state is the best way to have reached a segment. A timestamp that does not fit the best state begins a state for
 * each later segment that it fits. To begin it earlier could at most be as good: of such positions the one with the
 * longest time between two timestamps is used, and what lies between them is counted as uncertain.
 */

enum {
	TRIALS_MAX = 1 << 24, /* timestamps in a later segment: with more the offsets are not in effect */
	BEHIND_MAX = 64, /* a state with so many timestamps more outside guest mode than the best ends */
	NO_PATH = -1,
};

/* Costs: timestamps outside guest mode count first, then those outside the recording, which cannot be checked. */
static const uint64_t OUTSIDE = 1ull << 32, UNCHECKED = 1;

struct path {
	size_t segment, first; /* first: the first timestamp in it */
	long before;	       /* the path to the segment before, NO_PATH: none */
};

struct state {
	bool open;
	uint64_t cost, before; /* before: without the current timestamp */
	uint64_t last;	       /* host time of the latest timestamp */
	long path;
};

struct changes {
	struct clock_vcpu *v;
	const struct clock_input *in;
	struct state *state; /* of each segment */
	struct path *path;
	size_t nr_paths;
	size_t lowest, end; /* only states from `lowest` to before `end` are open */
	uint64_t trials;
	uint64_t *work;
};

/* What it costs that a timestamp is in a segment, after one with the host time `last`. */
static uint64_t cost_of(const struct changes *ch, size_t segment, uint64_t host, uint64_t last)
{
	int64_t distance;

	if ((double)clock_implausible(ch->v, segment, host, last) > ch->v->error_ticks)
		return OUTSIDE;
	distance = clock_distance(ch->in, host);
	if (distance < 0)
		return UNCHECKED;
	return (double)distance > ch->v->error_ticks ? OUTSIDE : 0;
}

static uint64_t host_of(const struct changes *ch, size_t segment, size_t stamp)
{
	return clock_segment_host(&ch->v->segment[segment], ch->in->stamp[stamp]);
}

static int path_add(struct changes *ch, size_t segment, size_t first, long before)
{
	int err = array_room(ch->path, ch->nr_paths);

	if (!err)
		ch->path[ch->nr_paths++] =
			(struct path){.segment = segment, .first = first, .before = before};
	return err;
}

/* From the cheapest of the states of lower segments; the highest of several. */
static int states_begin(struct changes *ch, size_t stamp)
{
	struct state from = ch->state[ch->lowest];
	int err = 0;

	for (size_t i = ch->lowest + 1; !err && i < ch->v->nr_segments; i++) {
		uint64_t host = host_of(ch, i, stamp);
		struct state *to = &ch->state[i], old = *to;

		ch->trials++;
		clock_work(ch->work, 2);
		if ((!old.open || old.cost > from.before) &&
		    !cost_of(ch, i, host, from.last)) {
			err = path_add(ch, i, stamp, from.path);
			*to = (struct state){.open = true,
					     .cost = from.before,
					     .last = host,
					     .path = (long)ch->nr_paths - 1};
			ch->end = i + 1 > ch->end ? i + 1 : ch->end;
		}
		if (old.open && old.before <= from.before)
			from = old;
	}
	return err;
}

/* Adds a timestamp to each state. True: it does not fit the one that was the best. */
static bool states_advance(struct changes *ch, size_t stamp)
{
	uint64_t best = UINT64_MAX, best_now = UINT64_MAX;
	bool misfit = false;

	clock_work(ch->work, 2 * (ch->end - ch->lowest));
	for (size_t i = ch->lowest; i < ch->end; i++) {
		struct state *s = &ch->state[i];
		uint64_t host, cost;

		if (!s->open)
			continue;
		host = host_of(ch, i, stamp);
		cost = cost_of(ch, i, host, s->last);
		if (s->cost < best) {
			best = s->cost;
			misfit = cost;
		}
		s->before = s->cost;
		s->cost += cost;
		s->last = host > s->last && cost < OUTSIDE ? host : s->last;
		best_now = s->cost < best_now ? s->cost : best_now;
	}
	for (size_t i = ch->lowest; i < ch->end; i++)
		if (ch->state[i].cost > best_now + BEHIND_MAX * OUTSIDE)
			ch->state[i].open = false;
	while (!ch->state[ch->lowest].open)
		ch->lowest++;
	while (!ch->state[ch->end - 1].open)
		ch->end--;
	return misfit;
}

static const struct state *best_state(const struct changes *ch)
{
	const struct state *best = NULL;

	for (size_t i = ch->lowest; i < ch->end; i++)
		if (ch->state[i].open && (!best || ch->state[i].cost < best->cost))
			best = &ch->state[i];
	return best;
}

/* The first timestamp of `to`, which could be an earlier one: *ret_uncertain is how many could be in either segment. */
static size_t boundary_place(const struct changes *ch, const struct path *from,
			     const struct path *to, size_t *ret_uncertain)
{
	const uint64_t *stamp = ch->in->stamp;
	size_t best = to->first, k = to->first;
	uint64_t widest = 0;

	while (k > from->first + 1 && stamp[k - 1] <= stamp[k] &&
	       !cost_of(ch, to->segment, host_of(ch, to->segment, k), 0)) {
		if (stamp[k] - stamp[k - 1] > widest) {
			widest = stamp[k] - stamp[k - 1];
			best = k;
		}
		k--;
	}
	*ret_uncertain = k < to->first ? to->first - k - 1 : 0;
	return best;
}

/* After its last timestamp a segment has none, however long it was in effect. */
static void segment_end(struct changes *ch, size_t segment, size_t first, size_t end)
{
	uint64_t last = 0;

	for (size_t i = first; i < end; i++) {
		uint64_t host = host_of(ch, segment, i);

		last = host > last ? host : last;
	}
	ch->v->segment[segment].until = last + 1;
}

static void segments_end(struct changes *ch, const struct path *to)
{
	size_t uncertain, end;

	while (to->before != NO_PATH) {
		const struct path *from = &ch->path[to->before];

		end = boundary_place(ch, from, to, &uncertain);
		ch->v->uncertain += uncertain;
		for (size_t i = from->segment + 1; i < to->segment; i++)
			ch->v->segment[i].until = 1; /* none is in it */
		segment_end(ch, from->segment, from->first, end);
		to = from;
	}
}

int clock_changes_place(struct clock_vcpu *v, const struct clock_input *in, uint64_t *work)
{
	_cleanup_free_ struct state *state = calloc(v->nr_segments + 1, sizeof(*state));
	struct changes ch = {.v = v, .in = in, .state = state, .end = 1, .work = work};
	int err = state ? 0 : fail(-ENOMEM, "clock: out of memory");

	if (err || v->nr_segments < 2 || in->nr_spans < 2 || !in->nr_stamps)
		return err;
	err = path_add(&ch, 0, 0, NO_PATH);
	state[0] = (struct state){.open = true};
	for (size_t i = 0; !err && i < in->nr_stamps && ch.trials < TRIALS_MAX; i++) {
		if (states_advance(&ch, i))
			err = states_begin(&ch, i);
		if (!err && !*work)
			err = clock_work_over();
	}
	if (!err && ch.trials < TRIALS_MAX)
		segments_end(&ch, &ch.path[best_state(&ch)->path]);
	free(ch.path);
	return err;
}
