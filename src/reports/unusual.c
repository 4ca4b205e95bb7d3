// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What was unusual from a moment on, compared with the time before it: durations that are longer
 * than the longest one before, and rates that differ by more than chance explains. Of exits by
 * reason, userspace exits, virtqueue elements, block requests, waits for the global mutex,
 * preempted threads; and of events by name.
 */
#include <errno.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/order.h"
#include "pairing/pair.h"
#include "reports/dump.h"

enum {
	UNUSUAL_ROWS_MAX = 4096, /* keys of all kinds; further ones are ignored */
	FEW = 10,		 /* fewer events say nothing about a rate */
};

static const double SIGMAS =
	5; /* of a Poisson distribution: a rate that differs by more is no chance */
static const uint64_t SHORT_NS = NS_PER_MS; /* a span that is shorter is not worth a line */

static const char *const kinds[] = {"exit-latency", "userspace-exit", "virtqueue",
				    "block",	    "bql-wait",	      "sched-out"};

enum { KINDS = sizeof(kinds) / sizeof(kinds[0]), SCHED_OUT = KINDS - 1 /* by tid, prev_state */ };

struct side {
	uint64_t nr, max_ns;
};

struct row {
	uint64_t key[3];     /* kind, two labels; KINDS: an event type */
	struct side side[2]; /* before and after the split */
	char text[DUMP_WHAT_BYTES];
};

struct kind {
	struct unusual *u;
	unsigned int nr;
	struct pairing *pairing;
};

struct unusual {
	uint64_t split_ns, first_ns, last_ns;
	struct kind kind[KINDS];
	struct hash_table rows;
};

static void row_count(struct row *row, bool after, uint64_t ns)
{
	struct side *s = &row->side[after];

	s->nr++;
	if (ns > s->max_ns)
		s->max_ns = ns;
}

static void row_name(struct row *row, const struct kind *k, const struct span *s)
{
	unsigned int nr;
	const struct label *label = pairing_labels(k->pairing, &nr);
	size_t len = (size_t)snprintf(row->text, sizeof(row->text), "%s", kinds[k->nr]);

	for (unsigned int i = 0; i < nr && len < sizeof(row->text); i++) {
		char text[128];

		len += (size_t)snprintf(
			row->text + len, sizeof(row->text) - len, " %s=%s", label[i].name,
			pairing_label_text(k->pairing, i, s->label[i], text, sizeof(text)));
	}
}

static int on_span(void *arg, const struct span *s)
{
	struct kind *k = arg;
	uint64_t key[3] = {k->nr, s->label[0], s->label[1]};
	bool is_new;
	struct row *row;

	if (k->nr == SCHED_OUT && s->label[1]) /* it sleeps */
		return 0;
	row = hash_add_words(&k->u->rows, key, &is_new);
	if (row && is_new)
		row_name(row, k, s);
	if (row)
		row_count(row, s->end_ns > k->u->split_ns, s->end_ns - s->start_ns);
	return 0;
}

struct unusual *unusual_new(uint64_t split_ns)
{
	struct unusual *u = calloc(1, sizeof(*u));
	int err = 0;

	if (!u) {
		fail(-ENOMEM, "out of memory");
		return NULL;
	}
	u->split_ns = split_ns;
	u->rows = HASH_TABLE(struct row, 3, UNUSUAL_ROWS_MAX);
	for (unsigned int i = 0; i < KINDS && !err; i++) {
		u->kind[i] = (struct kind){.u = u, .nr = i};
		err = pairing_open(analyzer_find(kinds[i], NULL), NULL, on_span, &u->kind[i],
				   &u->kind[i].pairing);
	}
	if (!err)
		return u;
	unusual_free(u);
	return NULL;
}

void unusual_free(struct unusual *u)
{
	if (!u)
		return;
	for (unsigned int i = 0; i < KINDS; i++)
		pairing_close(u->kind[i].pairing);
	hash_deinit(&u->rows);
	free(u);
}

