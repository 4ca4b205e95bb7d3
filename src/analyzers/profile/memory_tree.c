// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>

#include "analyzers/profile/memory_tree.h"
#include "base/array.h"
#include "base/error.h"
#include "base/hash.h"

enum { NODES_MAX = 4 << 20 };

const char *const memory_allocators[ALLOCATORS] = {"kmalloc", "large", "mempool", "page", "slab"};

/* ---- children ---- */

/* What distinguishes a node from its siblings; below one parent are either groups or frames. */
static uint64_t value_of(const struct memory_node *n)
{
	return n->is_frame ? n->frames[0] : n->value;
}

/* The children of a node are found in their list while they are few, which is nearly always, then by this. */
enum { LISTED_MAX = 4 };

static uint64_t child_hash(uint32_t parent_id, uint64_t value)
{
	return hash_keyed_pair(parent_id, value);
}

static int child_index(struct memory_tree *t, uint32_t number)
{
	const struct memory_node *n = &t->node[number];

	return hash_index_add(&t->children, child_hash(n->parent_id, value_of(n)), number)
		       ? 0
		       : fail(-ENOMEM, "out of memory");
}

/* MEMORY_NONE: no child has this value yet. */
static uint32_t child_find(const struct memory_tree *t, uint32_t parent, uint64_t value)
{
	const struct memory_node *p = &t->node[parent];
	uint64_t hash = child_hash(p->id, value);
	uint32_t i = p->child;

	if (p->nr_children <= LISTED_MAX) {
		while (i != MEMORY_NONE && value_of(&t->node[i]) != value)
			i = t->node[i].sibling;
		return i;
	}
	for (uint64_t probe = 0; (i = hash_index_next(&t->children, hash, &probe)) != HASH_NONE;)
		if (t->node[i].parent_id == p->id && value_of(&t->node[i]) == value)
			return i;
	return MEMORY_NONE;
}

static int node_room(struct memory_tree *t)
{
	if (t->nr_nodes == NODES_MAX)
		return fail(-E2BIG, "more than %d groups and call paths", NODES_MAX);
	return array_room(t->node, t->nr_nodes);
}

static uint32_t node_new(struct memory_tree *t, const struct memory_node *like)
{
	struct memory_node *n = &t->node[t->nr_nodes];

	*n = *like;
	n->id = t->nr_nodes;
	n->child = n->last_child = n->sibling = MEMORY_NONE;
	return t->nr_nodes++;
}

static int child_append(struct memory_tree *t, uint32_t parent, uint32_t number)
{
	struct memory_node *p = &t->node[parent];
	int err = 0;

	if (p->child == MEMORY_NONE)
		p->child = number;
	else
		t->node[p->last_child].sibling = number;
	p->last_child = number;
	p->nr_children++;
	if (p->nr_children > LISTED_MAX + 1)
		return child_index(t, number);
	if (p->nr_children == LISTED_MAX + 1)
		for (uint32_t i = p->child; i != MEMORY_NONE && !err; i = t->node[i].sibling)
			err = child_index(t, i);
	return err;
}

/* The child of `parent` that begins as `like` does; a new one is like it. */
static int child_of(struct memory_tree *t, uint32_t parent, struct memory_node like, uint32_t *ret)
{
	*ret = child_find(t, parent, value_of(&like));
	if (*ret != MEMORY_NONE)
		return 0;
	int err = node_room(t);

	if (err)
		return err;
	like.parent_id = t->node[parent].id;
	*ret = node_new(t, &like);
	return child_append(t, parent, *ret);
}

/* ---- call paths ---- */

/* The first `keep` frames stay in the node; the others move to a new child, with all nodes below. */
static int split(struct memory_tree *t, uint32_t number, uint32_t keep)
{
	int err = node_room(t);

	if (err)
		return err;
	uint32_t low = node_new(t, &t->node[number]), id = t->node[low].id;
	struct memory_node *n = &t->node[number], *l = &t->node[low];

	l->id = n->id; /* its children stay its children */
	l->child = n->child;
	l->last_child = n->last_child;
	l->frames += keep;
	l->nr_frames -= keep;
	l->parent_id = n->id = id;
	n->nr_frames = keep;
	n->child = n->last_child = low;
	n->nr_children = 1;
	return 0;
}

static uint32_t common_length(const struct memory_node *n, const uint32_t *frames, uint32_t nr)
{
	uint32_t i = 0;

	if (nr > n->nr_frames)
		nr = n->nr_frames;
	while (i < nr && n->frames[i] == frames[i])
		i++;
	return i;
}

static int path_add(struct memory_tree *t, uint32_t group, const uint32_t *frames, uint32_t nr)
{
	uint32_t at = group;

	while (nr) {
		int err = child_of(t, at, (struct memory_node){.is_frame = true, .frames = frames,
						    .nr_frames = nr, .group = group,
						    .tail = MEMORY_NONE}, &at);

		if (err)
			return err;
		uint32_t same = common_length(&t->node[at], frames, nr);

		err = same < t->node[at].nr_frames ? split(t, at, same) : 0;
		if (err)
			return err;
		t->node[at].count++;
		frames += same;
		nr -= same;
	}
	return 0;
}

