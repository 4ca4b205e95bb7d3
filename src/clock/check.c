// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * How much a check without violations is worth: with which probability would a wrong relation pass it?
 *
 * An unrelated offset puts an event into guest mode with the share of the time that the vCPU was there. But events that
 * are closer to each other than a gap between two spans is long fall into the same gap: they form a group that counts
 * once. Which gaps matter is tried: those of at least a certain length, for several lengths.
 *
 * A wrong offset is not always unrelated: exits are often periodic (timers), and an offset that is wrong by a whole
 * number of periods passes much more often. So the relation is shifted by the distance from one entry to another one,
 * in many ways, and it is counted how many groups stay in guest mode.
 *
 * If a fit's bound spans several possible offsets, its middle need not be one of them: then some events lie in gaps,
 * although within the bound, and nothing is excluded.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/error.h"
#include "base/saturate.h"
#include "clock/protocols.h"

enum {
	EVENTS_MAX = 1 << 20, /* that are looked at, from the middle of each vCPU's */
	EVENTS_MIN = 1024,    /* of them for a vCPU, however many vCPUs there are */
	GROUPS_MAX = 1024,    /* that are shifted, and events of one of them */
	GROUP_EVENTS_MAX = 16,
	SHIFTS = 256,
	NEAR_SHIFTS = 32, /* of these to an entry close by */
	ROUNDING_TICKS = 2, /* of a fitted offset, see fit_take() */
	LONGER = 4,	  /* a gap so many times the least length counts as no longer, and groups are so far apart */
};

/* The times of entries and exits are not exact, so that even a vCPU that is always idle excludes no more. */
#define GAP_SHARE_MAX 0.999

struct group {
	uint64_t host[GROUP_EVENTS_MAX];
	unsigned int nr, vcpu;
};

/* The events of a vCPU that can be checked, as host times. */
struct vcpu_events {
	uint64_t *host;
	size_t nr;
	double apart; /* between two groups */
};

struct chance {
	const struct clock_input *in;
	double host_error;
	struct vcpu_events *vcpu;
	unsigned int nr_vcpus;
	struct group *group; /* a selection */
	size_t nr, total;    /* all */
	double unrelated;    /* ln of the probability that an unrelated offset passes */
	size_t spans;	     /* of the vCPU that has most */
};

static double gap_after(const struct chance *x, unsigned int vcpu, size_t span)
{
	const struct clock_span *s = &x->in[vcpu].span[span];

	return (double)(s[1].enter - s[0].leave) - 2 * x->host_error;
}

/* The share of the recorded time in gaps of at least this length. */
static double gaps_share(const struct chance *x, unsigned int vcpu, double least)
{
	const struct clock_input *in = &x->in[vcpu];
	double sum = 0;

	for (size_t i = 0; i + 1 < in->nr_spans; i++) {
		double gap = gap_after(x, vcpu, i);

		sum += gap >= least ? fmin(gap, LONGER * least) : 0;
	}
	return fmin(sum / (double)(in->span[in->nr_spans - 1].leave - in->span[0].enter),
		    GAP_SHARE_MAX);
}

/* Does the i-th event begin a group? *start: of the group so far. */
static bool is_group(const struct vcpu_events *e, size_t i, double apart, uint64_t *start)
{
	if (i && fabs((double)(int64_t)(e->host[i] - *start)) < apart)
		return false;
	*start = e->host[i];
	return true;
}

static size_t groups_count(const struct vcpu_events *e, double apart)
{
	uint64_t start = 0;
	size_t nr = 0;

	for (size_t i = 0; i < e->nr; i++)
		nr += is_group(e, i, apart, &start);
	return nr;
}

/* The length of gaps that excludes the most. */
static void vcpu_weigh(struct chance *x, unsigned int vcpu, uint64_t *work)
{
	struct vcpu_events *e = &x->vcpu[vcpu];
	double longest = 0, best = 0;
	size_t groups = 0;

	clock_work(work, 4 * (e->nr ? e->nr + x->in[vcpu].nr_spans : 0));
	for (size_t i = 0; e->nr && i + 1 < x->in[vcpu].nr_spans; i++)
		longest = fmax(longest, gap_after(x, vcpu, i));
	for (double least = 1; least <= longest; least *= LONGER) {
		size_t nr = groups_count(e, LONGER * least);
		double excluded = -(double)nr * log1p(-gaps_share(x, vcpu, least));

		if (excluded <= best)
			continue;
		best = excluded;
		groups = nr;
		e->apart = LONGER * least;
	}
	x->unrelated -= best;
	x->total += groups;
	if (groups && x->in[vcpu].nr_spans > x->spans)
		x->spans = x->in[vcpu].nr_spans;
}

