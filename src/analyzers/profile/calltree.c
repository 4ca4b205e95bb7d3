// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The nodes form a radix tree: a path that agrees with the beginning of a node's frames splits the node. Children of a
 * node are in a list in order of appearance, which is the order of those that weigh the same; where there are many, an
 * index finds them.
 */
#include "analyzers/profile/calltree.h"

#include <errno.h>

#include "base/array.h"
#include "base/error.h"
#include "base/order.h"

enum { LISTED_MAX = 4 }; /* children that are found in their list: nearly always all */

/* Bytes of memory, with those of the hash tables; arrays and tables are half used on average. */
enum { TEXT_COST = 128, PATH_COST = 48, SUM_COST = 240 /* with up to two nodes */ };
enum { ALLOCATIONS_MIB_MAX = 256 };

const char *const allocators[ALLOCATORS] = {"kmalloc", "large", "mempool", "page", "slab"};

struct known_text {
	char *text; /* of calltree.text */
	uint32_t frame;
};

/* Grows the array for element `nr`, which must be below max. */
#define bounded_room(array, nr, max)                                                               \
	((nr) == (max) ? fail(-E2BIG, "a profile of more than %u nodes", (max))                    \
		       : array_room(array, nr))

int calltree_open(const struct calltree_options *opt, struct calltree **ret)
{
	struct calltree *t = calloc(1, sizeof(*t));

	if (!t)
		return fail(-ENOMEM, "out of memory");
	t->opt = *opt;
	t->max_bytes = (opt->allocations ? (size_t)ALLOCATIONS_MIB_MAX : CALLTREE_MIB_MAX) << 20;
	t->by_text = HASH_TABLE_OF_TEXTS(struct known_text, CALLTREE_TEXTS_MAX);
	t->by_frames = HASH_INDEX(CALLTREE_PATHS_MAX);
	t->by_path = HASH_INDEX(CALLTREE_SUMS_MAX);
	t->children = HASH_INDEX(CALLTREE_NODES_MAX);
	*ret = t;
	return 0;
}

void calltree_close(struct calltree *t)
{
	if (!t)
		return;
	for (uint32_t i = 0; i < t->nr_texts; i++)
		free(t->text[i]);
	free(t->text);
	free(t->step);
	free(t->path);
	free(t->sum);
	free(t->node);
	free(t->root);
	hash_deinit(&t->by_text);
	hash_index_deinit(&t->by_frames);
	hash_index_deinit(&t->by_path);
	hash_index_deinit(&t->children);
	free(t);
}

/* ---- frames and paths ---- */

static const char beyond[] = "[beyond the memory limit of a profile]";

/* False, and nothing is reserved: that is beyond the limit. */
static bool memory_reserve(struct calltree *t, size_t bytes)
{
	bool fits = bytes <= t->max_bytes - t->bytes;

	t->bytes += fits ? bytes : 0;
	return fits;
}

int calltree_frame(struct calltree *t, const char *text, uint32_t *ret)
{
	struct known_text *known = hash_find_text(&t->by_text, text);
	int err;

	if (!known && text != beyond &&
	    (t->nr_texts >= CALLTREE_TEXTS_MAX - 1 ||
	     !memory_reserve(t, TEXT_COST + strlen(text))))
		return calltree_frame(t, beyond, ret);
	err = known ? 0 : bounded_room(t->text, t->nr_texts, CALLTREE_TEXTS_MAX);
	if (err)
		return err;
	if (!known) {
		char *copy = strdup(text);

		known = copy ? hash_add_text(&t->by_text, copy, NULL) : NULL;
		if (!known) {
			free(copy);
			return fail(-ENOMEM, "out of memory");
		}
		known->frame = t->nr_texts;
		t->text[t->nr_texts++] = copy;
	}
	*ret = known->frame;
	return 0;
}

static uint64_t path_hash(const uint32_t *frames, uint32_t nr)
{
	return hash_keyed_bytes(frames, nr * sizeof(*frames));
}

static bool path_find(const struct calltree *t, const uint32_t *frames, uint32_t nr, uint32_t *ret)
{
	uint64_t hash = path_hash(frames, nr);

	for (uint64_t probe = 0;
	     (*ret = hash_index_next(&t->by_frames, hash, &probe)) != HASH_NONE;)
		if (t->path[*ret].nr == nr &&
		    !memcmp(t->step + t->path[*ret].at, frames, nr * sizeof(*frames)))
			return true;
	return false;
}

