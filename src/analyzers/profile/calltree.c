// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyzers/profile/calltree.h"
#include "base/array.h"
#include "base/decimal.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/units.h"

enum { NONE = UINT32_MAX, DEPTH_MAX = 512 /* levels that are drawn */ };

struct node {
	uint32_t frame, parent, child, last_child, sibling; /* node numbers or NONE */
	uint32_t tail; /* first of the swallowed nodes, chained through their own tail */
	uint32_t nr_children;
	uint32_t title; /* of a root: a frame number, or NONE */
	uint64_t hits;
	double time_ns;
};

struct known_text {
	char *text; /* of `frame` */
	uint32_t frame;
};

struct known_step {
	uint64_t key; /* parent and frame */
	uint32_t node;
};

struct calltree {
	struct node *node;
	uint32_t nr_nodes;
	char **frame;
	uint32_t nr_frames;
	struct hash_table by_text, by_step;
	uint32_t *root;
	unsigned int nr_roots;
	struct calltree_options opt;
};

int calltree_open(struct calltree **ret)
{
	_cleanup_(calltree_cleanup_) struct calltree *t = calloc(1, sizeof(*t));

	if (!t)
		return fail(-ENOMEM, "out of memory");
	t->by_text = HASH_TABLE_OF_TEXTS(struct known_text, CALLTREE_FRAMES_MAX);
	t->by_step = HASH_TABLE(struct known_step, 1, CALLTREE_NODES_MAX);
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
	hash_deinit(&t->by_step);
	free(t);
}

/* Makes room for element `nr`, which must be below max. */
#define bounded_room(array, nr, max) \
	((nr) == (max) ? fail(-E2BIG, "a profile of more than %u nodes", (max)) \
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
	t->node[*ret] = (struct node){.frame = frame,
				      .parent = parent,
				      .child = NONE,
				      .last_child = NONE,
				      .sibling = NONE,
				      .tail = NONE,
				      .title = NONE};
	if (parent == NONE)
		return 0;
	struct node *p = &t->node[parent];

	if (p->last_child == NONE)
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
		err = node_new(t, NONE, frame, ret_node);
	if (!err)
		t->root[t->nr_roots++] = *ret_node;
	return err;
}

static int step(struct calltree *t, uint32_t parent, uint32_t frame, uint32_t *ret)
{
	uint64_t key = (uint64_t)parent << 32 | frame;
	struct known_step *known = hash_find_u64(&t->by_step, key);

	if (known) {
		*ret = known->node;
		return 0;
	}
	int err = node_new(t, parent, frame, ret);

	if (err)
		return err;
	known = hash_add_u64(&t->by_step, key, NULL);
	if (!known)
		return fail(-ENOMEM, "out of memory");
	known->node = *ret;
	return 0;
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
		struct node *n = &t->node[i];

		if (n->parent != NONE) {
			t->node[n->parent].hits += n->hits;
			t->node[n->parent].time_ns += n->time_ns;
		}
	}
}

/* A node with exactly one child of equal hits and time takes it in, and so on. */
static void swallow(struct calltree *t, uint32_t i)
{
	struct node *n = &t->node[i];
	uint32_t *end = &n->tail;

	while (n->nr_children == 1) {
		struct node *c = &t->node[n->child];

		if (c->hits != n->hits || c->time_ns != n->time_ns)
			break;
		*end = n->child;
		end = &c->tail;
		n->child = c->child;
		n->nr_children = c->nr_children;
	}
}

static bool heavier(const struct node *a, const struct node *b)
{
	return a->time_ns != b->time_ns ? a->time_ns > b->time_ns : a->hits > b->hits;
}

