// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "groups.h"

enum {
	SLOTS = 4 * GROUPS_MAX,
	HEAT_EVERY = 16, /* batches */
	HOT_FROM = 1000, /* values after which a group is worth a first stage ... */
	NR_HOT_MAX = 256, /* ... and groups that may have one: 1.5 MiB */
};

int groups_init(struct groups *g, unsigned int nr_labels, bool durations)
{
	*g = (struct groups){.nr_labels = nr_labels, .durations = durations};
	g->group = calloc(GROUPS_MAX + 1, sizeof(*g->group));
	g->slot = calloc(SLOTS, sizeof(*g->slot));
	return g->group && g->slot ? 0 : fail(-ENOMEM, "out of memory");
}

void groups_deinit(struct groups *g)
{
	for (unsigned int i = 0; i < g->nr; i++)
		quantiles_free(&g->group[i].ns);
	free(g->group);
	free(g->slot);
	*g = (struct groups){0};
}

static uint32_t hash(const uint64_t *label, unsigned int nr)
{
	uint64_t h = 0;

	for (unsigned int i = 0; i < nr; i++) {
		h = (h ^ label[i]) * 0x9e3779b97f4a7c15ull;
		h ^= h >> 32;
	}
	return (uint32_t)h;
}

/* The group of these labels, made if there is room; the last place is "(other)". */
static struct group *find(struct groups *g, const uint64_t *label)
{
	size_t bytes = g->nr_labels * sizeof(*label);

	for (uint32_t h = hash(label, g->nr_labels);; h++) {
		uint32_t *slot = &g->slot[h % SLOTS];
		struct group *at = *slot ? &g->group[*slot - 1] : NULL;

		if (at && !memcmp(at->label, label, bytes))
			return at;
		if (at)
			continue;
		if (g->nr >= GROUPS_MAX) {
			at = &g->group[GROUPS_MAX];
			at->other = true;
			g->nr = GROUPS_MAX + 1;
			return at;
		}
		at = &g->group[g->nr++];
		*slot = g->nr;
		memcpy(at->label, label, bytes);
		return at;
	}
}

int groups_add(struct groups *g, const struct span *s)
{
	struct group *at = find(g, s->label);

	at->weight += s->weight;
	at->bytes += s->bytes;
	at->marked += s->marked;
	return g->durations ? quantiles_add(&at->ns, s->end_ns - s->start_ns) : 0;
}

/* ---- many at once ---- */

static bool labels_equal(const uint64_t *a, const uint64_t *b, unsigned int nr)
{
	for (unsigned int i = 0; i < nr; i++)
		if (a[i] != b[i])
			return false;
	return true;
}

/* A trace has few reasons, and they come again and again. */
static inline struct group *find_near(struct groups *g, const uint64_t *label, unsigned int nr)
{
	uint64_t h = 0;

	for (unsigned int i = 0; i < nr; i++)
		h = (h ^ label[i]) * 0x9e3779b97f4a7c15ull;
	struct group **near = &g->near[h >> 58];

	if (*near && labels_equal((*near)->label, label, nr))
		return *near;
	struct group *at = find(g, label);

	if (!at->other)
		*near = at;
	return at;
}

/* Gives first stages to those that are worth it. */
static void heat(struct groups *g)
{
	for (unsigned int i = 0; i < GROUPS_NEAR; i++) {
		struct group *at = g->near[i];

		if (!at || at->ns.hot || at->ns.count < HOT_FROM || g->nr_hot == NR_HOT_MAX)
			continue;
		quantiles_heat(&at->ns);
		g->nr_hot++;
	}
}

/* Called with a constant nr_labels, so that the usual case has no loop over labels. */
static inline __attribute__((always_inline)) int add_spans(struct groups *g, const struct spans *s,
							    unsigned int nr_labels)
{
	uint64_t label[LABELS_MAX];
	int err = 0;

	for (unsigned int i = 0; i < s->nr && !err; i++) {
		for (unsigned int l = 0; l < nr_labels; l++)
			label[l] = s->label[l][i];
		struct group *at = find_near(g, label, nr_labels);

		at->weight += s->weight ? s->weight[i] : 1;
		at->bytes += s->bytes ? s->bytes[i] : 0;
		at->marked += s->marked ? s->marked[i] : 0;
		err = g->durations ? quantiles_add_fast(&at->ns, s->ns[i]) : 0;
	}
	return err;
}

int groups_add_spans(struct groups *g, const struct spans *s)
{
	if (g->durations && !(g->nr_batches++ % HEAT_EVERY))
		heat(g);
	if (g->nr_labels == 1)
		return add_spans(g, s, 1);
	return add_spans(g, s, g->nr_labels);
}

int groups_merge(struct groups *g, struct groups *from)
{
	int err = 0;

	for (unsigned int i = 0; i < from->nr && !err; i++) {
		struct group *theirs = &from->group[i], *at;

		if (theirs->other || !(at = find(g, theirs->label)) || at->other)
			return -E2BIG;
		at->weight += theirs->weight;
		at->bytes += theirs->bytes;
		at->marked += theirs->marked;
		if (g->durations)
			err = quantiles_merge(&at->ns, &theirs->ns);
	}
	return err;
}

static unsigned int labels_compared;

static int by_label(const void *a, const void *b)
{
	const struct group *x = a, *y = b;

	if (x->other != y->other)
		return x->other - y->other;
	for (unsigned int i = 0; i < labels_compared; i++)
		if (x->label[i] != y->label[i])
			return x->label[i] < y->label[i] ? -1 : 1;
	return 0;
}

int groups_finish(struct groups *g)
{
	int err = 0;

	for (unsigned int i = 0; g->durations && i < g->nr && !err; i++)
		err = quantiles_settle(&g->group[i].ns);
	labels_compared = g->nr_labels;
	qsort(g->group, g->nr, sizeof(*g->group), by_label);
	memset(g->slot, 0, SLOTS * sizeof(*g->slot)); /* the places have changed */
	memset(g->near, 0, sizeof(g->near));
	return err;
}