static int path_add(struct calltree *t, const uint32_t *frames, uint32_t nr, uint32_t *ret)
{
	const struct calltree_path path = {.at = t->nr_steps, .nr = nr};
	int err = bounded_room(t->path, t->nr_paths, CALLTREE_PATHS_MAX);

	for (uint32_t i = 0; i < nr && !err; i++) {
		err = bounded_room(t->step, t->nr_steps, CALLTREE_STEPS_MAX);
		if (!err)
			t->step[t->nr_steps++] = frames[i];
	}
	if (!err && !hash_index_add(&t->by_frames, path_hash(frames, nr), t->nr_paths))
		err = fail(-ENOMEM, "out of memory");
	*ret = t->nr_paths;
	if (!err)
		t->path[t->nr_paths++] = path;
	return err;
}

static int path_beyond(struct calltree *t, uint32_t *ret)
{
	uint32_t frame;
	int err = calltree_frame(t, beyond, &frame);

	return err || path_find(t, &frame, 1, ret) ? err : path_add(t, &frame, 1, ret);
}

int calltree_path(struct calltree *t, const uint32_t *frames, uint32_t nr, uint32_t *ret)
{
	if (path_find(t, frames, nr, ret))
		return 0;
	return memory_reserve(t, PATH_COST + nr * sizeof(*frames)) ? path_add(t, frames, nr, ret)
								   : path_beyond(t, ret);
}

static bool sum_find(const struct calltree *t, uint32_t root, uint32_t path, uint32_t *ret)
{
	uint64_t hash = hash_keyed_pair(root, path);

	for (uint64_t probe = 0;
	     (*ret = hash_index_next(&t->by_path, hash, &probe)) != HASH_NONE;)
		if (t->sum[*ret].root == root && t->sum[*ret].path == path)
			return true;
	return false;
}

/* The number of the sum of this path below this root; a new one if it has none. */
static int sum_of(struct calltree *t, uint32_t root, uint32_t path, uint32_t *ret)
{
	int err = 0;

	if (sum_find(t, root, path, ret))
		return 0;
	if (!memory_reserve(t, SUM_COST)) {
		err = path_beyond(t, &path);
		if (err || sum_find(t, root, path, ret))
			return err;
	}
	err = err ? err : bounded_room(t->sum, t->nr_sums, CALLTREE_SUMS_MAX);
	if (!err && !hash_index_add(&t->by_path, hash_keyed_pair(root, path), t->nr_sums))
		err = fail(-ENOMEM, "out of memory");
	if (err)
		return err;
	*ret = t->nr_sums++;
	t->sum[*ret] = (struct calltree_sum){.root = root, .path = path};
	return 0;
}

int calltree_weigh(struct calltree *t, uint32_t root, uint32_t path, uint64_t hits, double time_ns)
{
	uint32_t known = t->path[path].sum;

	if (!known || t->sum[known - 1].root != root) {
		uint32_t i;
		int err = sum_of(t, root, path, &i);

		if (err)
			return err;
		known = t->path[path].sum = i + 1; /* the path may be another place: one was added */
	}
	t->sum[known - 1].hits += hits;
	t->sum[known - 1].time_ns += time_ns;
	return 0;
}

/* ---- nodes ---- */

/* What distinguishes a node from its siblings; below one parent are either groups or frames. */
static uint64_t value_of(const struct calltree *t, const struct calltree_node *n)
{
	return n->nr_frames ? t->step[n->frames] : n->value;
}

static int child_index(struct calltree *t, uint32_t number)
{
	const struct calltree_node *n = &t->node[number];

	return hash_index_add(&t->children, hash_keyed_pair(n->parent_id, value_of(t, n)), number)
		       ? 0
		       : fail(-ENOMEM, "out of memory");
}

/* CALLTREE_NONE: no child has this value yet. */
static uint32_t child_find(const struct calltree *t, uint32_t parent, uint64_t value)
{
	const struct calltree_node *p = &t->node[parent];
	uint64_t hash = hash_keyed_pair(p->id, value);
	uint32_t i = p->child;

	if (p->nr_children <= LISTED_MAX) {
		while (i != CALLTREE_NONE && value_of(t, &t->node[i]) != value)
			i = t->node[i].sibling;
		return i;
	}
	for (uint64_t probe = 0; (i = hash_index_next(&t->children, hash, &probe)) != HASH_NONE;)
		if (t->node[i].parent_id == p->id && value_of(t, &t->node[i]) == value)
			return i;
	return CALLTREE_NONE;
}

static uint32_t node_new(struct calltree *t, const struct calltree_node *like)
{
	struct calltree_node *n = &t->node[t->nr_nodes];

	*n = *like;
	n->id = t->nr_nodes;
	n->child = n->last_child = n->sibling = CALLTREE_NONE;
	return t->nr_nodes++;
}

