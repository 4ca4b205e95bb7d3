// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyzers/profile/calltree_nodes.h"
#include "base/array.h"
#include "base/error.h"
#include "base/order.h"

struct known_text {
	char *text; /* of `frame` */
	uint32_t frame;
};

int calltree_open(struct calltree **ret)
{
	_cleanup_(calltree_cleanup_) struct calltree *t = calloc(1, sizeof(*t));

	if (!t)
		return fail(-ENOMEM, "out of memory");
	t->by_text = HASH_TABLE_OF_TEXTS(struct known_text, CALLTREE_FRAMES_MAX);
	t->by_step = HASH_INDEX(CALLTREE_NODES_MAX);
	*ret = take_ptr(t);
	return 0;
}

void calltree_close(struct calltree *t)
{
	if (!t)
		return;
	for (uint32_t i = 0; i < t->nr_frames; i++)
		free(t->frame[i]);
	free(t->frame);
	free(t->node);
	free(t->root);
	hash_deinit(&t->by_text);
	hash_index_deinit(&t->by_step);
	free(t);
}

/* Grows the array for element `nr`, which must be below max. */
#define bounded_room(array, nr, max)                                                               \
	((nr) == (max) ? fail(-E2BIG, "a profile of more than %u nodes", (max))                    \
		       : array_room(array, nr))

int calltree_frame(struct calltree *t, const char *text, uint32_t *ret)
{
	struct known_text *known = hash_find_text(&t->by_text, text);
	int err = known ? 0 : bounded_room(t->frame, t->nr_frames, CALLTREE_FRAMES_MAX);

	if (err)
		return err;
	if (!known) {
		char *copy = strdup(text);

		known = copy ? hash_add_text(&t->by_text, copy, NULL) : NULL;
		if (!known) {
			free(copy);
			return fail(-ENOMEM, "out of memory");
		}
		known->frame = t->nr_frames;
		t->frame[t->nr_frames++] = copy;
	}
	*ret = known->frame;
	return 0;
}

const char *calltree_frame_text(const struct calltree *t, uint32_t frame)
{
	return t->frame[frame];
}

static int node_new(struct calltree *t, uint32_t parent, uint32_t frame, uint32_t *ret)
{
	int err = bounded_room(t->node, t->nr_nodes, CALLTREE_NODES_MAX);

	if (err)
		return err;
	*ret = t->nr_nodes++;
	t->node[*ret] = (struct calltree_node){.frame = frame,
					       .parent = parent,
					       .child = CALLTREE_NONE,
					       .last_child = CALLTREE_NONE,
					       .sibling = CALLTREE_NONE,
					       .tail = CALLTREE_NONE,
					       .title = CALLTREE_NONE};
	if (parent == CALLTREE_NONE)
		return 0;
	struct calltree_node *p = &t->node[parent];

	if (p->last_child == CALLTREE_NONE)
		p->child = *ret;
	else
		t->node[p->last_child].sibling = *ret;
	p->last_child = *ret;
	p->nr_children++;
	return 0;
}

int calltree_root(struct calltree *t, const char *label, uint32_t *ret_node)
{
	uint32_t frame = 0;
	int err = calltree_frame(t, label, &frame);

	if (!err)
		err = bounded_room(t->root, t->nr_roots, CALLTREE_FRAMES_MAX);
	if (!err)
		err = node_new(t, CALLTREE_NONE, frame, ret_node);
	if (!err)
		t->root[t->nr_roots++] = *ret_node;
	return err;
}

static int step(struct calltree *t, uint32_t parent, uint32_t frame, uint32_t *ret)
{
	uint64_t hash = hash_keyed_pair(parent, frame);
	int err;

	for (uint64_t probe = 0; (*ret = hash_index_next(&t->by_step, hash, &probe)) != HASH_NONE;)
		if (t->node[*ret].parent == parent && t->node[*ret].frame == frame)
			return 0;
	err = node_new(t, parent, frame, ret);
	if (err)
		return err;
	return hash_index_add(&t->by_step, hash, *ret) ? 0 : fail(-ENOMEM, "out of memory");
}

