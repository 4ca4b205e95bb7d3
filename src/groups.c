// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "groups.h"

enum { SLOTS = 4 * GROUPS_MAX };

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