/* Merge sort of a list of siblings: stable, and no memory of its own. */
static uint32_t sort_siblings(struct calltree *t, uint32_t first)
{
	uint32_t slow = first, fast, second;

	if (first == NONE || t->node[first].sibling == NONE)
		return first;
	for (fast = t->node[first].sibling; fast != NONE && (fast = t->node[fast].sibling) != NONE;
	     fast = t->node[fast].sibling)
		slow = t->node[slow].sibling;
	second = t->node[slow].sibling;
	t->node[slow].sibling = NONE;
	first = sort_siblings(t, first);
	second = sort_siblings(t, second);

	uint32_t head = NONE, *end = &head;

	while (first != NONE && second != NONE) {
		uint32_t *from = heavier(&t->node[second], &t->node[first]) ? &second : &first;

		*end = *from;
		end = &t->node[*from].sibling;
		*from = *end;
	}
	*end = first != NONE ? first : second;
	return head;
}

static void sort_roots(struct calltree *t)
{
	for (unsigned int i = 1; i < t->nr_roots; i++) { /* a few groups: insertion, stable */
		uint32_t r = t->root[i];
		unsigned int j = i;

		for (; j > 0 && heavier(&t->node[r], &t->node[t->root[j - 1]]); j--)
			t->root[j] = t->root[j - 1];
		t->root[j] = r;
	}
}

void calltree_finish(struct calltree *t, const struct calltree_options *opt)
{
	t->opt = *opt;
	sum_up(t);
	for (uint32_t i = 0; i < t->nr_nodes; i++)
		swallow(t, i);
	for (uint32_t i = 0; i < t->nr_nodes; i++)
		t->node[i].child = sort_siblings(t, t->node[i].child);
	sort_roots(t);
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

	t->node[root].title = err ? NONE : number;
	return err;
}

const char *calltree_title(const struct calltree *t, uint32_t root)
{
	uint32_t title = t->node[root].title;

	return title == NONE ? "" : t->frame[title];
}

struct drawing {
	const struct calltree *t;
	const struct node *root;
	FILE *out;
	bool last[DEPTH_MAX]; /* by level: was that ancestor the last visible sibling? */
};

static bool visible(const struct drawing *d, const struct node *n)
{
	const struct calltree_options *o = &d->t->opt;

	return n->time_ns >= o->min_time_ns && n->hits >= o->min_hits &&
	       (o->min_hits_percent <= 0 ||
		(double)n->hits / (double)d->root->hits * 100 >= o->min_hits_percent);
}

static void draw_stems(const struct drawing *d, unsigned int levels)
{
	for (unsigned int i = 1; i <= levels; i++)
		fputs(d->last[i] ? "     " : " |   ", d->out);
}

static void draw_label(const struct drawing *d, const struct node *n, unsigned int level)
{
	const struct node *root = d->root;
	double percent = root->time_ns != 0
				 ? 100 * n->time_ns / root->time_ns
				 : 100 * (double)n->hits / (double)(root->hits ? root->hits : 1);
	char time[32], buf[32];

	if (root->time_ns != 0)
		fprintf(d->out, "%s ", duration_print_wide(n->time_ns, time, sizeof(time)));
	fprintf(d->out, "(%s%%, #%llu) ", decimal_print(percent, 2, buf, sizeof(buf)),
		(unsigned long long)n->hits);
	fputs_unlocked(d->t->frame[n->frame], d->out);
	putc_unlocked('\n', d->out);
	for (uint32_t i = n->tail; i != NONE; i = d->t->node[i].tail) {
		draw_stems(d, level);
		fprintf(d->out, " %s\n", d->t->frame[d->t->node[i].frame]);
	}
}

static uint32_t next_visible(const struct drawing *d, uint32_t i)
{
	while (i != NONE && !visible(d, &d->t->node[i]))
		i = d->t->node[i].sibling;
	return i;
}

