// SPDX-License-Identifier: GPL-2.0-or-later
/* The bootstrap over runs and over blocks of time of runs.h, and the test on its variance. */
#include "analyzers/compare/runs.h"

#include <errno.h>
#include <math.h>

#include "base/error.h"
#include "base/rank_test.h"
#include "base/saturate.h"

enum { REPLICATES = 400 };

/* Sums of all blocks before each block, so that a stretch of blocks is two subtractions. */
struct sums {
	unsigned int nr, stretch; /* blocks; how many are drawn at once */
	struct series_block before[SERIES_BLOCKS + 1];
};

static void sums_init(struct sums *s, const struct series *of, unsigned int blocks)
{
	s->nr = blocks;
	s->stretch = uint32_of_double(ceil(sqrt(blocks)));
	s->before[0] = (struct series_block){0, 0};
	for (unsigned int i = 0; i < blocks; i++) {
		struct series_block b = of ? of->block[i] : (struct series_block){0, 0};

		s->before[i + 1].nr = s->before[i].nr + b.nr;
		s->before[i + 1].sum_ns = s->before[i].sum_ns + b.sum_ns;
	}
}

static void add_between(const struct sums *s, unsigned int from, unsigned int to,
			struct series_block *total)
{
	total->nr += s->before[to].nr - s->before[from].nr;
	total->sum_ns += s->before[to].sum_ns - s->before[from].sum_ns;
}

static double value_of(const struct series_block *total, unsigned int blocks, double block_s,
		       enum figure_of of)
{
	if (of == FIGURE_LATENCY)
		return total->nr ? (double)total->sum_ns / (double)total->nr : NAN;
	return blocks ? (double)total->nr / (blocks * block_s) : NAN;
}

/* splitmix64, after Steele, Lea and Flood: one seed, so that a comparison can be repeated. */
static uint64_t draw(uint64_t *state, uint64_t below)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return (z ^ z >> 31) % below;
}

/* As many blocks as the run has, in stretches; after its last block follows its first. */
static void run_draw(const struct sums *s, uint64_t *state, struct series_block *total)
{
	unsigned int len;

	for (unsigned int nr = 0; nr < s->nr; nr += len) {
		unsigned int from = (unsigned int)draw(state, s->nr);

		len = s->nr - nr < s->stretch ? s->nr - nr : s->stretch;
		if (from + len <= s->nr) {
			add_between(s, from, from + len, total);
		} else {
			add_between(s, from, s->nr, total);
			add_between(s, 0, from + len - s->nr, total);
		}
	}
}

static double replicate(const struct sums *runs, const struct runs_side *side, enum figure_of of,
			uint64_t *state)
{
	struct series_block total = {0, 0};
	unsigned int blocks = 0;

	for (unsigned int i = 0; i < side->nr; i++) {
		const struct sums *run = &runs[draw(state, side->nr)];

		run_draw(run, state, &total);
		blocks += run->nr;
	}
	return value_of(&total, blocks, side->block_s, of);
}

/* NAN: half of the replicates or more have no value. */
static double variance_of(const struct sums *runs, const struct runs_side *side, enum figure_of of)
{
	double sum = 0, squares = 0, first = NAN;
	uint64_t state = 0;
	unsigned int nr = 0;

	for (unsigned int i = 0; i < REPLICATES; i++) {
		double v = replicate(runs, side, of, &state);

		if (!isfinite(v))
			continue;
		first = nr ? first : v;
		sum += v - first;
		squares += (v - first) * (v - first);
		nr++;
	}
	if (nr < REPLICATES / 2)
		return NAN;
	double variance = fmax(0, (squares - sum * sum / nr) / (nr - 1));

	return side->nr > 1 ? variance * side->nr / (side->nr - 1) : variance;
}

