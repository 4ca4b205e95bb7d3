// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The fitted clock against the truth, over seeded synthetic pairs (clockgen.h):
 *
 *   clockgen [--pairs N] [--seed FIRST] [-v]
 *
 * Four guests in five have events within 0.6 us of their entries and exits, as on hardware: there the fit must be right
 * to 1 us. The others are blunt, as an emulated CPU is: their offset cannot be told better than their bound says.
 * Exit 1 if any fit left the truth outside of its printed bound, if one of the first kind is off by more than 1 us, or
 * if more than 2 in 100 were refused.
 *
 * `make check-clock [PAIRS=1000]` runs it; tests/unit/test_clock_fit.c a few pairs in every `make check`.
 */
#include <inttypes.h>
#include <stdio.h>
#include <time.h>

#include "clockgen.h"
#include "base/error.h"

enum { SHARP_NS = 1000 };

/* Of guests of one kind. */
struct kind {
	unsigned int nr, far;		    /* far: off by more than SHARP_NS */
	double worst_ns, bound_ns, sum_ns; /* bounds: the largest, all together */
};

struct tally {
	unsigned int pairs, failed, unproven, outside, uncertain;
	struct kind sharp, blunt;
	double slowest_s;
};

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void pair_print(const struct gen_pair *p, const struct gen_score *s, double took)
{
	printf("seed %" PRIu64 ": %u vcpus %.0f ms, %" PRIu64
	       " events, scale %u bits, drift %.1f ppm, jump %d/%d, holes %u, "
	       "lost %u, slack %.0f/%.0f ns%s, guest %.2f..%.2f: ",
	       p->seed, p->nr_vcpus, p->length / p->ghz / 1e6, s->events, p->scale.scale_bits,
	       p->drift * 1e6, isfinite(p->vcpu[0].jump_at),
	       p->nr_vcpus > 1 && isfinite(p->vcpu[1].jump_at), p->nr_holes, p->nr_lost,
	       p->slack_in / p->ghz, p->slack_out / p->ghz, p->busy ? ", busy" : "", p->guest_from,
	       p->guest_to);
	if (s->err)
		printf("FAILED %s", error_text());
	else
		printf("+-%.0f ns, truly %.0f ns, %" PRIu64 " outside, %" PRIu64
		       " uncertain, %" PRIu64 " unchecked, %" PRIu64 " violations%s",
		       s->bound_ns, s->worst_ns, s->outside, s->uncertain, s->unchecked,
		       s->violations, s->proven ? "" : ", unproven");
	printf(" (%.2f s)\n", took);
}

static void kind_add(struct kind *k, const struct gen_score *s)
{
	k->nr++;
	k->far += s->worst_ns > SHARP_NS;
	k->worst_ns = fmax(k->worst_ns, s->worst_ns);
	k->bound_ns = fmax(k->bound_ns, s->bound_ns);
	k->sum_ns += s->bound_ns;
}

static void kind_print(const struct kind *k, const char *what)
{
	printf("  %4u %s guests: off by %.0f ns at most, %u by more than %d ns; bound %.0f ns on "
	       "average, "
	       "%.0f ns at most\n",
	       k->nr, what, k->worst_ns, k->far, SHARP_NS, k->nr ? k->sum_ns / k->nr : 0,
	       k->bound_ns);
}

static void pair_run(uint64_t seed, bool verbose, struct tally *t)
{
	static struct gen_pair p;
	struct gen_score s;
	double start, took;

	gen_make(&p, seed);
	start = seconds();
	s = gen_judge(&p);
	took = seconds() - start;
	t->pairs++;
	t->failed += s.err != 0;
	t->unproven += !s.err && !s.proven;
	t->uncertain += s.uncertain > 0;
	t->slowest_s = fmax(t->slowest_s, took);
	t->outside += !s.err && s.outside > 0;
	if (!s.err)
		kind_add(p.blunt ? &t->blunt : &t->sharp, &s);
	if (verbose || s.err || !s.proven || s.outside)
		pair_print(&p, &s, took);
	gen_free(&p);
}

int main(int argc, char **argv)
{
	unsigned long pairs = 1000, first = 1;
	struct tally t = {0};
	bool verbose = false;

	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "-v"))
			verbose = true;
		else if (!strcmp(argv[i], "--pairs") && i + 1 < argc)
			pairs = strtoul(argv[++i], NULL, 0);
		else if (!strcmp(argv[i], "--seed") && i + 1 < argc)
			first = strtoul(argv[++i], NULL, 0);
		else
			return fprintf(stderr, "clockgen [--pairs N] [--seed FIRST] [-v]\n"), 2;
	}
	for (unsigned long i = 0; i < pairs; i++)
		pair_run(first + i, verbose, &t);
	printf("%u pairs: %u not fitted, %u unproven, %u OUTSIDE THEIR BOUND\n", t.pairs, t.failed,
	       t.unproven, t.outside);
	kind_print(&t.sharp, "sharp");
	kind_print(&t.blunt, "blunt");
	printf("  %u pairs with events around a jump that may belong to either side\n",
	       t.uncertain);
	printf("  slowest fit %.2f s\n", t.slowest_s);
	return t.outside || t.sharp.far || t.failed * 50 > t.pairs ? 1 : 0;
}
