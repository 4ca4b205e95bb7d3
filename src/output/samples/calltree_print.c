// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzers/profile/calltree_nodes.h"
#include "base/decimal.h"
#include "base/saturate.h"
#include "base/units.h"
#include "output/folded.h"
#include "output/samples/calltree_print.h"

enum { DEPTH_MAX = 512 /* levels that are drawn */ };

struct drawing {
	const struct calltree *t;
	const struct calltree_node *root;
	FILE *out;
	bool last[DEPTH_MAX]; /* by level: was that ancestor the last visible sibling? */
};

static bool visible(const struct drawing *d, const struct calltree_node *n)
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

static void draw_label(const struct drawing *d, const struct calltree_node *n, unsigned int level)
{
	const struct calltree_node *root = d->root;
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
	for (uint32_t i = n->tail; i != CALLTREE_NONE; i = d->t->node[i].tail) {
		draw_stems(d, level);
		fprintf(d->out, " %s\n", d->t->frame[d->t->node[i].frame]);
	}
}

static uint32_t next_visible(const struct drawing *d, uint32_t i)
{
	while (i != CALLTREE_NONE && !visible(d, &d->t->node[i]))
		i = d->t->node[i].sibling;
	return i;
}

static void draw_node(struct drawing *d, uint32_t number, unsigned int level)
{
	const struct calltree_node *n = &d->t->node[number];

	draw_label(d, n, level);
	if (level + 1 >= DEPTH_MAX || (d->t->opt.max_levels && level >= d->t->opt.max_levels))
		return;
	for (uint32_t i = next_visible(d, n->child), next; i != CALLTREE_NONE; i = next) {
		next = next_visible(d, d->t->node[i].sibling);
		draw_stems(d, level);
		fputs(next == CALLTREE_NONE ? " \\-- " : " |-- ", d->out);
		d->last[level + 1] = next == CALLTREE_NONE;
		draw_node(d, i, level + 1);
		if (next != CALLTREE_NONE) {
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
	const struct calltree_node *n = &d->t->node[number];
	json_t *tail = json_array(), *children = json_array();

	for (uint32_t i = n->tail; i != CALLTREE_NONE; i = d->t->node[i].tail)
		json_array_append_new(tail, json_string(d->t->frame[d->t->node[i].frame]));
	if (level + 1 < DEPTH_MAX && (!d->t->opt.max_levels || level < d->t->opt.max_levels))
		for (uint32_t i = next_visible(d, n->child); i != CALLTREE_NONE;
		     i = next_visible(d, d->t->node[i].sibling))
			json_array_append_new(children, node_json(d, i, level + 1));
	return json_pack("{s:s, s:I, s:I, s:o, s:o}", "name", d->t->frame[n->frame], "hits",
			 (json_int_t)n->hits, "time_ns", (json_int_t)n->time_ns, "tail", tail,
			 "children", children);
}

json_t *calltree_json(const struct calltree *t, uint32_t root)
{
	struct drawing d = {.t = t, .root = &t->node[root]};

	return visible(&d, d.root) ? node_json(&d, root, 0) : NULL;
}

struct folding {
	const struct calltree *t;
	FILE *out;
	const char *title;
	bool times;
	uint32_t path[DEPTH_MAX]; /* nodes that were not merged into their parent */
};

static void fold_line(const struct folding *f, unsigned int depth, uint64_t hits)
{
	const char *sep = "";

	if (f->title) {
		folded_frame_put(f->title, f->out);
		sep = ";";
	}
	for (unsigned int i = 0; i < depth; i++)
		for (uint32_t n = f->path[i]; n != CALLTREE_NONE; n = f->t->node[n].tail) {
			fputs(sep, f->out);
			folded_frame_put(f->t->frame[f->t->node[n].frame], f->out);
			sep = ";";
		}
	fprintf(f->out, " %llu\n", (unsigned long long)hits);
}

static uint64_t weight(const struct folding *f, uint32_t node)
{
	const struct calltree_node *n = &f->t->node[node];

	return f->times ? uint64_of_double(n->time_ns + 0.5) : n->hits;
}

/* Of a node without its children; rounded times may add up to more. */
static uint64_t own_weight(const struct folding *f, uint32_t node)
{
	uint64_t own = weight(f, node), children = 0;

	for (uint32_t i = f->t->node[node].child; i != CALLTREE_NONE; i = f->t->node[i].sibling)
		children += weight(f, i);
	return own > children ? own - children : 0;
}

static void fold_node(struct folding *f, uint32_t number, unsigned int depth)
{
	const struct calltree_node *n = &f->t->node[number];
	uint64_t own = own_weight(f, number);

	f->path[depth++] = number;
	for (uint32_t i = n->child; i != CALLTREE_NONE && depth < DEPTH_MAX;
	     i = f->t->node[i].sibling)
		fold_node(f, i, depth);
	if (own)
		fold_line(f, depth, own);
}

/* The root is not a frame, but frames may have been merged into it. */
void calltree_fold(const struct calltree *t, uint32_t root, const char *title, bool times,
		   FILE *out)
{
	struct folding f = {.t = t, .out = out, .title = title, .times = times};
	const struct calltree_node *r = &t->node[root];
	unsigned int depth = 0;
	uint64_t own = own_weight(&f, root);

	if (r->tail != CALLTREE_NONE)
		f.path[depth++] = r->tail;
	for (uint32_t i = r->child; i != CALLTREE_NONE; i = t->node[i].sibling)
		fold_node(&f, i, depth);
	if (own && r->tail != CALLTREE_NONE)
		fold_line(&f, depth, own);
}