static int vcpu_events_read(struct chance *x, const struct clock_vcpu *v, unsigned int vcpu,
			    uint64_t *work)
{
	const struct clock_input *in = &x->in[vcpu];
	size_t most = EVENTS_MAX / x->nr_vcpus > EVENTS_MIN ? EVENTS_MAX / x->nr_vcpus : EVENTS_MIN,
	       from = in->nr_stamps > most ? (in->nr_stamps - most) / 2 : 0;
	struct vcpu_events *e = &x->vcpu[vcpu];
	struct clock_cursor c = {0};

	if (in->nr_spans < 2)
		return 0;
	for (size_t i = 0; i < in->nr_stamps && i < from + most; i++) {
		uint64_t host = clock_vcpu_host(v, &c, in->stamp[i]);

		if (!clock_work(work, 1 + c.steps))
			return clock_work_over();
		c.steps = 0;
		if (i < from || clock_distance(in, host) < 0)
			continue;
		if (array_add(e->host, e->nr, host))
			return -ENOMEM;
	}
	return 0;
}

static int groups_take(struct chance *x, unsigned int vcpu, size_t stride)
{
	const struct vcpu_events *e = &x->vcpu[vcpu];
	uint64_t start = 0;
	size_t seen = 0;

	for (size_t i = 0; e->apart > 0 && i < e->nr; i++) {
		bool first = is_group(e, i, e->apart, &start);
		struct group *g;

		seen += first;
		if ((seen - 1) % stride)
			continue;
		if (first && array_room(x->group, x->nr))
			return -ENOMEM;
		if (first)
			x->group[x->nr++] = (struct group){.vcpu = vcpu};
		g = &x->group[x->nr - 1];
		if (g->nr < GROUP_EVENTS_MAX)
			g->host[g->nr++] = e->host[i];
	}
	return 0;
}

static int groups_make(struct chance *x, const struct clock_relation *rel, uint64_t *work)
{
	int err = 0;

	x->vcpu = calloc(x->nr_vcpus + 1, sizeof(*x->vcpu));
	if (!x->vcpu)
		return fail(-ENOMEM, "clock: out of memory");
	for (unsigned int v = 0; !err && v < x->nr_vcpus; v++) {
		err = vcpu_events_read(x, &rel->vcpu[v], v, work);
		if (!err)
			vcpu_weigh(x, v, work);
	}
	for (unsigned int v = 0; !err && v < x->nr_vcpus; v++)
		err = groups_take(x, v, x->total / GROUPS_MAX + 1);
	return err;
}

/* Of one group, by its worst event: ticks outside of guest mode, -1 if it leaves the recording. */
static int64_t group_distance(const struct chance *x, const struct group *g, int64_t shift)
{
	int64_t worst = 0;

	for (unsigned int i = 0; i < g->nr; i++) {
		int64_t d = clock_distance(&x->in[g->vcpu], g->host[i] + (uint64_t)shift);

		if (d < 0)
			return -1;
		worst = d > worst ? d : worst;
	}
	return worst;
}

/* The share of the groups that are in guest mode after a shift; -1 if most of them leave the recording. */
static double share_passing(const struct chance *x, int64_t shift)
{
	size_t inside = 0, passed = 0;

	for (size_t i = 0; i < x->nr; i++) {
		int64_t d = group_distance(x, &x->group[i], shift);

		inside += d >= 0;
		passed += d >= 0 && (double)d <= x->host_error;
	}
	return 2 * inside < x->nr ? -1 : (double)passed / (double)inside;
}

/* From the span of one of the groups to another span of the same vCPU. 0: there is none. */
static int64_t shift_choose(const struct chance *x, size_t nth)
{
	const struct group *g = &x->group[nth * 7919 % x->nr];
	const struct clock_input *in = &x->in[g->vcpu];
	size_t from = clock_span_before(in, g->host[0]), to = nth * 2654435761u % in->nr_spans;

	if (nth < NEAR_SHIFTS)
		to = nth & 1 ? from + nth / 2 + 1 : from - nth / 2 - 1;
	return from < in->nr_spans && to < in->nr_spans
		       ? (int64_t)(in->span[to].enter - in->span[from].enter)
		       : 0;
}

/* How far all groups can be shifted before the first of them leaves its span: no check can see so little. */
static void slack_measure(const struct chance *x, int64_t *ret_back, int64_t *ret_on)
{
	*ret_back = *ret_on = INT64_MAX;
	for (size_t i = 0; i < x->nr; i++) {
		const struct group *g = &x->group[i];
		const struct clock_input *in = &x->in[g->vcpu];

		for (unsigned int k = 0; k < g->nr; k++) {
			const struct clock_span *s = &in->span[clock_span_before(in, g->host[k])];
			int64_t error = int64_of_double(x->host_error),
				back = (int64_t)(g->host[k] - s->enter) + error,
				on = (int64_t)(s->leave - g->host[k]) + error;

			*ret_back = back < *ret_back ? back : *ret_back;
			*ret_on = on < *ret_on ? on : *ret_on;
		}
	}
}