static int child_append(struct calltree *t, uint32_t parent, uint32_t number)
{
	struct calltree_node *p = &t->node[parent];
	int err = 0;

	if (p->child == CALLTREE_NONE)
		p->child = number;
	else
		t->node[p->last_child].sibling = number;
	p->last_child = number;
	p->nr_children++;
	if (p->nr_children > LISTED_MAX + 1)
		return child_index(t, number);
	if (p->nr_children == LISTED_MAX + 1)
		for (uint32_t i = p->child; i != CALLTREE_NONE && !err; i = t->node[i].sibling)
			err = child_index(t, i);
	return err;
}

/* The child of `parent` that begins as `like` does; a new one is like it. */
static int child_of(struct calltree *t, uint32_t parent, struct calltree_node like, uint32_t *ret)
{
	*ret = child_find(t, parent, value_of(t, &like));
	if (*ret != CALLTREE_NONE)
		return 0;
	int err = bounded_room(t->node, t->nr_nodes, CALLTREE_NODES_MAX);

	if (err)
		return err;
	like.parent_id = t->node[parent].id;
	*ret = node_new(t, &like);
	return child_append(t, parent, *ret);
}

/* The first `keep` frames stay in the node; the others move to a new child, with all nodes below. */
static int node_split(struct calltree *t, uint32_t number, uint32_t keep)
{
	int err = bounded_room(t->node, t->nr_nodes, CALLTREE_NODES_MAX);

	if (err)
		return err;
	uint32_t low = node_new(t, &t->node[number]), id = t->node[low].id;
	struct calltree_node *n = &t->node[number], *l = &t->node[low];

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

static uint32_t common_length(const struct calltree *t, const struct calltree_node *n, uint32_t at,
			      uint32_t nr)
{
	uint32_t i = 0;

	if (nr > n->nr_frames)
		nr = n->nr_frames;
	while (i < nr && t->step[n->frames + i] == t->step[at + i])
		i++;
	return i;
}

static int frames_add(struct calltree *t, uint32_t parent, struct calltree_path path, uint64_t hits,
		      double time_ns)
{
	while (path.nr) {
		int err = child_of(t, parent, (struct calltree_node){.frames = path.at,
						      .nr_frames = path.nr, .tail = CALLTREE_NONE},
				   &parent);

		if (err)
			return err;
		uint32_t same = common_length(t, &t->node[parent], path.at, path.nr);

		err = same < t->node[parent].nr_frames ? node_split(t, parent, same) : 0;
		if (err)
			return err;
		t->node[parent].hits += hits;
		t->node[parent].time_ns += time_ns;
		path.at += same;
		path.nr -= same;
	}
	return 0;
}

int calltree_root(struct calltree *t, uint32_t *ret)
{
	int err = bounded_room(t->root, t->nr_roots, CALLTREE_NODES_MAX);

	if (!err)
		err = bounded_room(t->node, t->nr_nodes, CALLTREE_NODES_MAX);
	if (err)
		return err;
	*ret = node_new(t, &(struct calltree_node){.value = CALLTREE_NONE, .tail = CALLTREE_NONE});
	t->root[t->nr_roots++] = *ret;
	return 0;
}

int calltree_title(struct calltree *t, uint32_t root, const char *title)
{
	uint32_t frame = CALLTREE_NONE;
	int err = calltree_frame(t, title, &frame);

	t->node[root].value = frame;
	return err;
}

int calltree_allocation(struct calltree *t, const uint64_t values[ALLOCATION_KEYS], uint32_t path)
{
	struct calltree_path p = path == CALLTREE_NONE ? (struct calltree_path){0} : t->path[path];
	uint32_t group = t->root[0];
	int err = 0;

	for (unsigned int i = 0; i < t->opt.nr_keys && !err; i++)
		err = child_of(t, group, (struct calltree_node){.key = t->opt.keys[i],
						 .value = values[t->opt.keys[i]]}, &group);
	if (t->opt.max_levels && p.nr > t->opt.max_levels)
		p.nr = t->opt.max_levels;
	if (!err)
		err = frames_add(t, group, p, 1, 0);
	if (err)
		return err;
	struct calltree_node *g = &t->node[group];

	g->hits++;
	g->allocated_bytes += values[ALLOCATION_ALLOCATED];
	g->unused_bytes +=
		(__int128)values[ALLOCATION_ALLOCATED] - (__int128)values[ALLOCATION_REQUESTED];
	return 0;
}

/* ---- finishing ---- */

/*
 * Merges a frame of an allocation with its only child. OSv's tool does so whatever the child's count is, and drops the
 * child's children: so only a node of one frame with no or several children keeps them.
 */
static void merge_only_child_compat(struct calltree *t, uint32_t number)
{
	struct calltree_node *n = &t->node[number];

	for (uint32_t i = n->child; i != CALLTREE_NONE; i = t->node[i].sibling)
		merge_only_child_compat(t, i);
	if (n->nr_children != 1 && n->nr_frames == 1)
		return;
	if (n->nr_children == 1)
		n->tail = n->child;
	n->child = CALLTREE_NONE;
	n->nr_children = 0;
}

static void groups_sum_up(struct calltree *t, uint32_t number)
{
	struct calltree_node *n = &t->node[number];

	for (uint32_t i = n->child; i != CALLTREE_NONE; i = t->node[i].sibling) {
		const struct calltree_node *c = &t->node[i];

		if (c->nr_frames) {
			if (!t->opt.compat)
				return;
			merge_only_child_compat(t, i);
			continue;
		}
		groups_sum_up(t, i);
		n->hits += c->hits;
		n->allocated_bytes += c->allocated_bytes;
		n->unused_bytes += c->unused_bytes;
	}
}

/* A node with exactly one child of equal hits and time is merged with it, repeatedly. */
static void merge_only_child(struct calltree *t, struct calltree_node *n)
{
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

double calltree_unused_percent(const struct calltree_node *n)
{
	return n->allocated_bytes ? (double)n->unused_bytes * 100 / (double)n->allocated_bytes : 0;
}

/* Does b come before a, which appeared earlier? */
static bool goes_before(const struct calltree *t, const struct calltree_node *b,
			const struct calltree_node *a)
{
	if (!t->opt.allocations && b->time_ns != a->time_ns)
		return b->time_ns > a->time_ns;
	if (!t->opt.allocations || b->nr_frames || t->opt.sort == ALLOCATIONS_BY_COUNT)
		return b->hits > a->hits;
	if (t->opt.sort == ALLOCATIONS_BY_UNUSED)
		return calltree_unused_percent(b) > calltree_unused_percent(a);
	return b->value < a->value;
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
		uint32_t *from =
			goes_before(t, &t->node[second], &t->node[first]) ? &second : &first;

		*end = *from;
		end = &t->node[*from].sibling;
		*from = *end;
	}
	*end = first != CALLTREE_NONE ? first : second;
	return head;
}

static void node_finish(struct calltree *t, uint32_t number)
{
	struct calltree_node *n = &t->node[number];

	if (!t->opt.allocations)
		merge_only_child(t, n);
	n->child = sort_siblings(t, n->child);
	for (uint32_t i = n->child; i != CALLTREE_NONE; i = t->node[i].sibling)
		node_finish(t, i);
}

/* Roots of equal weight are in order of their creation, which is that of their nodes. */
static int by_weight(const void *a, const void *b, void *arg)
{
	const struct calltree *t = arg;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return goes_before(t, &t->node[x], &t->node[y])   ? -1
	       : goes_before(t, &t->node[y], &t->node[x]) ? 1
							  : order_u64(x, y);
}

int calltree_finish(struct calltree *t)
{
	int err = 0;

	for (uint32_t i = 0; i < t->nr_sums && !err; i++) {
		const struct calltree_sum *s = &t->sum[i];

		t->node[s->root].hits += s->hits;
		t->node[s->root].time_ns += s->time_ns;
		err = frames_add(t, s->root, t->path[s->path], s->hits, s->time_ns);
	}
	for (unsigned int i = 0; i < t->nr_roots && !err; i++) {
		if (t->opt.allocations)
			groups_sum_up(t, t->root[i]);
		node_finish(t, t->root[i]);
	}
	if (t->nr_roots)
		qsort_r(t->root, t->nr_roots, sizeof(*t->root), by_weight, t);
	return err;
}

/* ---- a finished tree ---- */

bool calltree_visible(const struct calltree *t, const struct calltree_node *n,
		      const struct calltree_node *of)
{
	const struct calltree_options *o = &t->opt;

	if (o->allocations && !n->nr_frames)
		return n->hits >= o->min_count;
	if (n->hits < o->min_hits)
		return false;
	if (o->allocations)
		return (double)(n->hits * 100) / (double)of->hits >= o->min_hits_percent;
	return n->time_ns >= o->min_time_ns &&
	       (o->min_hits_percent <= 0 ||
		(double)n->hits / (double)of->hits * 100 >= o->min_hits_percent);
}

const char *calltree_next(const struct calltree *t, struct calltree_at *at)
{
	while (at->node && at->i >= at->node->nr_frames) {
		uint32_t tail = at->node->tail;

		*at = (struct calltree_at){tail == CALLTREE_NONE ? NULL : &t->node[tail], 0};
	}
	return at->node ? t->text[t->step[at->node->frames + at->i++]] : NULL;
}

const char *calltree_root_title(const struct calltree *t, uint32_t root)
{
	uint64_t title = t->node[root].value;

	return title == CALLTREE_NONE ? "" : t->text[title];
}

uint64_t calltree_hits(const struct calltree *t)
{
	uint64_t hits = 0;

	for (unsigned int i = 0; i < t->nr_roots; i++)
		hits += t->node[t->root[i]].hits;
	return hits;
}
