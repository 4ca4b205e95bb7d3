// SPDX-License-Identifier: GPL-2.0-or-later
#include "output/diff_report.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/rank_test.h"
#include "base/saturate.h"
#include "base/units.h"
#include "output/report.h"

/* Text has units, JSON and CSV have numbers. */
static void columns(struct table *t)
{
	table_column(t, "by", "by", COL_TEXT, 0);
	table_column(t, "key", NULL, COL_TEXT, 0);
	table_column(t, NULL, "key", COL_TEXT, 0);
	table_column(t, "figure", "figure", COL_TEXT, 0);
	table_column(t, NULL, "A", COL_COUNT, 0);
	table_column(t, NULL, "B", COL_COUNT, 0);
	table_column(t, "a", NULL, COL_REAL, 0);
	table_column(t, "b", NULL, COL_REAL, 0);
	table_column(t, NULL, "change", COL_COUNT, 0);
	table_column(t, NULL, "95% interval", COL_COUNT, 1);
	table_column(t, NULL, "p", COL_COUNT, 0);
	table_column(t, "change", NULL, COL_REAL, 0);
	table_column(t, "change_low", NULL, COL_REAL, 0);
	table_column(t, "change_high", NULL, COL_REAL, 0);
	table_column(t, "p_value", NULL, COL_REAL, 0);
	table_column(t, "p_adjusted", NULL, COL_REAL, 0);
	table_column(t, "verdict", NULL, COL_TEXT, 0);
	table_column(t, "count_a", "count A", COL_COUNT, 3);
	table_column(t, "count_b", "count B", COL_COUNT, 3);
	table_column(t, "p50_a_ns", "p50 A", COL_NS, 3);
	table_column(t, "p50_b_ns", "p50 B", COL_NS, 3);
	table_column(t, "p99_a_ns", "p99 A", COL_NS, 3);
	table_column(t, "p99_b_ns", "p99 B", COL_NS, 3);
}

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

static const char *verdict(const struct figure *f)
{
	return !f->tested   ? "not tested"
	       : f->changed ? "changed"
	       : f->small   ? "small"
			    : "no difference";
}

static struct cell ns_or_none(const struct figure *f, uint64_t ns)
{
	return (struct cell){ns, f->of == FIGURE_LATENCY ? NULL : "-"};
}

static int row_add(struct table *t, const struct figure *f)
{
	struct cell *row = table_row(t), *first = row;
	char key[256];

	if (!row)
		return -1;
	*row++ = (struct cell){0, f->by};
	*row++ = text_of(t, f->key);
	*row++ = text_of(t, key_print(f->key, key, sizeof(key)));
	*row++ = (struct cell){0, f->of == FIGURE_RATE ? "rate" : "latency"};
	*row++ = value_text(t, f->of, f->value[0]);
	*row++ = value_text(t, f->of, f->value[1]);
	*row++ = value_real(t, f->of, f->value[0]);
	*row++ = value_real(t, f->of, f->value[1]);
	*row++ = change_text(t, f->change);
	*row++ = interval_text(t, f);
	*row++ = p_text(t, f);
	*row++ = real(t, "%.2f", 100 * f->change);
	*row++ = real(t, "%.2f", 100 * f->low);
	*row++ = real(t, "%.2f", 100 * f->high);
	*row++ = real(t, "%.3g", f->tested ? f->p_value : NAN);
	*row++ = real(t, "%.3g", f->tested ? f->p_adjusted : NAN);
	*row++ = (struct cell){0, verdict(f)};
	for (unsigned int i = 0; i < 2; i++)
		*row++ = (struct cell){f->nr[i], NULL};
	for (unsigned int i = 0; i < 2; i++)
		*row++ = ns_or_none(f, f->p50_ns[i]);
	for (unsigned int i = 0; i < 2; i++)
		*row++ = ns_or_none(f, f->p99_ns[i]);
	return row - first == t->nr_columns ? 0 : -1;
}

int diff_report_table(const struct comparison *c, bool all, struct table *t)
{
	int err = 0;

	columns(t);
	for (size_t i = 0; i < c->nr && !err; i++)
		if (all || c->figure[i].changed)
			err = row_add(t, &c->figure[i]);
	return err;
}

const char *diff_report_first_line(const struct comparison *c, char *buf, size_t size)
{
	if (!c->nr_tested)
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

void diff_report_caveats(const struct comparison *c, bool all, json_t *list)
{
	size_t unshown = c->nr_tested - c->nr_changed - c->nr_small,
	       untested = c->nr - c->nr_tested, beside = beside_interval(c, all);
	char block[16];

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
	caveat_add(list, "percentiles are nearest-rank, within 0.4 %%");
}