/* Of all runs together, without what does not fill a block. */
static double runs_value(const struct runs_side *s, enum figure_of of)
{
	struct series_block total = {0, 0};
	unsigned int blocks = 0;

	for (unsigned int i = 0; i < s->nr; i++) {
		for (unsigned int k = 0; s->series[i] && k < s->blocks[i]; k++) {
			total.nr += s->series[i]->block[k].nr;
			total.sum_ns += s->series[i]->block[k].sum_ns;
		}
		blocks += s->blocks[i];
	}
	return value_of(&total, blocks, s->block_s, of);
}

struct estimate {
	double value, variance;
	unsigned int nr; /* of runs */
};

static int estimate_make(const struct runs_side *side, enum figure_of of, struct estimate *ret)
{
	_cleanup_free_ struct sums *runs = calloc(side->nr, sizeof(*runs));

	if (!runs)
		return fail(-ENOMEM, "out of memory");
	for (unsigned int i = 0; i < side->nr; i++)
		sums_init(&runs[i], side->series[i], side->blocks[i]);
	*ret = (struct estimate){runs_value(side, of), variance_of(runs, side, of), side->nr};
	return 0;
}

/* Of one run, relative to the square of its value: what both sides' runs show. NAN: nothing, the values are 0. */
static double pooled_of(const struct estimate *const *side)
{
	double sum = 0;
	unsigned int freedom = 0;

	for (unsigned int i = 0; i < 2; i++) {
		const struct estimate *e = side[i];

		if (e->nr < 2 || !(e->value > 0))
			continue;
		sum += (e->nr - 1) * e->variance * e->nr / (e->value * e->value);
		freedom += e->nr - 1;
	}
	return freedom ? sum / freedom : NAN;
}

static void variances_pool(struct estimate *a, struct estimate *b)
{
	struct estimate *side[] = {a, b};
	double pooled = pooled_of((const struct estimate *const *)side);

	for (unsigned int i = 0; i < 2 && isfinite(pooled); i++) {
		struct estimate *e = side[i];
		double variance = pooled * e->value * e->value / e->nr;

		e->variance = e->nr > 1 ? variance : fmax(variance, e->variance);
	}
}

static unsigned int freedom_of(const struct estimate *a, const struct estimate *b)
{
	return a->nr + b->nr - 2;
}

/* What Student's distribution exceeds, in both directions, with this probability. */
static double student_quantile(double p, unsigned int freedom)
{
	double low = 0, high = 1000;

	for (int i = 0; i < 60; i++) {
		double middle = (low + high) / 2;

		*(student_two_sided(middle, freedom) > p ? &low : &high) = middle;
	}
	return high;
}

static double p_of(const struct estimate *a, const struct estimate *b, double margin)
{
	bool up = b->value > a->value;
	double factor = up ? 1 + margin : 1 - margin, difference = b->value - factor * a->value,
	       variance = b->variance + factor * factor * a->variance;

	if (up ? difference <= 0 : difference >= 0)
		return 1;
	return variance > 0 ? student_two_sided(difference / sqrt(variance), freedom_of(a, b)) : 0;
}

static void interval_of(const struct estimate *a, const struct estimate *b, struct runs_test *ret)
{
	double ratio = b->value / a->value,
	       error = sqrt(b->variance + ratio * ratio * a->variance) / a->value *
		       student_quantile(0.05, freedom_of(a, b));

	ret->low = fmax(ratio - 1 - error, -1);
	ret->high = ratio - 1 + error;
}

int runs_test(const struct runs_side *a, const struct runs_side *b, enum figure_of of,
	      double margin, struct runs_test *ret)
{
	struct estimate x, y;
	int err = estimate_make(a, of, &x);

	*ret = (struct runs_test){NAN, NAN, NAN};
	if (!err)
		err = estimate_make(b, of, &y);
	if (err || !isfinite(x.variance) || !isfinite(y.variance) || !isfinite(x.value + y.value))
		return err;
	variances_pool(&x, &y);
	ret->p_value = p_of(&x, &y, margin);
	if (x.value > 0)
		interval_of(&x, &y, ret);
	return 0;
}