static void draw_node(struct drawing *d, uint32_t number, unsigned int level)
{
	const struct node *n = &d->t->node[number];

	draw_label(d, n, level);
	if (level + 1 >= DEPTH_MAX || (d->t->opt.max_levels && level >= d->t->opt.max_levels))
		return;
	for (uint32_t i = next_visible(d, n->child), next; i != NONE; i = next) {
		next = next_visible(d, d->t->node[i].sibling);
		draw_stems(d, level);
		fputs(next == NONE ? " \\-- " : " |-- ", d->out);
		d->last[level + 1] = next == NONE;
		draw_node(d, i, level + 1);
		if (next != NONE) {
			draw_stems(d, level);
			fputs(" |   \n", d->out);
		}
	}
}

void calltree_print(const struct calltree *t, uint32_t root, FILE *out)
{
	struct drawing d = {.t = t, .root = &t->node[root], .out = out};

	if (visible(&d, d.root))
		draw_node(&d, root, 0);
}

static json_t *node_json(const struct drawing *d, uint32_t number, unsigned int level)
{
	const struct node *n = &d->t->node[number];
	json_t *tail = json_array(), *children = json_array();

	for (uint32_t i = n->tail; i != NONE; i = d->t->node[i].tail)
		json_array_append_new(tail, json_string(d->t->frame[d->t->node[i].frame]));
	if (level + 1 < DEPTH_MAX && (!d->t->opt.max_levels || level < d->t->opt.max_levels))
		for (uint32_t i = next_visible(d, n->child); i != NONE;
		     i = next_visible(d, d->t->node[i].sibling))
			json_array_append_new(children, node_json(d, i, level + 1));
	return json_pack("{s:s, s:I, s:I, s:o, s:o}", "name", d->t->frame[n->frame], "hits",
			 (json_int_t)n->hits, "time_ns", (json_int_t)n->time_ns, "tail", tail,
			 "children", children);
}

json_t *calltree_json(const struct calltree *t, uint32_t root)
{
	struct drawing d = {.t = t, .root = &t->node[root]};

	return node_json(&d, root, 0);
}

/* ';' parts the frames of a line, so it must not be in their names. */
static void put_frame(const char *text, FILE *out)
{
	for (; *text; text++)
		fputc(*text == ';' ? ':' : *text, out);
}

struct folding {
	const struct calltree *t;
	FILE *out;
	const char *title;
	uint32_t path[DEPTH_MAX]; /* nodes that are not swallowed */
};

static void fold_line(const struct folding *f, unsigned int depth, uint64_t hits)
{
	const char *sep = "";

	if (f->title) {
		put_frame(f->title, f->out);
		sep = ";";
	}
	for (unsigned int i = 0; i < depth; i++)
		for (uint32_t n = f->path[i]; n != NONE; n = f->t->node[n].tail) {
			fputs(sep, f->out);
			put_frame(f->t->frame[f->t->node[n].frame], f->out);
			sep = ";";
		}
	fprintf(f->out, " %llu\n", (unsigned long long)hits);
}

static void fold_node(struct folding *f, uint32_t number, unsigned int depth)
{
	const struct node *n = &f->t->node[number];
	uint64_t own = n->hits;

	f->path[depth++] = number;
	for (uint32_t i = n->child; i != NONE; i = f->t->node[i].sibling) {
		own -= f->t->node[i].hits;
		if (depth < DEPTH_MAX)
			fold_node(f, i, depth);
	}
	if (own)
		fold_line(f, depth, own);
}

/* The root is no frame, but it may have swallowed some. */
void calltree_fold(const struct calltree *t, uint32_t root, const char *title, FILE *out)
{
	struct folding f = {.t = t, .out = out, .title = title};
	const struct node *r = &t->node[root];
	unsigned int depth = 0;
	uint64_t own = r->hits;

	if (r->tail != NONE)
		f.path[depth++] = r->tail;
	for (uint32_t i = r->child; i != NONE; i = t->node[i].sibling) {
		own -= t->node[i].hits;
		fold_node(&f, i, depth);
	}
	if (own && r->tail != NONE)
		fold_line(&f, depth, own);
}
