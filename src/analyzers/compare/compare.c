// SPDX-License-Identifier: GPL-2.0-or-later
/* Which of two recordings' figures differ: the tests of compare.h on the series of both, sorted by what they cost. */
#include "analyzers/compare/compare.h"

#include <errno.h>

#include "base/array.h"
#include "base/error.h"
#include "base/order.h"
#include "base/rank_test.h"

enum { SHIFT_MAX = 62 };

unsigned int comparison_shift(const struct compared_runs *side, unsigned int nr_sides)
{
	uint64_t shortest = UINT64_MAX, longest = 0;
	unsigned int shift = SERIES_FIRST_SHIFT;

	for (unsigned int i = 0; i < nr_sides; i++)
		for (unsigned int k = 0; k < side[i].nr; k++) {
			uint64_t ns = side[i].span_ns[k];

			shortest = ns < shortest ? ns : shortest;
			longest = ns > longest ? ns : longest;
		}
	while (shift < SHIFT_MAX &&
	       (shortest >> (shift + 1) >= COMPARE_BLOCKS || longest >> shift >= SERIES_BLOCKS))
		shift++;
	return shift;
}

void comparison_begin(struct comparison *c, const struct compared_runs *a,
		      const struct compared_runs *b, unsigned int shift)
{
	const struct compared_runs *side[] = {a, b};

	c->shift = shift;
	c->block_ns = (uint64_t)1 << shift;
	for (unsigned int i = 0; i < 2; i++) {
		c->runs[i] = *side[i];
		for (unsigned int k = 0; k < side[i]->nr; k++) {
			c->span_ns[i] += side[i]->span_ns[k];
			/* Whole ones: the rest is not compared. */
			c->blocks[i][k] = (unsigned int)(side[i]->span_ns[k] >> shift);
		}
	}
}

bool comparison_of_runs(const struct comparison *c)
{
	return c->runs[0].nr > 1 || c->runs[1].nr > 1;
}

/* The values of a series' blocks; NULL: there is nothing of this key. Returns their number. */
static unsigned int values_of(const struct series *s, enum figure_of of, unsigned int blocks,
			      double block_s, double *ret)
{
	unsigned int nr = 0;

	for (unsigned int i = 0; i < blocks; i++) {
		const struct series_block b = s ? s->block[i] : (struct series_block){0, 0};

		if (of == FIGURE_RATE)
			ret[nr++] = (double)b.nr / block_s;
		else if (b.nr)
			ret[nr++] = (double)b.sum_ns / (double)b.nr;
	}
	return nr;
}

static double mean_of(const double *value, unsigned int nr)
{
	double sum = 0;

	for (unsigned int i = 0; i < nr; i++)
		sum += value[i];
	return nr ? sum / nr : 0;
}

/* Changes up to the margin, in the direction that the blocks have, are part of the hypothesis. */
static int test_margin(const struct comparison *c, double *a, unsigned int nr_a, const double *b,
		       unsigned int nr_b, bool up, double *ret_p)
{
	struct rank_test t;

	for (unsigned int i = 0; i < nr_a; i++)
		a[i] *= up ? 1 + c->margin : 1 - c->margin;
	int err = rank_test(a, nr_a, b, nr_b, &t);

	if (!err)
		*ret_p = (up ? t.u_shift > 0 : t.u_shift < 0) ? t.p_value : 1;
	return err;
}

/*
 * Both tests of durations, in one p-value: twice the smaller one (Bonferroni). Not for rates, which
 * may be few and equal numbers, without the variance that the t-test needs.
 */
static double with_batches(const double *a, unsigned int nr_a, const double *b, unsigned int nr_b,
			   bool up, double p_ranks)
{
	double difference, p = batch_test(a, nr_a, b, nr_b, &difference);

	if (up ? difference <= 0 : difference >= 0)
		p = 1;
	return fmin(1, 2 * fmin(p, p_ranks));
}

static int blocks_test(const struct comparison *c, struct figure *f, const struct series *a,
		       const struct series *b)
{
	double block_s = (double)c->block_ns / 1e9, value[2][SERIES_BLOCKS];
	unsigned int nr_a = values_of(a, f->of, c->blocks[0][0], block_s, value[0]),
		     nr_b = values_of(b, f->of, c->blocks[1][0], block_s, value[1]);
	double mean = mean_of(value[0], nr_a);
	struct rank_test t;

	f->tested = nr_a >= RANK_TEST_MIN && nr_b >= RANK_TEST_MIN && !c->untested;
	if (!f->tested)
		return 0;
	int err = rank_test(value[0], nr_a, value[1], nr_b, &t);

	if (!err && mean > 0) {
		f->low = fmax(t.low / mean, -1);
		f->high = t.high / mean;
	}
	bool up = t.u_shift > 0;

	if (!err)
		err = test_margin(c, value[0], nr_a, value[1], nr_b, up, &f->p_value);
	if (!err && f->of == FIGURE_LATENCY)
		f->p_value = with_batches(value[0], nr_a, value[1], nr_b, up, f->p_value);
	return err;
}

