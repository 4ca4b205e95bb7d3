// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * `hostrace diff`: a row for each figure of two recordings, and which test compared them. Figures and the test are
 * explained in analyzers/compare/compare.h. Text has units, JSON and CSV have numbers.
 */
#include "output/diff_report.h"

#include <math.h>

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

static const struct column_def figure_columns[] = {
	{"by", "by", COL_TEXT, .get = get_by, .doc = "what the key is: reason, device, ..."},
	{"key", NULL, COL_TEXT, .get = get_key, .doc = "what the figure is of"},
	{NULL, "key", COL_TEXT, .get = get_key_short,
	 .doc = "the same, with the device's name only"},
	{"figure", "figure", COL_TEXT, .get = get_figure,
	 .doc = "rate (per second), latency (ns), or share (percent of all)"},
	{NULL, "A", COL_COUNT, .get = get_a_text, .doc = "its value in A"},
	{NULL, "B", COL_COUNT, .get = get_b_text, .doc = "its value in B"},
	{"a", NULL, COL_REAL, .get = get_a, .nullable = true,
	 .doc = "in A: a rate, ns, or percent"},
	{"b", NULL, COL_REAL, .get = get_b, .nullable = true, .doc = "in B"},
	{NULL, "change", COL_COUNT, .get = get_change_text, .doc = "from A to B"},
	{NULL, "95% interval", COL_COUNT, .get = get_interval, .spare = 1,
	 .doc = "of the change, by a block of time that is typical"},
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

const struct table_def diff_table = {"diff", "", "a figure of two recordings", {figure_columns}};

int diff_report_table(const struct comparison *c, bool all, struct table *t)
{
	int err = 0;

	table_open(t, &diff_table, c, NULL);
	for (size_t i = 0; i < c->nr && !err; i++)
		if (all || c->figure[i].changed)
			err = table_add(t, &c->figure[i]);
	return err;
}

const char *diff_report_first_line(const struct comparison *c, char *buf, size_t size)
{
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

json_t *diff_report_totals(const struct comparison *c)
{
	return json_pack(
		"{s:{s:[I,I], s:I, s:[i,i], s:s, s:s, s:f, s:f, s:f, s:I, s:I, s:I, s:I}}",
		"comparison", "span_ns", (json_int_t)c->span_ns[0], (json_int_t)c->span_ns[1],
		"block_ns", (json_int_t)c->block_ns, "blocks", (int)c->blocks[0], (int)c->blocks[1],
		"test",
		"Mann-Whitney, blocks of time, two-sided; latencies: also Welch's t, batches",
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

void diff_report_caveats(const struct comparison *c, bool all, bool explains, json_t *list)
{
	size_t unshown = c->nr_tested - c->nr_changed - c->nr_small,
	       untested = c->nr - c->nr_tested, beside = beside_interval(c, all);
	char block[16];

	if (c->untested) {
		for (unsigned int i = 0; i < 2; i++)
			if (c->stated_rates[i])
				caveat_add(list,
					   "rates of %c are those that its table states, of "
					   "the time right before it was printed",
					   'A' + i);
		if (c->shares)
			caveat_add(list, "it is not known for how long one of them counted: shares "
					 "of all counts are compared, not rates");
		return;
	}
	caveat_add(list,
		   "Mann-Whitney test of %u and %u blocks of %s (latencies: or t-test); p is "
		   "Holm-corrected; a figure "
		   "changed if p < %.3g for a change of more than %.3g %%",
		   c->blocks[0], c->blocks[1], duration_print(c->block_ns, block, sizeof(block)),
		   c->level, 100 * c->margin);
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
	if (untested)
		caveat_add(list,
			   "figures with measurements in fewer than %d blocks, not tested: %zu",
			   RANK_TEST_MIN, untested);
	if (!all && unshown)
		caveat_add(list, "figures that did not change: %zu; --all shows them", unshown);
	if (explains)
		caveat_add(list, "percentiles are nearest-rank, within 0.4 %%");
}