/* The probability that all groups pass after such a shift. */
static double shifted_chance(const struct chance *x)
{
	double sum = 0;
	size_t nr = 0;
	int64_t back, on;

	slack_measure(x, &back, &on);
	for (size_t n = 0; n < SHIFTS; n++) {
		int64_t shift = shift_choose(x, n);
		bool seen = shift && (shift < -back || shift > on);
		double share = seen ? share_passing(x, shift) : -1;

		if (share < 0)
			continue;
		sum += pow(share, (double)x->total);
		nr++;
	}
	return nr ? sum / (double)nr : 0;
}

int clock_chance(const struct clock_relation *rel, const struct clock_input *in, unsigned int nr,
		 uint64_t *work, double *ret)
{
	struct chance x = {.in = in,
			   .nr_vcpus = nr < rel->nr_vcpus ? nr : rel->nr_vcpus,
			   .host_error = rel->host_error_ticks + ROUNDING_TICKS};
	int err = groups_make(&x, rel, work);

	*ret = 0;
	if (!err && x.nr && !clock_work(work, 4 * SHIFTS * x.nr))
		err = clock_work_over();
	if (!err && x.nr && share_passing(&x, 0) == 1) {
		double spans = rel->tries > 1 ? (double)x.spans : 1;

		*ret = log(exp(x.unrelated) * fmax(rel->tries, 1) + shifted_chance(&x) * spans);
	}
	for (unsigned int v = 0; x.vcpu && v < x.nr_vcpus; v++)
		free(x.vcpu[v].host);
	free(x.vcpu);
	free(x.group);
	return err;
}

/*
 * Verification: every guest event must be between an entry and the following exit of its vCPU. A violation refutes the
 * relation; their absence, with thousands of events and gaps, is hard to get by chance.
 */

int clock_work_over(void)
{
	return fail(-E2BIG, "cannot determine the guest's clock: nothing decisive was found within "
			    "the work limit; give its offset with --clock OFFSET[,SCALE], or a "
			    "shorter recording");
}

size_t clock_span_before(const struct clock_input *in, uint64_t host)
{
	size_t lo = array_prefix(in->nr_spans, i, in->span[i].enter <= host);

	return lo ? lo - 1 : in->nr_spans;
}

int64_t clock_distance(const struct clock_input *in, uint64_t host)
{
	size_t i = clock_span_before(in, host);
	uint64_t left, right;

	if (i == in->nr_spans)
		return -1;
	if (host <= in->span[i].leave)
		return 0;
	if (i + 1 == in->nr_spans)
		return -1;
	left = host - in->span[i].leave;
	right = in->span[i + 1].enter - host;
	return (int64_t)(left < right ? left : right);
}

/* A vCPU that was never seen outside of guest mode can refute nothing. */
static void vcpu_check(struct clock_vcpu *v, const struct clock_input *in, uint64_t *work)
{
	struct clock_cursor c = {0};

	v->proof = (struct clock_proof){0};
	for (size_t i = 0; i < in->nr_stamps; i++) {
		uint64_t host = clock_vcpu_host(v, &c, in->stamp[i]);
		int64_t d = in->nr_spans > 1 ? clock_distance(in, host) : -1;

		if (work && !clock_work(work, 1 + c.steps))
			return;
		c.steps = 0;
		if (d < 0) {
			v->proof.unchecked++;
			continue;
		}
		v->proof.checked++;
		if ((double)d > v->error_ticks)
			v->proof.violations++;
		if ((uint64_t)d > v->proof.worst_ticks)
			v->proof.worst_ticks = (uint64_t)d;
	}
}

struct clock_proof clock_proof_sum(const struct clock_relation *rel)
{
	struct clock_proof sum = {0};

	for (unsigned int i = 0; i < rel->nr_vcpus; i++) {
		const struct clock_proof *p = &rel->vcpu[i].proof;

		sum.checked += p->checked;
		sum.unchecked += p->unchecked;
		sum.violations += p->violations;
		sum.worst_ticks =
			p->worst_ticks > sum.worst_ticks ? p->worst_ticks : sum.worst_ticks;
	}
	return sum;
}

struct clock_proof clock_check(struct clock_relation *rel, const struct clock_input *in,
			       unsigned int nr, uint64_t *work)
{
	for (unsigned int i = 0; i < nr && i < rel->nr_vcpus; i++)
		vcpu_check(&rel->vcpu[i], &in[i], work);
	return clock_proof_sum(rel);
}

enum clock_verdict clock_verdict(const struct clock_relation *rel)
{
	struct clock_proof sum = clock_proof_sum(rel);

	if (sum.violations)
		return CLOCK_UNRELIABLE;
	return sum.checked && rel->log_chance < -log(CLOCK_CHANCE) ? CLOCK_VERIFIED
								  : CLOCK_NOT_CHECKED;
}

const char *clock_verdict_name(enum clock_verdict verdict)
{
	static const char *const names[] = {[CLOCK_NOT_CHECKED] = "not checked",
					    [CLOCK_UNRELIABLE] = "unreliable",
					    [CLOCK_VERIFIED] = "verified"};

	return names[verdict];
}
