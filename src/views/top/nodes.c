// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "views/top/nodes.h"

struct top_node *top_node_find(const struct top_node *parent, enum top_list list, uint64_t key)
{
	for (unsigned int i = 0; i < parent->list[list].nr; i++)
		if (parent->list[list].node[i]->key == key)
			return parent->list[list].node[i];
	return NULL;
}

static bool list_extend(struct top_node *parent, enum top_list list)
{
	unsigned int capacity = parent->list[list].capacity;
	void *more;

	if (parent->list[list].nr < capacity)
		return true;
	capacity = capacity ? 2 * capacity : 8;
	more = realloc(parent->list[list].node, capacity * sizeof(struct top_node *));
	if (!more)
		return false;
	parent->list[list].node = more;
	parent->list[list].capacity = capacity;
	return true;
}

struct top_node *top_node_get(struct top_node *parent, enum top_list list, enum top_kind kind,
			      uint64_t key)
{
	struct top_node *n = top_node_find(parent, list, key);

	if (n)
		return n;
	n = list_extend(parent, list) ? calloc(1, sizeof(*n)) : NULL;
	if (!n) {
		fail(-ENOMEM, "out of memory");
		return NULL;
	}
	n->kind = kind;
	n->key = key;
	parent->list[list].node[parent->list[list].nr++] = n;
	return n;
}

void top_node_clear(struct top_node *n)
{
	for (int l = 0; l < TOP_LISTS; l++) {
		while (n->list[l].nr)
			top_node_remove(n, l, n->list[l].nr - 1);
		free(n->list[l].node);
		n->list[l].node = NULL;
		n->list[l].capacity = 0;
	}
	free(n->cell);
	free(n->port);
	free(n->queue);
	free(n->tasks);
	n->cell = NULL;
	n->port = NULL;
	n->queue = NULL;
	n->tasks = NULL;
}

void top_node_remove(struct top_node *parent, enum top_list list, unsigned int i)
{
	struct top_node *n = parent->list[list].node[i];
	unsigned int after = --parent->list[list].nr - i;

	memmove(&parent->list[list].node[i], &parent->list[list].node[i + 1],
		after * sizeof(struct top_node *));
	top_node_clear(n);
	free(n);
}

void top_history_add(struct top_node *n, double value)
{
	memmove(n->history + 1, n->history, sizeof(n->history) - sizeof(n->history[0]));
	n->history[0] = (float)value;
	if (n->nr_history < TOP_HISTORY)
		n->nr_history++;
}

void top_history_rate(const struct top_model *m, struct top_node *n)
{
	double s = (double)(m->now_ns - m->before_ns) / 1e9;

	if (s > 0)
		top_history_add(n, (double)n->history_count / s);
	n->history_count = 0;
}
