// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * `hostrace diff`: a row for each figure of two recordings, and which test compared them; with further recordings, a
 * row for each of them, those of one figure together. Figures and the test are
 * explained in analyzers/compare/compare.h. Text has units, JSON and CSV have numbers.
 */
#include "output/diff_report.h"

#include <errno.h>
#include <math.h>

#include "base/array.h"
#include "base/error.h"
#include "base/order.h"
#include "base/rank_test.h"
#include "base/saturate.h"
#include "base/units.h"
#include "output/report.h"

/* "disk queue 0" of a QOM path and what follows it. */
static const char *key_print(const char *key, char *buf, size_t size)
{
	const char *rest = strstr(key, " queue ");
	char path[256], name[256];

	if (*key != '/' || !rest)
		return key;
	snprintf(path, sizeof(path), "%.*s", (int)(rest - key), key);
	snprintf(buf, size, "%s%s", path_print(path, name, sizeof(name)), rest);
	return buf;
}

static struct cell text_of(struct table *t, const char *text)
{
	return (struct cell){0, table_text(t, text)};
}

static struct cell value_text(struct table *t, enum figure_of of, double v)
{
	char buf[32];

	if (of == FIGURE_LATENCY)
		return text_of(t, duration_print(uint64_of_double(v + 0.5), buf, sizeof(buf)));
	if (of == FIGURE_SHARE)
		snprintf(buf, sizeof(buf), "%.3g%%", v);
	else
		snprintf(buf, sizeof(buf), v < 100 ? "%.3g/s" : "%.0f/s", v);
	return text_of(t, buf);
}

/* A rate, or ns. */
static struct cell value_real(struct table *t, enum figure_of of, double v)
{
	char buf[32];

	snprintf(buf, sizeof(buf), of == FIGURE_LATENCY ? "%.0f" : "%.6g", v);
	return text_of(t, buf);
}

/* No "-0.0". */
static struct cell real(struct table *t, const char *fmt, double v)
{
	char buf[32];

	if (!isfinite(v))
		return (struct cell){0, "-"};
	snprintf(buf, sizeof(buf), fmt, v);
	if (strspn(buf, "-0.%") == strlen(buf))
		snprintf(buf, sizeof(buf), fmt, 0.0);
	return text_of(t, buf);
}

static struct cell change_text(struct table *t, double change)
{
	return isinf(change) ? (struct cell){0, "new"} : real(t, "%+.1f%%", 100 * change);
}

static struct cell interval_text(struct table *t, const struct figure *f)
{
	char buf[64];

	if (!isfinite(f->low))
		return (struct cell){0, "-"};
	snprintf(buf, sizeof(buf), "%+.1f..%+.1f%%", 100 * f->low, 100 * f->high);
	return text_of(t, buf);
}

static struct cell p_text(struct table *t, const struct figure *f)
{
	if (!f->tested)
		return (struct cell){0, "-"};
	return f->p_adjusted < 0.0001 ? (struct cell){0, "<0.0001"}
				      : real(t, "%.4f", f->p_adjusted);
}

static double run_extreme(const struct figure *f, const struct table *t, unsigned int side,
			  double (*extreme)(double, double))
{
	const struct diff_table *d = t->report;
	double v = NAN; /* fmin() and fmax() ignore it */

	for (unsigned int i = 0; f->run[side] && i < d->comparison[0].runs[side].nr; i++)
		v = extreme(v, f->run[side][i]);
	return v;
}

static struct cell run_value(struct table *t, enum figure_of of, double v)
{
	return isfinite(v) ? value_real(t, of, v) : (struct cell){0, "-"};
}

static struct cell spread_text(struct table *t, const struct figure *f, unsigned int side)
{
	double low = run_extreme(f, t, side, fmin), high = run_extreme(f, t, side, fmax);
	char buf[64];

	if (!isfinite(low))
		return (struct cell){0, "-"};
	snprintf(buf, sizeof(buf), "%s..%s", value_text(t, f->of, low).text,
		 value_text(t, f->of, high).text);
	return text_of(t, buf);
}

GET_TEXT(get_by, const struct figure *f, f->by)
GET_CELL(get_key, const struct figure *f, text_of(t, f->key))

static struct cell get_key_short(struct table *t, const void *at)
{
	const struct figure *f = at;
	char key[256];