/* Of all runs: a table has only a mean. */
static double mean_ns_of(struct series *const *s, unsigned int nr)
{
	double sum = 0;
	uint64_t count = 0;

	for (unsigned int i = 0; i < nr; i++) {
		if (s[i] && s[i]->mean_ns > 0)
			return s[i]->mean_ns;
		sum += s[i] ? (double)s[i]->ns.sum : 0;
		count += s[i] ? s[i]->ns.count : 0;
	}
	return count ? sum / (double)count : 0;
}

static int quantiles_of(struct series *const *s, unsigned int nr, uint64_t *p50, uint64_t *p99)
{
	struct quantiles all = {0};
	int err = 0;

	*p50 = *p99 = 0;
	for (unsigned int i = 0; i < nr && !err; i++) {
		if (s[i] && s[i]->mean_ns > 0)
			*p50 = *p99 = SERIES_UNKNOWN_NS;
		else if (s[i])
			err = quantiles_merge(&all, &s[i]->ns);
	}
	if (all.count) {
		*p50 = quantiles_at(&all, .5);
		*p99 = quantiles_at(&all, .99);
	}
	quantiles_free(&all);
	return err ? fail(err, "out of memory") : 0;
}

static double rate_of(const struct comparison *c, unsigned int side, uint64_t nr,
		      const struct series *first)
{
	if (c->span_ns[side])
		return (double)nr * 1e9 / (double)c->span_ns[side];
	return first ? first->per_s : 0;
}

static int figure_values(const struct comparison *c, struct figure *f, struct series *const *s)
{
	int err = 0;

	for (unsigned int i = 0; i < 2; s += c->runs[i++].nr) {
		for (unsigned int k = 0; k < c->runs[i].nr; k++)
			f->nr[i] += s[k] ? s[k]->nr : 0;
		if (f->of == FIGURE_RATE)
			f->value[i] = rate_of(c, i, f->nr[i], s[0]);
		else if (f->of == FIGURE_SHARE)
			f->value[i] = c->all[i] ? 100 * (double)f->nr[i] / (double)c->all[i] : 0;
		else
			f->value[i] = mean_ns_of(s, c->runs[i].nr);
		if (f->of == FIGURE_LATENCY && !err)
			err = quantiles_of(s, c->runs[i].nr, &f->p50_ns[i], &f->p99_ns[i]);
	}
	f->change = f->value[0] > 0   ? f->value[1] / f->value[0] - 1
		    : f->value[1] > 0 ? INFINITY
				      : 0;
	return err;
}

static double run_value(enum figure_of of, uint64_t span_ns, struct series *const *s)
{
	if (of == FIGURE_LATENCY)
		return *s && (*s)->ns.count ? mean_ns_of(s, 1) : NAN;
	return span_ns && *s ? (double)(*s)->nr * 1e9 / (double)span_ns : 0;
}

/* What each run has, and the test of them. */
static int runs_compare(const struct comparison *c, struct figure *f, struct series *const *s)
{
	struct runs_side side[2];
	struct runs_test t;

	for (unsigned int i = 0; i < 2; s += c->runs[i++].nr) {
		side[i] = (struct runs_side){c->runs[i].nr, s, c->blocks[i],
					     (double)c->block_ns / 1e9};
		f->run[i] = calloc(c->runs[i].nr, sizeof(*f->run[i]));
		if (!f->run[i])
			return fail(-ENOMEM, "out of memory");
		for (unsigned int k = 0; k < c->runs[i].nr; k++) {
			f->run[i][k] = run_value(f->of, c->runs[i].span_ns[k], &s[k]);
		}
	}
	int err = runs_test(&side[0], &side[1], f->of, c->margin, &t);

	f->tested = !err && isfinite(t.p_value);
	f->low = t.low;
	f->high = t.high;
	f->p_value = f->tested ? t.p_value : 1;
	return err;
}

/* s: the series of all runs of both sides. */
static int figure_add(struct comparison *c, const char *by, const char *key, enum figure_of of,
		      struct series *const *s)
{
	int err = array_room(c->figure, c->nr);

	if (err)
		return err;
	struct figure *f = &c->figure[c->nr++];

	*f = (struct figure){.by = by,
			     .key = key,
			     .of = of,
			     .low = NAN,
			     .high = NAN,
			     .p_value = 1,
			     .p_adjusted = 1};
	err = figure_values(c, f, s);
	if (err)
		return err;
	return comparison_of_runs(c) ? runs_compare(c, f, s) : blocks_test(c, f, s[0], s[1]);
}

/* Is the rate of a series known, also of one that a recording does not have? */
static bool has_rate(const struct comparison *c, unsigned int i, const struct series *s)
{
	return c->span_ns[i] || (s && s->has_per_s);
}

static int rate_add(struct comparison *c, const char *by, const char *key, struct series *const *s)
{
	bool rate = has_rate(c, 0, s[0]) && has_rate(c, 1, s[c->runs[0].nr]);

	c->shares |= !rate;
	for (unsigned int i = 0; i < 2; i++)
		c->stated_rates[i] |= rate && !c->span_ns[i];
	return figure_add(c, by, key, rate ? FIGURE_RATE : FIGURE_SHARE, s);
}

