// SPDX-License-Identifier: GPL-2.0-or-later
/* Which of two recordings' figures differ: the tests of compare.h on the series of both, sorted by what they cost. */
#include "analyzers/compare/compare.h"

#include <errno.h>

#include "base/array.h"
#include "base/error.h"
#include "base/order.h"
#include "base/rank_test.h"

enum { SHIFT_MAX = 62 };

void comparison_begin(struct comparison *c, uint64_t a_ns, uint64_t b_ns)
{
	uint64_t shorter = a_ns < b_ns ? a_ns : b_ns, longer = a_ns < b_ns ? b_ns : a_ns;

	c->span_ns[0] = a_ns;
	c->span_ns[1] = b_ns;
	c->shift = SERIES_FIRST_SHIFT;
	while (c->shift < SHIFT_MAX &&
	       (shorter >> (c->shift + 1) >= COMPARE_BLOCKS || longer >> c->shift >= SERIES_BLOCKS))
		c->shift++;
	c->block_ns = (uint64_t)1 << c->shift;
	c->blocks[0] = (unsigned int)(a_ns >> c->shift); /* whole ones: the rest is not compared */
	c->blocks[1] = (unsigned int)(b_ns >> c->shift);
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

static int figure_test(const struct comparison *c, struct figure *f, const struct series *a,
		       const struct series *b)
{
	double block_s = (double)c->block_ns / 1e9, value[2][SERIES_BLOCKS];
	unsigned int nr_a = values_of(a, f->of, c->blocks[0], block_s, value[0]),
		     nr_b = values_of(b, f->of, c->blocks[1], block_s, value[1]);
	double mean = mean_of(value[0], nr_a);
	struct rank_test t;

	f->tested = nr_a >= RANK_TEST_MIN && nr_b >= RANK_TEST_MIN;
	f->low = f->high = NAN;
	f->p_value = f->p_adjusted = 1;
	f->tested &= !c->untested;
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

static double mean_ns_of(const struct series *s)
{
	if (!s || s->mean_ns > 0)
		return s ? s->mean_ns : 0;
	return s->ns.count ? (double)s->ns.sum / (double)s->ns.count : 0;
}

static uint64_t quantile_of(struct series *s, double fraction)
{
	if (!s)
		return 0;
	return s->mean_ns > 0 ? SERIES_UNKNOWN_NS : quantiles_at(&s->ns, fraction);
}

static void figure_values(const struct comparison *c, struct figure *f, struct series *const *s)
{
	for (unsigned int i = 0; i < 2; i++) {
		f->nr[i] = s[i] ? s[i]->nr : 0;
		if (f->of == FIGURE_RATE) {
			f->value[i] = c->span_ns[i] ? (double)f->nr[i] * 1e9 / (double)c->span_ns[i]
				      : s[i]	    ? s[i]->per_s
						    : 0;
			continue;
		}
		if (f->of == FIGURE_SHARE) {
			f->value[i] = c->all[i] ? 100 * (double)f->nr[i] / (double)c->all[i] : 0;
			continue;
		}
		f->value[i] = mean_ns_of(s[i]);
		f->p50_ns[i] = quantile_of(s[i], .5);
		f->p99_ns[i] = quantile_of(s[i], .99);
	}
	f->change = f->value[0] > 0   ? f->value[1] / f->value[0] - 1
		    : f->value[1] > 0 ? INFINITY
				      : 0;
}

static int figure_add(struct comparison *c, const char *by, enum figure_of of, struct series *a,
		      struct series *b)
{
	int err = array_room(c->figure, c->nr);

	if (err)
		return err;
	struct figure *f = &c->figure[c->nr++];

	*f = (struct figure){.by = by, .key = a ? a->key : b->key, .of = of};
	figure_values(c, f, (struct series *const[]){a, b});
	return figure_test(c, f, a, b);
}

struct named {
	const char *key;
	struct series *series;
};

/* Is the rate of a series known, also of one that a recording does not have? */
static bool has_rate(const struct comparison *c, unsigned int i, const struct series *s)
{
	return c->span_ns[i] || (s && s->has_per_s);
}

static int rate_add(struct comparison *c, const char *by, struct series *a, struct series *b)
{
	bool rate = has_rate(c, 0, a) && has_rate(c, 1, b);

	c->shares |= !rate;
	for (unsigned int i = 0; i < 2; i++)
		c->stated_rates[i] |= rate && !c->span_ns[i];
	return figure_add(c, by, rate ? FIGURE_RATE : FIGURE_SHARE, a, b);
}

/* A latency that only one of them has cannot have changed: its rate has. */
static int add_key(struct comparison *c, const char *by, struct series *a, struct series *b,
		   bool rate, bool latency)
{
	int err = rate ? rate_add(c, by, a, b) : 0;

	latency &= a && b && (!c->untested || (mean_ns_of(a) > 0 && mean_ns_of(b) > 0));
	return !err && latency ? figure_add(c, by, FIGURE_LATENCY, a, b) : err;
}

static uint64_t series_sum_of(const struct series_set *s)
{
	uint64_t sum = 0;

	for (unsigned int i = 0; i < s->nr; i++)
		sum += s->list[i]->nr;
	return s->total > sum ? s->total : sum;
}

int comparison_add(struct comparison *c, const char *by, struct series_set *a, struct series_set *b,
		   bool rate, bool latency)
{
	struct hash_table of_b = HASH_TABLE_OF_TEXTS(struct named, SERIES_MAX);
	struct named *n;
	int err = 0;

	series_widen(a, c->shift);
	series_widen(b, c->shift);
	c->all[0] = series_sum_of(a);
	c->all[1] = series_sum_of(b);
	for (unsigned int i = 0; i < b->nr; i++) {
		n = hash_add_text(&of_b, b->list[i]->key, NULL);
		if (n)
			n->series = b->list[i];
	}
	for (unsigned int i = 0; i < a->nr && !err; i++) {
		n = hash_find_text(&of_b, a->list[i]->key);
		err = add_key(c, by, a->list[i], n ? n->series : NULL, rate, latency);
		if (n)
			n->series = NULL;
	}
	for (unsigned int i = 0; i < b->nr && !err; i++) {
		n = hash_find_text(&of_b, b->list[i]->key);
		if (n && n->series)
			err = add_key(c, by, NULL, b->list[i], rate, latency);
	}
	hash_deinit(&of_b);
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
	free(c->figure);
	c->figure = NULL;
	c->nr = 0;
}