	return text_of(t, key_print(f->key, key, sizeof(key)));
}

GET_TEXT(get_figure, const struct figure *f,
	 f->of == FIGURE_RATE	 ? "rate"
	 : f->of == FIGURE_SHARE ? "share"
				 : "latency")
GET_CELL(get_a_text, const struct figure *f, value_text(t, f->of, f->value[0]))
GET_CELL(get_b_text, const struct figure *f, value_text(t, f->of, f->value[1]))
GET_CELL(get_a, const struct figure *f, value_real(t, f->of, f->value[0]))
GET_CELL(get_b, const struct figure *f, value_real(t, f->of, f->value[1]))
GET_CELL(get_change_text, const struct figure *f, change_text(t, f->change))
GET_CELL(get_interval, const struct figure *f, interval_text(t, f))
GET_CELL(get_p, const struct figure *f, p_text(t, f))
GET_CELL(get_change, const struct figure *f, real(t, "%.2f", 100 * f->change))
GET_CELL(get_low, const struct figure *f, real(t, "%.2f", 100 * f->low))
GET_CELL(get_high, const struct figure *f, real(t, "%.2f", 100 * f->high))
GET_CELL(get_p_value, const struct figure *f, real(t, "%.3g", f->tested ? f->p_value : NAN))
GET_CELL(get_p_adjusted, const struct figure *f, real(t, "%.3g", f->tested ? f->p_adjusted : NAN))
GET_TEXT(get_verdict, const struct figure *f,
	 !f->tested   ? "not tested"
	 : f->changed ? "changed"
	 : f->small   ? "small"
		      : "no difference")
static bool has_quantile(const struct figure *f, uint64_t ns)
{
	return f->of == FIGURE_LATENCY && ns != SERIES_UNKNOWN_NS;
}

GET_NUMBER_IF(get_p50_a, const struct figure *f, has_quantile(f, f->p50_ns[0]), f->p50_ns[0])
GET_NUMBER_IF(get_p50_b, const struct figure *f, has_quantile(f, f->p50_ns[1]), f->p50_ns[1])
GET_NUMBER_IF(get_p99_a, const struct figure *f, has_quantile(f, f->p99_ns[0]), f->p99_ns[0])
GET_NUMBER_IF(get_p99_b, const struct figure *f, has_quantile(f, f->p99_ns[1]), f->p99_ns[1])

GET_CELL(get_spread_a, const struct figure *f, spread_text(t, f, 0))
GET_CELL(get_spread_b, const struct figure *f, spread_text(t, f, 1))
GET_CELL(get_low_a, const struct figure *f, run_value(t, f->of, run_extreme(f, t, 0, fmin)))
GET_CELL(get_high_a, const struct figure *f, run_value(t, f->of, run_extreme(f, t, 0, fmax)))
GET_CELL(get_low_b, const struct figure *f, run_value(t, f->of, run_extreme(f, t, 1, fmin)))
GET_CELL(get_high_b, const struct figure *f, run_value(t, f->of, run_extreme(f, t, 1, fmax)))

/* A row, and what is best of all rows of its figure: they stay together. */
struct diff_row {
	const struct figure *f;
	char side[2];
	bool changed;
	double change;
};

GET_CELL(get_side, const struct diff_row *r, text_of(t, r->side))

static bool has_several(const struct table *t)
{
	const struct diff_table *d = t->report;

	return d->nr > 1;
}

static bool has_two(const struct table *t)
{
	return !has_several(t);
}

static bool has_runs(const struct table *t)
{
	const struct diff_table *d = t->report;

	return array_any(d->nr, i, comparison_of_runs(&d->comparison[i]));
}

static const struct column_def figure_columns[] = {
	{"by", "by", COL_TEXT, .get = get_by, .doc = "what the key is: reason, device, ..."},
	{"key", NULL, COL_TEXT, .get = get_key, .doc = "what the figure is of"},
	{NULL, "key", COL_TEXT, .get = get_key_short,
	 .doc = "the same, with the device's name only"},
	{"figure", "figure", COL_TEXT, .get = get_figure,
	 .doc = "rate (per second), latency (ns), or share (percent of all)"},
	{0},
};

static const struct column_def side_columns[] = {
	{"side", "side", COL_TEXT, .get = get_side, .when = has_several,
	 .doc = "which one is compared with A: B, C, ...; only if there are several"},
	{0},
};