int calltree_path(struct calltree *t, uint32_t root, const uint32_t *frames, unsigned int nr,
		  uint32_t *ret_node)
{
	uint32_t at = root;
	int err = 0;

	for (unsigned int i = 0; i < nr && !err; i++)
		err = step(t, at, frames[i], &at);
	*ret_node = at;
	return err;
}

void calltree_weigh(struct calltree *t, uint32_t node, uint64_t hits, double time_ns)
{
	t->node[node].hits += hits;
	t->node[node].time_ns += time_ns;
}

/* ---- finishing ---- */

/* A child's number is always larger than its parent's. */
static void sum_up(struct calltree *t)
{
	for (uint32_t i = t->nr_nodes; i-- > 0;) {
		struct calltree_node *n = &t->node[i];

		if (n->parent != CALLTREE_NONE) {
			t->node[n->parent].hits += n->hits;
			t->node[n->parent].time_ns += n->time_ns;
		}
	}
}

/* A node with exactly one child of equal hits and time is merged with it, repeatedly. */
static void merge_only_child(struct calltree *t, uint32_t i)
{
	struct calltree_node *n = &t->node[i];
	uint32_t *end = &n->tail;

	while (n->nr_children == 1) {
		struct calltree_node *c = &t->node[n->child];

		if (c->hits != n->hits || c->time_ns != n->time_ns)
			break;
		*end = n->child;
		end = &c->tail;
		n->child = c->child;
		n->nr_children = c->nr_children;
	}
}

static bool heavier(const struct calltree_node *a, const struct calltree_node *b)
{
	return a->time_ns != b->time_ns ? a->time_ns > b->time_ns : a->hits > b->hits;
}

/* Merge sort of a list of siblings: stable, and no memory of its own. */
static uint32_t sort_siblings(struct calltree *t, uint32_t first)
{
	uint32_t slow = first, fast, second;

	if (first == CALLTREE_NONE || t->node[first].sibling == CALLTREE_NONE)
		return first;
	for (fast = t->node[first].sibling;
	     fast != CALLTREE_NONE && (fast = t->node[fast].sibling) != CALLTREE_NONE;
	     fast = t->node[fast].sibling)
		slow = t->node[slow].sibling;
	second = t->node[slow].sibling;
	t->node[slow].sibling = CALLTREE_NONE;
	first = sort_siblings(t, first);
	second = sort_siblings(t, second);

	uint32_t head = CALLTREE_NONE, *end = &head;

	while (first != CALLTREE_NONE && second != CALLTREE_NONE) {
		uint32_t *from = heavier(&t->node[second], &t->node[first]) ? &second : &first;

		*end = *from;
		end = &t->node[*from].sibling;
		*from = *end;
	}
	*end = first != CALLTREE_NONE ? first : second;
	return head;
}

/* Roots of equal weight are in order of their creation, which is that of their nodes. */
static int by_weight(const void *a, const void *b, void *arg)
{
	const struct calltree *t = arg;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return heavier(&t->node[x], &t->node[y])   ? -1
	       : heavier(&t->node[y], &t->node[x]) ? 1
						   : order_u64(x, y);
}

void calltree_finish(struct calltree *t, const struct calltree_options *opt)
{
	t->opt = *opt;
	sum_up(t);
	for (uint32_t i = 0; i < t->nr_nodes; i++)
		merge_only_child(t, i);
	for (uint32_t i = 0; i < t->nr_nodes; i++)
		t->node[i].child = sort_siblings(t, t->node[i].child);
	if (t->nr_roots)
		qsort_r(t->root, t->nr_roots, sizeof(*t->root), by_weight, t);
}

/* ---- output ---- */

unsigned int calltree_nr_roots(const struct calltree *t)
{
	return t->nr_roots;
}

uint32_t calltree_root_at(const struct calltree *t, unsigned int i)
{
	return t->root[i];
}

int calltree_root_title(struct calltree *t, uint32_t root, const char *title)
{
	uint32_t number = 0;
	int err = calltree_frame(t, title, &number);

	t->node[root].title = err ? CALLTREE_NONE : number;
	return err;
}

const char *calltree_title(const struct calltree *t, uint32_t root)
{
	uint32_t title = t->node[root].title;

	return title == CALLTREE_NONE ? "" : t->frame[title];
}

uint64_t calltree_root_hits(const struct calltree *t, uint32_t root)
{
	return t->node[root].hits;
}
