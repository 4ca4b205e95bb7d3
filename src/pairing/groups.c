// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Sums by label. A busy group counts in a buffer of its own that stays in the cache (base/quantiles.h), and a small
 * direct-mapped cache finds the group of the label that was seen just before; hash table and exact distribution are
 * updated when a buffer is full.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/error.h"
#include "pairing/groups.h"

enum { BUFFER_FROM = 200 }; /* values after which a group is worth a buffer */

struct group_place {
	uint64_t label[LABELS_MAX];
	uint32_t index;
};

int groups_init(struct groups *g, unsigned int nr_labels, bool durations)
{
	*g = (struct groups){.nr_labels = nr_labels, .durations = durations};
	g->group = calloc(GROUPS_MAX + 1, sizeof(*g->group));
	g->places = HASH_TABLE(struct group_place, nr_labels ? nr_labels : 1, GROUPS_MAX);
	return g->group ? 0 : fail(-ENOMEM, "out of memory");
}

void groups_deinit(struct groups *g)
{
	for (unsigned int i = 0; i < g->nr; i++)
		quantiles_free(&g->group[i].ns);
	if (g->group && g->nr <= GROUPS_MAX)
		quantiles_free(&g->group[GROUPS_MAX].ns);
	free(g->group);
	hash_deinit(&g->places);
	*g = (struct groups){0};
}

/* The group of these labels, made if it is new; the last one, "(other)", if there are too many or memory is short. */
static struct group *group_slot_find(struct groups *g, const uint64_t *label)
{
	struct group_place key = {{0}};
	bool is_new;

	memcpy(key.label, label, g->nr_labels * sizeof(*label));
	struct group_place *place = hash_add_words(&g->places, key.label, &is_new);
	struct group *at = &g->group[place ? place->index : GROUPS_MAX];

	if (!place) {
		at->other = true;
	} else if (is_new) {
		place->index = g->nr;
		at = &g->group[g->nr++];
		memcpy(at->label, label, g->nr_labels * sizeof(*label));
	}
	return at;
}

/* ---- adding ---- */

static bool labels_equal(const uint64_t *a, const uint64_t *b, unsigned int nr)
{
	return !array_any(nr, i, a[i] != b[i]);
}

/* A trace has few different labels, which recur. */
static struct group_near *find_near(struct groups *g, const uint64_t *label, unsigned int nr)
{
	struct group_near *near = &g->near[hash_words(label, nr) >> 58];

	if (near->at && labels_equal(near->at->label, label, nr))
		return near;
	struct group *at = group_slot_find(g, label);

	*near = (struct group_near){label[0], at, at->ns.buffer};
	return near;
}

/* The buffers hold so many values that one could overflow. Their values are accesses, too. */
static int groups_flush(struct groups *g)
{
	int err = 0;

	for (unsigned int i = 0; i < g->nr_buffered && !err; i++) {
		uint64_t before = g->buffered[i]->ns.count;

		err = quantiles_flush(&g->buffered[i]->ns);
		g->buffered[i]->weight += g->buffered[i]->ns.count - before;
	}
	g->nr_unflushed = 0;
	return err;
}

/* A value of a group that has no buffer, or does not go into it. */
static int near_add(struct groups *g, struct group_near *near, uint64_t weight, uint64_t ns)
{
	struct group *at = near->at;

	at->weight += weight;
	if (at->other) /* has no labels that could be found again */
		near->at = NULL;
	else if (at->ns.count > BUFFER_FROM && !at->ns.buffer &&
		 g->nr_buffered < GROUPS_BUFFERED_MAX) {
		quantiles_buffer_start(&at->ns);
		g->buffered[g->nr_buffered] = at;
		g->nr_buffered += at->ns.buffer != NULL;
		near->buffer = at->ns.buffer;
	}
	return g->durations ? quantiles_add(&at->ns, ns) : 0;
}

