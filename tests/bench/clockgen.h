/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Synthetic pairs of a host's and a guest's recording whose true relation is known: from a seed, always the same.
 * Every pair draws its own machine: vCPUs, TSC frequency, offset, scaling, drift, a jump of the offset half way
 * (of all vCPUs as after a restore, or of one as after a guest's write), holes in the host's recording, stretches
 * that the guest's ring lost, a guest that recorded less or more than the host, and how close to entries and exits
 * events come.
 */
#ifndef HOSTRACE_TESTS_CLOCKGEN_H
#define HOSTRACE_TESTS_CLOCKGEN_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "clock/clock.h"

enum { GEN_VCPUS_MAX = 4, GEN_HOLES_MAX = 4 };

struct gen_vcpu {
	struct clock_spans spans;
	uint64_t *stamp; /* what the guest recorded */
	double *truth;	 /* host TSC at which it really was, relative to pair->host0 */
	size_t nr;
	double jump_at;	 /* relative host TSC at which the offset jumps; INFINITY: never */
	int64_t jump;
};

struct gen_pair {
	uint64_t seed, state;
	unsigned int nr_vcpus;
	double ghz, length;	/* ticks per ns; ticks of the host's recording */
	uint64_t host0;		/* host TSC at the recording's start */
	int64_t offset;
	struct clock_segment scale; /* the nominal scale that everybody knows */
	double drift;		/* what nobody knows: the guest's clock runs faster by this factor - 1 */
	double slack_in, slack_out; /* ticks from an entry to the first event possible, from the last to the exit */
	double guest_from, guest_to; /* what the guest recorded, as a share of length */
	double hole[GEN_HOLES_MAX][2], lost[GEN_HOLES_MAX][2];
	unsigned int nr_holes, nr_lost;
	bool busy;  /* hardly any idle gap */
	bool blunt; /* no event is nearer than a microsecond to an entry: nobody can tell the offset better than that */
	struct gen_vcpu vcpu[GEN_VCPUS_MAX];
};

static inline uint64_t gen_u64(struct gen_pair *p) /* splitmix64 */
{
	uint64_t z = p->state += 0x9e3779b97f4a7c15ull;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return z ^ z >> 31;
}

static inline double gen_unit(struct gen_pair *p)
{
	return (double)(gen_u64(p) >> 11) / 9007199254740992.0;
}

static inline double gen_between(struct gen_pair *p, double lo, double hi)
{
	return lo + (hi - lo) * gen_unit(p);
}

static inline double gen_exp(struct gen_pair *p, double mean)
{
	return -mean * log(1 - gen_unit(p));
}

static inline bool gen_chance(struct gen_pair *p, double chance)
{
	return gen_unit(p) < chance;
}

/* The guest's TSC at a relative host TSC. */
static inline uint64_t gen_guest_tsc(const struct gen_pair *p, const struct gen_vcpu *v, double at)
{
	struct clock_segment s = p->scale;

	s.offset = p->offset + (at >= v->jump_at ? v->jump : 0);
	return clock_segment_guest(&s, p->host0 + (uint64_t)llrint(at * (1 + p->drift)));
}

static inline bool gen_within(double at, double (*range)[2], unsigned int nr)
{
	for (unsigned int i = 0; i < nr; i++)
		if (at >= range[i][0] && at < range[i][1])
			return true;
	return false;
}

static inline void gen_machine(struct gen_pair *p)
{
	double us, ratio;

	p->nr_vcpus = 1 + (unsigned int)(gen_u64(p) % GEN_VCPUS_MAX);
	p->ghz = gen_between(p, 1.8, 4.2);
	us = 1000 * p->ghz;
	p->length = gen_between(p, 0.3e6, 3e6) * us;
	p->host0 = gen_u64(p) >> (12 + gen_u64(p) % 20);
	p->offset = gen_chance(p, 0.7) ? -(int64_t)(p->host0 - gen_u64(p) % (p->host0 / 2))
				       : (int64_t)(gen_u64(p) >> 8);
	if (gen_chance(p, 0.35)) {
		p->scale.scale_bits = gen_chance(p, 0.5) ? 48 : 32;
		ratio = gen_between(p, 0.5, 2);
		p->scale.scale = (uint64_t)ldexp(ratio, (int)p->scale.scale_bits);
	}
	p->drift = gen_chance(p, 0.3) ? gen_between(p, -200e-6, 200e-6) : 0;
	p->blunt = !gen_chance(p, 0.8);
	p->slack_in = (p->blunt ? gen_between(p, 1, 10) : gen_between(p, 0.05, 0.6)) * us;
	p->slack_out = p->slack_in * gen_between(p, 0.1, 1.5);
	p->guest_from = gen_chance(p, 0.3) ? gen_between(p, 0, 0.3) : gen_chance(p, 0.2) ? -0.2 : 0;
	p->guest_to = gen_chance(p, 0.3) ? gen_between(p, 0.7, 1) : gen_chance(p, 0.2) ? 1.2 : 1;
	p->busy = gen_chance(p, 0.05);
	p->nr_holes = gen_chance(p, 0.3) ? 1 + (unsigned int)(gen_u64(p) % GEN_HOLES_MAX) : 0;
	p->nr_lost = gen_chance(p, 0.3) ? 1 + (unsigned int)(gen_u64(p) % GEN_HOLES_MAX) : 0;
	for (unsigned int i = 0; i < GEN_HOLES_MAX; i++) {
		p->hole[i][0] = gen_unit(p) * p->length;
		p->hole[i][1] = p->hole[i][0] + gen_exp(p, 0.01 * p->length);
		p->lost[i][0] = gen_unit(p) * p->length;
		p->lost[i][1] = p->lost[i][0] + gen_exp(p, 0.05 * p->length);
	}
}

/*
 * A jump of at least a millisecond: what restores and guests' writes do. Only where the guest recorded within the
 * host's recording: a jump and events that the host never saw cannot always be told apart, and are refused then.
 */
static inline void gen_jumps(struct gen_pair *p)
{
	double ms = 1e6 * p->ghz, at = gen_between(p, 0.35, 0.65) * p->length;
	int64_t jump = (int64_t)(gen_between(p, 1, 1000) * ms) * (gen_chance(p, 0.5) ? 1 : -1);
	unsigned int kind = p->guest_from < 0 || p->guest_to > 1 ? 9
								 : (unsigned int)(gen_u64(p) % 10),
		     one = (unsigned int)(gen_u64(p) % p->nr_vcpus);

	for (unsigned int v = 0; v < GEN_VCPUS_MAX; v++) {
		bool jumps = kind < 2 || (kind < 4 && v == one);

		p->vcpu[v].jump_at = jumps ? at : INFINITY;
		p->vcpu[v].jump = jumps ? jump : 0;
	}
}

static inline void gen_event(struct gen_pair *p, struct gen_vcpu *v, double at)
{
	if (at < p->guest_from * p->length || at >= p->guest_to * p->length ||
	    gen_within(at, p->lost, p->nr_lost))
		return;
	if (!(v->nr & (v->nr - 1))) {
		size_t room = v->nr ? 2 * v->nr : 1;

		v->stamp = realloc(v->stamp, room * sizeof(*v->stamp));
		v->truth = realloc(v->truth, room * sizeof(*v->truth));
		if (!v->stamp || !v->truth)
			abort();
	}
	v->stamp[v->nr] = gen_guest_tsc(p, v, at);
	v->truth[v->nr++] = at;
}

/* Events of one span, in order: some right after the entry (interrupts), some right before the exit, some anywhere. */
static inline void gen_span_events(struct gen_pair *p, struct gen_vcpu *v, double enter,
				   double leave)
{
	double us = 1000 * p->ghz, lo = enter + p->slack_in, hi = leave - p->slack_out, at;

	if (hi <= lo)
		return;
	if (gen_chance(p, 0.4) && (at = lo + gen_exp(p, us)) < hi)
		gen_event(p, v, lo = at);
	while (gen_chance(p, 0.4) && (at = lo + gen_exp(p, (hi - lo) / 3 + 1)) < hi)
		gen_event(p, v, lo = at);
	if (gen_chance(p, 0.4) && (at = hi - gen_exp(p, us)) > lo)
		gen_event(p, v, at);
}

/* The host records an edge unless it is outside of the recording or in a hole. */
static inline void gen_edge(struct gen_pair *p, struct gen_vcpu *v, bool enter, double at)
{
	if (at < 0 || at >= p->length || gen_within(at, p->hole, p->nr_holes))
		return;
	if (enter)
		clock_spans_enter(&v->spans, p->host0 + (uint64_t)llrint(at));
	else
		clock_spans_leave(&v->spans, p->host0 + (uint64_t)llrint(at));
}

static inline void gen_vcpu_run(struct gen_pair *p, struct gen_vcpu *v)
{
	double us = 1000 * p->ghz, run = gen_between(p, 15, 150) * us,
	       exit = gen_between(p, 0.7, 5) * us;
	double idle = gen_between(p, 200, 3000) * us, at = -0.3 * p->length;

	while (at < 1.3 * p->length) {
		double leave = at + 0.3 * us + gen_exp(p, run), gap = 0.4 * us + gen_exp(p, exit);

		if (gen_chance(p, p->busy ? 0.0005 : 0.15))
			gap += gen_exp(p, idle);
		if (at < v->jump_at && leave >= v->jump_at) /* written while the vCPU is out of guest mode */
			leave = v->jump_at;
		if (leave > at + 1) {
			gen_span_events(p, v, at, leave);
			gen_edge(p, v, true, at);
			gen_edge(p, v, false, leave);
		}
		at = leave + gap;
	}
	for (unsigned int i = 0; i < p->nr_holes; i++)
		clock_spans_allow(&v->spans,
				  &(struct clock_span){
					  p->host0 + (uint64_t)llrint(p->hole[i][0]),
					  p->host0 + (uint64_t)llrint(p->hole[i][1]) + 1},
				  1);
}

static inline void gen_make(struct gen_pair *p, uint64_t seed)
{
	memset(p, 0, sizeof(*p));
	p->seed = seed;
	p->state = seed * 0x2545f4914f6cdd1dull + 1;
	gen_machine(p);
	gen_jumps(p);
	for (unsigned int v = 0; v < p->nr_vcpus; v++)
		gen_vcpu_run(p, &p->vcpu[v]);
}

static inline void gen_free(struct gen_pair *p)
{
	for (unsigned int v = 0; v < p->nr_vcpus; v++) {
		clock_spans_deinit(&p->vcpu[v].spans);
		free(p->vcpu[v].stamp);
		free(p->vcpu[v].truth);
	}
}

/* What the fit may know: no offset, no drift, no jump. */
static inline struct clock_options gen_input(const struct gen_pair *p, struct clock_input *in)
{
	for (unsigned int v = 0; v < p->nr_vcpus; v++)
		in[v] = (struct clock_input){.span = p->vcpu[v].spans.span,
					     .nr_spans = p->vcpu[v].spans.nr,
					     .stamp = p->vcpu[v].stamp,
					     .nr_stamps = p->vcpu[v].nr};
	return (struct clock_options){.method = "fitted",
				      .nominal_scale = p->scale.scale,
				      .nominal_bits = p->scale.scale_bits,
				      .drift_max_ppb = p->drift != 0 ? 250e3 : 0,
				      .host_error_ticks = 1};
}

/* How the answer compares with the truth. */
struct gen_score {
	int err;
	double bound_ns, worst_ns; /* printed; the largest true error of an event that is not uncertain */
	uint64_t events, outside, uncertain; /* events beyond the bound; events that may be */
	uint64_t violations, unchecked;
	bool proven;
};

static inline struct gen_score gen_judge(const struct gen_pair *p)
{
	struct clock_input in[GEN_VCPUS_MAX] = {0};
	struct clock_options opt = gen_input(p, in);
	struct clock_relation rel;
	struct gen_score s = {.err = clock_align(in, p->nr_vcpus, &opt, &rel)};

	if (s.err)
		return s;
	s.proven = !rel.note[0];
	for (unsigned int i = 0; i < p->nr_vcpus; i++) {
		const struct gen_vcpu *v = &p->vcpu[i];
		struct clock_cursor c = {0};
		uint64_t outside = 0;

		if (!rel.vcpu[i].nr_segments)
			continue;
		s.violations += rel.vcpu[i].proof.violations;
		s.bound_ns = fmax(s.bound_ns, rel.vcpu[i].error_ticks / p->ghz);
		for (size_t k = 0; k < v->nr; k++) {
			uint64_t host = clock_vcpu_host(&rel.vcpu[i], &c, v->stamp[k]);
			double error = fabs((double)(int64_t)(host - p->host0) - v->truth[k]);

			if (host < in[i].span[0].enter ||
			    host > in[i].span[in[i].nr_spans - 1].leave) {
				s.unchecked++; /* nothing is claimed outside of the host's recording */
				continue;
			}
			s.events++;
			if (error > rel.vcpu[i].error_ticks + 1)
				outside++;
			else
				s.worst_ns = fmax(s.worst_ns, error / p->ghz);
		}
		s.uncertain += rel.vcpu[i].uncertain;
		s.outside += outside > rel.vcpu[i].uncertain ? outside - rel.vcpu[i].uncertain : 0;
	}
	clock_relation_deinit(&rel);
	return s;
}

#endif