static const struct column_def value_columns[] = {
	{NULL, "A", COL_COUNT, .get = get_a_text, .doc = "its value in A"},
	{NULL, "B", COL_COUNT, .get = get_b_text, .when = has_two, .doc = "its value in B"},
	{NULL, "value", COL_COUNT, .get = get_b_text, .when = has_several,
	 .doc = "instead, with several: its value in this one"},
	{"a", NULL, COL_REAL, .get = get_a, .nullable = true,
	 .doc = "in A: a rate, ns, or percent"},
	{"b", NULL, COL_REAL, .get = get_b, .nullable = true, .doc = "in B, or in `side`"},
	{NULL, "runs A", COL_COUNT, .get = get_spread_a, .spare = 2, .when = has_runs,
	 .doc = "the lowest and the highest of A's runs; only if there are several runs"},
	{NULL, "runs B", COL_COUNT, .get = get_spread_b, .spare = 2, .when = has_runs,
	 .doc = "of B's"},
	{"run_low_a", NULL, COL_REAL, .get = get_low_a, .nullable = true, .when = has_runs,
	 .doc = "the lowest of A's runs; null: one run"},
	{"run_high_a", NULL, COL_REAL, .get = get_high_a, .nullable = true, .when = has_runs,
	 .doc = "the highest"},
	{"run_low_b", NULL, COL_REAL, .get = get_low_b, .nullable = true, .when = has_runs,
	 .doc = "the lowest of B's runs"},
	{"run_high_b", NULL, COL_REAL, .get = get_high_b, .nullable = true, .when = has_runs,
	 .doc = "the highest"},
	{NULL, "change", COL_COUNT, .get = get_change_text, .doc = "from A to B"},
	{NULL, "95% interval", COL_COUNT, .get = get_interval, .spare = 1,
	 .doc = "of the change, by a block of time that is typical, or by runs"},
	{NULL, "p", COL_COUNT, .get = get_p, .doc = "corrected for the number of figures"},
	{"change", NULL, COL_REAL, .get = get_change, .nullable = true,
	 .doc = "percent; null: A has none"},
	{"change_low", NULL, COL_REAL, .get = get_low, .nullable = true,
	 .doc = "lower end of its 95 % interval"},
	{"change_high", NULL, COL_REAL, .get = get_high, .nullable = true, .doc = "upper end"},
	{"p_value", NULL, COL_REAL, .get = get_p_value, .nullable = true,
	 .doc = "of the test alone; null: not tested"},
	{"p_adjusted", NULL, COL_REAL, .get = get_p_adjusted, .nullable = true,
	 .doc = "corrected for the number of figures"},
	{"verdict", NULL, COL_TEXT, .get = get_verdict,
	 .doc = "changed, small (below --min-share), no difference, not tested"},
	{"count_a", "count A", COL_COUNT, MEMBER(struct figure, nr[0]), .spare = 3,
	 .doc = "events in A"},
	{"count_b", "count B", COL_COUNT, MEMBER(struct figure, nr[1]), .spare = 3,
	 .doc = "events in B"},
	{"p50_a_ns", "p50 A", COL_NS, .get = get_p50_a, 3, true,
	 .doc = "median latency in A; null: no latency, or not known"},
	{"p50_b_ns", "p50 B", COL_NS, .get = get_p50_b, 3, true, .doc = "in B"},
	{"p99_a_ns", "p99 A", COL_NS, .get = get_p99_a, 3, true, .doc = "99th percentile in A"},
	{"p99_b_ns", "p99 B", COL_NS, .get = get_p99_b, 3, true, .doc = "in B"},
	{0},
};

const struct table_def diff_table = {
	"diff", "", "a figure of two recordings", {figure_columns, side_columns, value_columns}};

static int by_figure(const void *a, const void *b)
{
	const struct diff_row *x = a, *y = b;
	int order = strcmp(x->f->by, y->f->by);

	order = order ? order : strcmp(x->f->key, y->f->key);
	order = order ? order : order_u64(x->f->of, y->f->of);
	return order ? order : strcmp(x->side, y->side);
}

static int by_best(const void *a, const void *b)
{
	const struct diff_row *x = a, *y = b;

	if (x->changed != y->changed)
		return x->changed ? -1 : 1;
	int order = order_double(y->change, x->change);

	return order ? order : by_figure(a, b);
}