static void bytes_add(struct group *g, uint64_t bytes)
{
	g->bytes = g->bytes == BYTES_UNKNOWN || bytes == BYTES_UNKNOWN ? BYTES_UNKNOWN
								       : g->bytes + bytes;
}

int groups_add(struct groups *g, const struct span *s)
{
	struct group_near *near = find_near(g, s->label, g->nr_labels);
	uint64_t ns = s->end_ns - s->start_ns;

	bytes_add(near->at, s->bytes);
	near->at->marked += s->marked;
	if (!near->buffer || s->weight != 1 || ns >> QUANTILES_BUFFER_BITS)
		return near_add(g, near, s->weight, ns);
	quantiles_buffer_add(near->buffer, ns);
	return ++g->nr_unflushed < QUANTILES_BUFFER_MAX ? 0 : groups_flush(g);
}

static int add_one(struct groups *g, const struct spans *s, unsigned int i)
{
	uint64_t label[LABELS_MAX] = {0};

	for (unsigned int l = 0; l < g->nr_labels; l++)
		label[l] = s->label[l][i];
	struct group_near *near = find_near(g, label, g->nr_labels);

	bytes_add(near->at, s->bytes ? s->bytes[i] : 0);
	near->at->marked += s->marked ? s->marked[i] : 0;
	return near_add(g, near, s->weight ? s->weight[i] : 1, g->durations ? s->ns[i] : 0);
}

/* ---- many at once ---- */

/* The usual case: one label, a short duration, a group that was found before. */
static int add_durations(struct groups *g, const struct spans *s)
{
	const uint64_t *label = s->label[0], *ns = s->ns;
	int err = g->nr_unflushed + s->nr > QUANTILES_BUFFER_MAX ? groups_flush(g) : 0;

	g->nr_unflushed += s->nr;
	for (unsigned int i = 0; i < s->nr && !err; i++) {
		struct group_near *near = &g->near[hash_u64(label[i]) >> 58];

		if (near->label != label[i] || !near->buffer || ns[i] >> QUANTILES_BUFFER_BITS) {
			err = add_one(g, s, i);
			continue;
		}
		quantiles_buffer_add(near->buffer, ns[i]);
		if (s->marked)
			near->at->marked += s->marked[i];
	}
	return err;
}

int groups_add_spans(struct groups *g, const struct spans *s)
{
	int err = 0;

	if (g->nr_labels == 1 && g->durations && !s->weight && !s->bytes)
		return add_durations(g, s);
	for (unsigned int i = 0; i < s->nr && !err; i++)
		err = add_one(g, s, i);
	return err;
}

int groups_merge(struct groups *g, struct groups *from)
{
	int err = groups_flush(from);

	if (from->group[GROUPS_MAX].other)
		return -E2BIG;
	for (unsigned int i = 0; i < from->nr && !err; i++) {
		struct group *theirs = &from->group[i], *at = group_slot_find(g, theirs->label);

		if (at->other)
			return -E2BIG;
		at->weight += theirs->weight;
		bytes_add(at, theirs->bytes);
		at->marked += theirs->marked;
		if (g->durations)
			err = quantiles_merge(&at->ns, &theirs->ns);
	}
	return err;
}

static int by_label(const void *a, const void *b, void *groups)
{
	const struct groups *g = groups;
	const struct group *x = a, *y = b;

	if (x->other != y->other)
		return x->other - y->other;
	for (unsigned int i = 0; i < g->nr_labels; i++)
		if (x->label[i] != y->label[i])
			return x->label[i] < y->label[i] ? -1 : 1;
	return 0;
}

int groups_finish(struct groups *g)
{
	struct group *other = &g->group[GROUPS_MAX];
	int err = groups_flush(g);

	if (other->other && g->nr <= GROUPS_MAX) {
		struct group moved = *other;

		*other = (struct group){0};
		g->group[g->nr++] = moved;
	}
	qsort_r(g->group, g->nr, sizeof(*g->group), by_label, g);
	return err;
}