int memory_tree_add(struct memory_tree *t, const uint64_t values[MEMORY_KEYS],
		    const uint32_t *frames, uint32_t nr)
{
	uint32_t group = 0;
	int err = 0;

	for (unsigned int i = 0; i < t->opt->nr_keys && !err; i++)
		err = child_of(t, group, (struct memory_node){.key = (uint8_t)t->opt->keys[i],
						       .value = values[t->opt->keys[i]]}, &group);
	if (t->opt->max_levels && nr > t->opt->max_levels)
		nr = t->opt->max_levels;
	if (!err)
		err = path_add(t, group, frames, nr);
	if (err)
		return err;
	t->node[group].count++;
	t->node[group].total_bytes += values[MEMORY_ALLOCATED];
	t->node[group].lost_bytes += (__int128)values[MEMORY_ALLOCATED] - values[MEMORY_REQUESTED];
	return 0;
}

/* ---- at the end ---- */

/*
 * Merges a frame with its only child. OSv's tool does so whatever the child's count is, and drops the child's
 * children: so only a node of one frame with no or several children keeps them.
 */
static void merge_only_child_compat(struct memory_tree *t, uint32_t number)
{
	struct memory_node *n = &t->node[number];

	for (uint32_t i = n->child; i != MEMORY_NONE; i = t->node[i].sibling)
		merge_only_child_compat(t, i);
	if (n->nr_children != 1 && n->nr_frames == 1)
		return;
	if (n->nr_children == 1)
		n->tail = n->child;
	n->child = MEMORY_NONE;
	n->nr_children = 0;
}

static void sum_up(struct memory_tree *t, uint32_t number)
{
	struct memory_node *n = &t->node[number];

	for (uint32_t i = n->child; i != MEMORY_NONE; i = t->node[i].sibling) {
		const struct memory_node *c = &t->node[i];

		if (c->is_frame) {
			if (!t->opt->compat)
				return;
			merge_only_child_compat(t, i);
			continue;
		}
		sum_up(t, i);
		n->count += c->count;
		n->total_bytes += c->total_bytes;
		n->lost_bytes += c->lost_bytes;
	}
}

double memory_unused_percent(const struct memory_node *n)
{
	return n->total_bytes ? (double)n->lost_bytes * 100 / (double)n->total_bytes : 0;
}

static bool visible(const struct memory_tree *t, const struct memory_node *n)
{
	if (!n->is_frame)
		return n->count >= t->opt->min_count;
	return n->count >= t->opt->min_hits &&
	       (double)(n->count * 100ull) / (double)t->node[n->group].count >=
		       t->opt->min_hits_percent;
}

uint32_t memory_tree_visible(const struct memory_tree *t, uint32_t number)
{
	while (number != MEMORY_NONE && !visible(t, &t->node[number]))
		number = t->node[number].sibling;
	return number;
}

/* Stable: nodes are numbered in order of appearance. */
static int compare(const void *a, const void *b, void *arg)
{
	const struct memory_tree *t = arg;
	uint32_t i = *(const uint32_t *)a, j = *(const uint32_t *)b;
	const struct memory_node *x = &t->node[i], *y = &t->node[j];

	if (x->is_frame || t->opt->sort == MEMORY_SORT_COUNT) {
		if (x->count != y->count)
			return x->count > y->count ? -1 : 1;
	} else if (t->opt->sort == MEMORY_SORT_UNUSED) {
		double u = memory_unused_percent(x), v = memory_unused_percent(y);

		if (u != v)
			return u > v ? -1 : 1;
	} else if (x->value != y->value) {
		return x->value < y->value ? -1 : 1;
	}
	return i < j ? -1 : i > j;
}

static int sort_children(struct memory_tree *t, uint32_t number)
{
	struct memory_node *n = &t->node[number];
	_cleanup_free_ uint32_t *list = NULL;
	uint32_t nr = 0, *end = &n->child;
	int err = 0;

	if (n->nr_children < 2)
		return n->child == MEMORY_NONE ? 0 : sort_children(t, n->child);
	list = malloc(n->nr_children * sizeof(*list));
	if (!list)
		return fail(-ENOMEM, "out of memory");
	for (uint32_t i = n->child; i != MEMORY_NONE; i = t->node[i].sibling)
		list[nr++] = i;
	qsort_r(list, nr, sizeof(*list), compare, t);
	for (uint32_t i = 0; i < nr; i++) {
		*end = list[i];
		end = &t->node[list[i]].sibling;
	}
	*end = MEMORY_NONE;
	for (uint32_t i = 0; i < nr && !err; i++)
		err = sort_children(t, list[i]);
	return err;
}

int memory_tree_finish(struct memory_tree *t)
{
	sum_up(t, 0);
	return sort_children(t, 0);
}

int memory_tree_open(struct memory_tree *t)
{
	int err = node_room(t);

	t->children = HASH_INDEX(NODES_MAX);
	if (!err)
		node_new(t, &(struct memory_node){0});
	return err;
}

void memory_tree_close(struct memory_tree *t)
{
	free(t->node);
	hash_index_deinit(&t->children);
}