int unusual_event(struct unusual *u, const struct event *ev)
{
	uint64_t key[3] = {KINDS, ev->type->index, 0};
	bool is_new;
	struct row *row = hash_add_words(&u->rows, key, &is_new);
	int err = 0;

	if (row && is_new)
		snprintf(row->text, sizeof(row->text), "%s", ev->type->name);
	if (row)
		row_count(row, ev->time_ns >= u->split_ns, 0);
	u->first_ns = u->first_ns && u->first_ns < ev->time_ns ? u->first_ns : ev->time_ns;
	u->last_ns = ev->time_ns;
	for (unsigned int i = 0; i < KINDS && !err; i++)
		err = pairing_event(u->kind[i].pairing, ev);
	return err;
}

/* What has not ended lasts until the end of the dump. */
int unusual_end(struct unusual *u)
{
	int err = 0;

	for (unsigned int i = 0; i < KINDS && !err; i++)
		err = pairing_open_spans(u->kind[i].pairing, u->last_ns);
	return err;
}

/* ---- the rows ---- */

struct candidate {
	const struct row *row;
	double score;
};

static double seconds(uint64_t from, uint64_t to)
{
	return to > from ? (double)(to - from) / (double)NS_PER_S : 0;
}

/* By how many standard deviations the number after the split differs from that before it; 0: too
 * few, or too small. */
static double rate_score(const struct unusual *u, const struct row *row)
{
	double before = seconds(u->first_ns, u->split_ns), after = seconds(u->split_ns, u->last_ns);
	double a = (double)row->side[0].nr, b = (double)row->side[1].nr;

	if (before <= 0 || after <= 0 || a + b < FEW)
		return 0;

	double expected = a * after / before, ratio = (b + 1) / (expected + 1);

	if (ratio < 2 && ratio > 0.5)
		return 0;
	return fabs(b - expected) / sqrt((a + 1) * after / before * (1 + after / before));
}

static double score(const struct unusual *u, const struct row *row)
{
	double of_max = 0, of_rate = rate_score(u, row);

	if (row->side[1].max_ns > 2 * row->side[0].max_ns && row->side[1].max_ns >= SHORT_NS)
		of_max = SIGMAS + (double)row->side[1].max_ns / (double)SHORT_NS;
	return of_max > of_rate ? of_max : of_rate;
}

static int by_score(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;

	int order = order_double(y->score, x->score);

	return order ? order : strcmp(x->row->text, y->row->text);
}

static void side_fill(const struct row *row, bool after, double s, struct dump_side *ret)
{
	*ret = (struct dump_side){.per_second = s > 0 ? (double)row->side[after].nr / s : 0,
				  .has_longest = row->key[0] < KINDS && row->side[after].nr,
				  .longest_ns = row->side[after].max_ns};
}

static void row_fill(const struct unusual *u, const struct row *row, struct dump_unusual *ret)
{
	side_fill(row, false, seconds(u->first_ns, u->split_ns), &ret->before);
	side_fill(row, true, seconds(u->split_ns, u->last_ns), &ret->since);
	snprintf(ret->what, sizeof(ret->what), "%s", row->text);
}

int unusual_find(struct unusual *u, struct dump_findings *f)
{
	_cleanup_free_ struct candidate *list = calloc(u->rows.nr + 1, sizeof(*list));
	const struct row *row;
	uint32_t at = 0;

	if (!list)
		return fail(-ENOMEM, "out of memory");
	f->compared = u->first_ns < u->split_ns;
	if (!f->compared)
		return 0;
	while ((row = hash_next(&u->rows, &at)))
		if (score(u, row) >= SIGMAS)
			list[f->nr_unusual++] = (struct candidate){row, score(u, row)};
	qsort(list, f->nr_unusual, sizeof(*list), by_score);
	for (size_t i = 0; i < f->nr_unusual && i < DUMP_UNUSUAL_MAX; i++)
		row_fill(u, list[i].row, &f->unusual[i]);
	return 0;
}