/* Gives all rows of a figure what is the largest change of one of them, those that changed before others. */
static void rows_group(struct diff_row *row, size_t nr)
{
	for (size_t i = 0, end; i < nr; i = end) {
		bool changed = false;
		double change = 0;

		for (end = i;
		     end < nr && !strcmp(row[end].f->by, row[i].f->by) &&
		     !strcmp(row[end].f->key, row[i].f->key) && row[end].f->of == row[i].f->of;
		     end++)
			changed |= row[end].f->changed;
		for (size_t k = i; k < end; k++)
			if (row[k].f->changed || !changed)
				change = fmax(change, fabs(row[k].f->change));
		for (size_t k = i; k < end; k++) {
			row[k].changed = changed;
			row[k].change = change;
		}
	}
}

int diff_report_table(const struct diff_table *d, struct table *t)
{
	_cleanup_free_ struct diff_row *row = NULL;
	size_t all = 0, nr = 0;
	int err = 0;

	for (unsigned int i = 0; i < d->nr; i++)
		all += d->comparison[i].nr;
	row = calloc(all + 1, sizeof(*row));
	if (!row)
		return fail(-ENOMEM, "out of memory");
	for (unsigned int i = 0; i < d->nr; i++)
		for (size_t k = 0; k < d->comparison[i].nr; k++)
			row[nr++] = (struct diff_row){&d->comparison[i].figure[k],
						      {(char)('B' + i), '\0'},
						      d->comparison[i].figure[k].changed, 0};
	if (d->nr > 1) {
		qsort(row, nr, sizeof(*row), by_figure);
		rows_group(row, nr);
		qsort(row, nr, sizeof(*row), by_best);
	}
	table_open(t, &diff_table, d, NULL);
	for (size_t i = 0; i < nr && !err; i++)
		if (d->all || row[i].changed)
			err = table_add(t, row[i].f, &row[i], row[i].f);
	return err;
}

static struct comparison totals_of(const struct diff_table *d)
{
	struct comparison all = *d->comparison;

	for (unsigned int i = 1; i < d->nr; i++) {
		const struct comparison *c = &d->comparison[i];

		all.nr += c->nr;
		all.nr_tested += c->nr_tested;
		all.nr_changed += c->nr_changed;
		all.nr_small += c->nr_small;
		all.shares |= c->shares;
	}
	return all;
}

const char *diff_report_first_line(const struct diff_table *d, char *buf, size_t size)
{
	const struct comparison all = totals_of(d), *c = &all;

	if (!c->nr)
		return NULL;
	if (c->untested)
		snprintf(buf, size, "%zu figures, not tested: a table has no times", c->nr);
	else if (!c->nr_tested)
		snprintf(buf, size,
			 "nothing could be compared: %zu figures, too few measurements of each",
			 c->nr);
	else if (!c->nr_changed)
		snprintf(buf, size, "no significant difference: %zu figures compared",
			 c->nr_tested);
	else
		snprintf(buf, size, "%zu of %zu figures changed by more than %.3g %%",
			 c->nr_changed, c->nr_tested, 100 * c->margin);
	return buf;
}

/* Of all runs. */
static unsigned int blocks_of(const struct comparison *c, unsigned int side)
{
	unsigned int nr = 0;

	for (unsigned int i = 0; i < c->runs[side].nr; i++)
		nr += c->blocks[side][i];
	return nr;
}

json_t *diff_report_totals(const struct comparison *c)
{
	json_t *blocks = json_array();

	for (unsigned int i = 0; i < 2; i++)
		json_array_append_new(blocks, json_integer((json_int_t)blocks_of(c, i)));
	return json_pack(
		"{s:[I,I], s:[i,i], s:I, s:o, s:s, s:s, s:f, s:f, s:f, s:I, s:I, s:I, s:I}",
		"span_ns", (json_int_t)c->span_ns[0], (json_int_t)c->span_ns[1], "runs",
		(int)c->runs[0].nr, (int)c->runs[1].nr, "block_ns", (json_int_t)c->block_ns,
		"blocks", blocks, "test",
		comparison_of_runs(c)
			? "Student's t, bootstrap over runs and blocks of time, two-sided"
			: "Mann-Whitney, blocks of time, two-sided; latencies: also Welch's t, "
			  "batches",
		"correction", "Holm", "level", 100 * c->level, "margin", 100 * c->margin,
		"min_share", 100 * c->min_share, "figures", (json_int_t)c->nr, "tested",
		(json_int_t)c->nr_tested, "changed", (json_int_t)c->nr_changed, "small",
		(json_int_t)c->nr_small);
}

