// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Functions of durations, as reports compute them: quantile(NS, FRACTION), hist(NS), ns('1.5ms').
 */
#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "base/quantiles.h"
#include "base/units.h"
#include "sql/internal.h"

/* ---- quantile() ---- */

struct quantile_state {
	struct quantiles values;
	double fraction;
	bool begun;
};

/* An integer that is not negative, or a failed query. */
static bool value_is_count(sqlite3_context *to, sqlite3_value *v, const char *why)
{
	if (sqlite3_value_type(v) == SQLITE_INTEGER && sqlite3_value_int64(v) >= 0)
		return true;
	sqlite3_result_error(to, why, -1);
	return false;
}

static void quantile_step(sqlite3_context *to, int argc, sqlite3_value **argv)
{
	struct quantile_state *q = sqlite3_aggregate_context(to, sizeof(*q));
	double fraction = sqlite3_value_double(argv[1]);

	(void)argc;
	if (!q)
		return sqlite3_result_error_nomem(to);
	if (sqlite3_value_numeric_type(argv[1]) == SQLITE_NULL || !(fraction >= 0 && fraction <= 1))
		return sqlite3_result_error(to, "quantile(VALUE, FRACTION): the fraction is 0 to 1",
					    -1);
	q->fraction = fraction;
	q->begun = true;
	if (sqlite3_value_type(argv[0]) == SQLITE_NULL)
		return;
	if (value_is_count(
		    to, argv[0],
		    "quantile(VALUE, FRACTION): the values are integers that are not negative") &&
	    quantiles_add(&q->values, (uint64_t)sqlite3_value_int64(argv[0])))
		sqlite3_result_error_nomem(to);
}

static void quantile_final(sqlite3_context *to)
{
	struct quantile_state *q = sqlite3_aggregate_context(to, 0);

	if (!q || !q->begun || !q->values.count)
		sqlite3_result_null(to);
	else if (quantiles_flush(&q->values))
		sqlite3_result_error_nomem(to);
	else
		sqlite3_result_int64(to, (sqlite3_int64)quantiles_at(&q->values, q->fraction));
	if (q)
		quantiles_free(&q->values);
}

/* ---- hist() ---- */

struct hist_state {
	uint64_t count[65]; /* [0]: 0; [i]: 2^(i-1) <= value < 2^i */
};

static void hist_step(sqlite3_context *to, int argc, sqlite3_value **argv)
{
	struct hist_state *h = sqlite3_aggregate_context(to, sizeof(*h));
	uint64_t v = (uint64_t)sqlite3_value_int64(argv[0]);

	(void)argc;
	if (!h)
		return sqlite3_result_error_nomem(to);
	if (sqlite3_value_type(argv[0]) != SQLITE_NULL &&
	    value_is_count(to, argv[0],
			   "hist(VALUE): the values are integers that are not negative"))
		h->count[v ? 64 - __builtin_clzll(v) : 0]++;
}

/* A JSON object: from each power of two, how many values up to the next one. */
static void hist_final(sqlite3_context *to)
{
	struct hist_state *h = sqlite3_aggregate_context(to, 0);
	sqlite3_str *text = sqlite3_str_new(sqlite3_context_db_handle(to));
	const char *gap = "";

	sqlite3_str_appendall(text, "{");
	for (unsigned int i = 0; h && i < 65; i++) {
		if (!h->count[i])
			continue;
		sqlite3_str_appendf(text, "%s\"%llu\":%llu", gap, i ? 1ULL << (i - 1) : 0ULL,
				    (unsigned long long)h->count[i]);
		gap = ",";
	}
	sqlite3_str_appendall(text, "}");
	sqlite3_result_text(to, sqlite3_str_finish(text), -1, sqlite3_free);
}

/* ---- ns() ---- */

static void ns_of(sqlite3_context *to, int argc, sqlite3_value **argv)
{
	const char *text = (const char *)sqlite3_value_text(argv[0]);
	uint64_t ns;

	(void)argc;
	if (text && !parse_duration(text, &ns))
		sqlite3_result_int64(to, ns > INT64_MAX ? INT64_MAX : (sqlite3_int64)ns);
	else if (text)
		sqlite3_result_error(to, error_text(), -1);
}

int functions_add(struct sql *s)
{
	const int flags = SQLITE_UTF8 | SQLITE_DETERMINISTIC;
	int status = sqlite3_create_function(s->db, "quantile", 2, flags, NULL, NULL, quantile_step,
					     quantile_final);

	if (status == SQLITE_OK)
		status = sqlite3_create_function(s->db, "hist", 1, flags, NULL, NULL, hist_step,
						 hist_final);
	if (status == SQLITE_OK)
		status = sqlite3_create_function(s->db, "ns", 1, flags, NULL, ns_of, NULL, NULL);
	return status == SQLITE_OK ? 0 : fail(-ENOMEM, "out of memory");
}