/* A latency that only one side has cannot have changed: its rate has. */
static bool has_latency(const struct comparison *c, struct series *const *s)
{
	for (unsigned int i = 0; i < 2; s += c->runs[i++].nr) {
		if (!array_any(c->runs[i].nr, k, s[k] != NULL) ||
		    (c->untested && !(mean_ns_of(s, c->runs[i].nr) > 0)))
			return false;
	}
	return true;
}

static uint64_t series_sum_of(const struct series_set *s)
{
	uint64_t sum = 0;

	for (unsigned int i = 0; i < s->nr; i++)
		sum += s->list[i]->nr;
	return s->total > sum ? s->total : sum;
}

/* A key, and its series in each run of both sides: some are NULL. */
struct keyed {
	const char *key;
	struct series *run[2 * COMPARE_RUNS_MAX];
};

static int keyed_add(struct hash_table *t, struct series_set *set, unsigned int run)
{
	for (unsigned int i = 0; i < set->nr; i++) {
		struct keyed *k = hash_add_text(t, set->list[i]->key, NULL);

		if (!k)
			return fail(-ENOMEM, "out of memory");
		k->run[run] = set->list[i];
	}
	return 0;
}

static int keys_compare(struct comparison *c, const char *by, struct hash_table *keys, bool rate,
			bool latency)
{
	struct keyed *k;
	int err = 0;

	for (uint32_t at = 0; !err && (k = hash_next(keys, &at));) {
		err = rate ? rate_add(c, by, k->key, k->run) : 0;
		if (!err && latency && has_latency(c, k->run))
			err = figure_add(c, by, k->key, FIGURE_LATENCY, k->run);
	}
	return err;
}

int comparison_add(struct comparison *c, const char *by, struct series_set *const *a,
		   struct series_set *const *b, bool rate, bool latency)
{
	struct hash_table keys =
		HASH_TABLE_OF_TEXTS(struct keyed, 2 * COMPARE_RUNS_MAX * SERIES_MAX);
	struct series_set *const *side[] = {a, b};
	unsigned int nr = 0;
	int err = 0;

	for (unsigned int i = 0; i < 2; i++) {
		c->all[i] = 0;
		for (unsigned int k = 0; k < c->runs[i].nr && !err; k++) {
			series_widen(side[i][k], c->shift);
			c->all[i] += series_sum_of(side[i][k]);
			err = keyed_add(&keys, side[i][k], nr++);
		}
	}
	if (!err)
		err = keys_compare(c, by, &keys, rate, latency);
	hash_deinit(&keys);
	return err;
}

static int by_change(const void *a, const void *b)
{
	const struct figure *x = a, *y = b;
	double dx = fabs(x->change), dy = fabs(y->change);

	if (x->changed != y->changed)
		return x->changed ? -1 : 1;
	if (x->tested != y->tested)
		return x->tested ? -1 : 1;
	int order = x->changed ? 0 : order_double(x->p_value, y->p_value);

	order = order ? order : order_double(dy, dx);
	order = order ? order : strcmp(x->by, y->by);
	order = order ? order : strcmp(x->key, y->key);
	return order ? order : order_u64(x->of, y->of);
}

/* Of the recording's time: what the change of a duration takes more or less. */
static double share_of(const struct comparison *c, const struct figure *f)
{
	double rate[2];

	for (unsigned int i = 0; i < 2; i++)
		rate[i] = c->span_ns[i] ? (double)f->nr[i] / (double)c->span_ns[i] : 0;
	return fabs(f->value[1] - f->value[0]) * fmax(rate[0], rate[1]);
}

int comparison_end(struct comparison *c)
{
	_cleanup_free_ double *p = malloc(c->nr * sizeof(*p) + 1);
	size_t nr = 0;

	if (!p)
		return fail(-ENOMEM, "out of memory");
	for (size_t i = 0; i < c->nr; i++)
		if (c->figure[i].tested)
			p[nr++] = c->figure[i].p_value;
	int err = rank_test_adjust(p, nr);

	c->nr_tested = nr;
	nr = 0;
	for (size_t i = 0; i < c->nr && !err; i++) {
		struct figure *f = &c->figure[i];

		if (f->tested)
			f->p_adjusted = p[nr++];
		f->changed = f->tested && f->p_adjusted < c->level;
		f->small = f->changed && f->of == FIGURE_LATENCY && share_of(c, f) < c->min_share;
		f->changed &= !f->small;
		c->nr_changed += f->changed;
		c->nr_small += f->small;
	}
	if (c->nr)
		qsort(c->figure, c->nr, sizeof(*c->figure), by_change);
	return err;
}

void comparison_free(struct comparison *c)
{
	for (size_t i = 0; i < c->nr; i++) {
		free(c->figure[i].run[0]);
		free(c->figure[i].run[1]);
	}
	free(c->figure);
	c->figure = NULL;
	c->nr = 0;
}