/* The interval is of a typical block's change. A few blocks with most of the events move the total, and not it. */
static size_t beside_interval(const struct comparison *c, bool all)
{
	size_t nr = 0;

	for (size_t i = 0; i < c->nr; i++) {
		const struct figure *f = &c->figure[i];

		nr += f->tested && (all || f->changed) &&
		      (f->change < f->low - c->margin || f->change > f->high + c->margin);
	}
	return nr;
}

static void table_caveats(const struct comparison *c, json_t *list)
{
	for (unsigned int i = 0; i < 2; i++)
		if (c->stated_rates[i])
			caveat_add(list,
				   "rates of %c are those that its table states, of the time right "
				   "before it was printed",
				   'A' + i);
	if (c->shares)
		caveat_add(list, "it is not known for how long one of them counted: shares of all "
				 "counts are compared, not rates");
}

static const char *test_print(const struct comparison *c, char *buf, size_t size)
{
	char block[16], of[96];

	duration_print(c->block_ns, block, sizeof(block));
	if (comparison_of_runs(c))
		snprintf(of, sizeof(of),
			 "t-test of %u and %u runs, with a bootstrap over runs and blocks of %s",
			 c->runs[0].nr, c->runs[1].nr, block);
	else
		snprintf(of, sizeof(of),
			 "Mann-Whitney test of %u and %u blocks of %s (latencies: or t-test)",
			 c->blocks[0][0], c->blocks[1][0], block);
	snprintf(buf, size,
		 "%s; p is Holm-corrected; a figure changed if p < %.3g for a change of more than "
		 "%.3g %%",
		 of, c->level, 100 * c->margin);
	return buf;
}

/* Once, if all comparisons are made in the same way. */
static void tests_caveats(const struct diff_table *d, json_t *list)
{
	char text[256], first[256];
	bool single = false;

	test_print(&d->comparison[0], first, sizeof(first));
	bool same = !array_any(d->nr, i,
			       strcmp(test_print(&d->comparison[i], text, sizeof(text)), first));

	for (unsigned int i = 0; i < (same ? 1 : d->nr); i++)
		caveat_add(list, "%.*s%s", same ? 0 : 3,
			   (const char[]){(char)('B' + i), ':', ' ', '\0'},
			   test_print(&d->comparison[i], text, sizeof(text)));
	for (unsigned int i = 0; i < d->nr; i++)
		single |= comparison_of_runs(&d->comparison[i]) &&
			  (d->comparison[i].runs[0].nr == 1 || d->comparison[i].runs[1].nr == 1);
	if (single)
		caveat_add(list,
			   "a single run is taken to vary from run to run as those do that it "
			   "is compared with");
}

void diff_report_caveats(const struct diff_table *d, bool explains, json_t *list)
{
	const struct comparison all = totals_of(d), *c = &all;
	size_t unshown = c->nr_tested - c->nr_changed - c->nr_small,
	       untested = c->nr - c->nr_tested, beside = 0;

	if (c->untested) {
		table_caveats(c, list);
		return;
	}
	tests_caveats(d, list);
	for (unsigned int i = 0; i < d->nr; i++)
		beside += beside_interval(&d->comparison[i], d->all);
	if (beside)
		caveat_add(list,
			   "changes outside their interval, which is that of a typical block: %zu; "
			   "few blocks have most of the events",
			   beside);
	if (c->nr_small)
		caveat_add(list,
			   "latencies that changed, by less than %.3g %% of the time: %zu (see "
			   "--min-share)",
			   100 * c->min_share, c->nr_small);
	if (untested && comparison_of_runs(c))
		caveat_add(list, "figures with too few measurements, not tested: %zu", untested);
	else if (untested)
		caveat_add(list,
			   "figures with measurements in fewer than %d blocks, not tested: %zu",
			   RANK_TEST_MIN, untested);
	if (!d->all && unshown)
		caveat_add(list, "figures that did not change: %zu; --all shows them", unshown);
	if (explains)
		caveat_add(list, "percentiles are nearest-rank, within 0.4 %%");
}
