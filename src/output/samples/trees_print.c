// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Call trees: of profiles and of allocations as text and JSON, and folded for flame graphs. As OSv's tool draws them:
 *
 *   25.23 ms (100.00%, #234) All
 *    sched::thread::wait()                           merged: the only child, of equal weight
 *    |-- 9.79 ms (38.78%, #80) sleep_impl(int)
 *    |    \-- 6.16 ms (24.42%, #53) worker_loop
 *    |
 *    \-- 15.44 ms (61.22%, #154) app_main
 *
 * A node begins below the stems of its ancestors, and so do its further lines. Allocations have groups as well, with
 * lines for their count and unused bytes.
 */
#include <inttypes.h>

#include "base/json_text.h"
#include "base/saturate.h"
#include "base/units.h"
#include "output/folded.h"
#include "output/report/page.h"
#include "output/samples/samples_output.h"

enum { DEPTH_MAX = 512, STEM = 5 }; /* levels that are drawn; columns of each */
enum { NODE_BYTES_MIN = 56 };	    /* of a node's JSON: its keys */

static const char *const group_words[] = {[ALLOCATION_ALIGNMENT] = " alignment",
					  [ALLOCATION_ALLOCATED] = " allocated",
					  [ALLOCATION_REQUESTED] = " requested"};

struct drawing {
	const struct calltree *t;
	const struct calltree_node *root;
	struct text_out text;
	char stems[STEM * DEPTH_MAX]; /* of the ancestors, from level 1 on */
};

/* What the percentages of a node's children refer to: the root, or the innermost group. */
static const struct calltree_node *whole_of(const struct calltree_node *n,
					    const struct calltree_node *above)
{
	return n->nr_frames ? above : n;
}

static uint32_t next_visible(const struct calltree *t, uint32_t i, const struct calltree_node *of)
{
	while (i != CALLTREE_NONE &&
	       !calltree_visible(t, &t->node[i], whole_of(&t->node[i], of)))
		i = t->node[i].sibling;
	return i;
}

static bool goes_deeper(const struct calltree *t, unsigned int level)
{
	unsigned int max = t->opt.allocations ? 0 : t->opt.max_levels;

	return level + 1 < DEPTH_MAX && (!max || level < max);
}

/* The name of a root, or of a group of allocations. */
static char *put_group(const struct calltree *t, char *p, const struct calltree_node *n)
{
	if (!t->opt.allocations || n == &t->node[t->root[0]])
		return put_text(p, "All");
	if (n->key == ALLOCATION_ALLOCATOR)
		return put_text(p, allocators[n->value]);
	return put_text(put_dec(p, n->value), group_words[n->key]);
}

/* ---- text ---- */

/* A further line below so many ancestors. */
static char *begin_line(struct drawing *d, unsigned int level)
{
	text_out_reserve(&d->text);
	return put_bytes(d->text.pos, d->stems, STEM * (size_t)level);
}

static void end_line(struct drawing *d, char *p)
{
	*p++ = '\n';
	d->text.pos = p;
}

static char *put_percent(char *p, double percent)
{
	char buf[64];

	*p++ = '(';
	return put_text(p, decimal_print(percent, 2, buf, sizeof(buf)));
}

/* The first name is on the line that was begun, the others on lines of their own after `indent`. */
static void draw_names(struct drawing *d, char *p, struct calltree_at at, unsigned int level,
		       const char *indent)
{
	const char *name = at.node->nr_frames ? calltree_next(d->t, &at) : "All";

	end_line(d, put_text(p, name));
	while ((name = calltree_next(d->t, &at)))
		end_line(d, put_text(put_text(begin_line(d, level), indent), name));
}

static void draw_sample(struct drawing *d, const struct calltree_node *n, unsigned int level)
{
	const struct calltree_node *root = d->root;
	char *p = d->text.pos, time[32];

	if (root->time_ns != 0) {
		p = put_text(p, duration_print_wide(n->time_ns, time, sizeof(time)));
		*p++ = ' ';
	}
	p = put_percent(p, root->time_ns != 0
				   ? 100 * n->time_ns / root->time_ns
				   : 100 * (double)n->hits / (double)(root->hits ? root->hits : 1));
	p = put_text(put_dec(put_text(p, "%, #"), n->hits), ") ");
	draw_names(d, p, (struct calltree_at){n}, level, " ");
}

static void draw_allocation(struct drawing *d, const struct calltree_node *n, unsigned int level,
			    const struct calltree_node *of)
{
	if (n->nr_frames) {
		char *p = put_percent(d->text.pos, (double)(n->hits * 100) / (double)of->hits);

		p = put_text(put_dec(put_text(p, "% #"), n->hits), ") ");
		draw_names(d, p, (struct calltree_at){n}, level, "");
		return;
	}
	end_line(d, put_group(d->t, d->text.pos, n));
	end_line(d, put_dec(put_text(begin_line(d, level), "count: "), n->hits));
	if (n->unused_bytes > 0) {
		char *p = put_text(begin_line(d, level), "unused: ");

		p = put_dec(p, uint32_of_double(calltree_unused_percent(n)));
		end_line(d, put_text(p, "%"));
	}
}

static void draw_node(struct drawing *d, uint32_t number, unsigned int level,
		      const struct calltree_node *of)
{
	const struct calltree_node *n = &d->t->node[number];

	of = whole_of(n, of);
	if (d->t->opt.allocations)
		draw_allocation(d, n, level, of);
	else
		draw_sample(d, n, level);
	if (!goes_deeper(d->t, level))
		return;
	for (uint32_t i = next_visible(d->t, n->child, of), next; i != CALLTREE_NONE; i = next) {
		next = next_visible(d->t, d->t->node[i].sibling, of);
		d->text.pos = put_text(begin_line(d, level),
				       next == CALLTREE_NONE ? " \\-- " : " |-- ");
		memcpy(d->stems + STEM * level, next == CALLTREE_NONE ? "     " : " |   ", STEM);
		draw_node(d, i, level + 1, of);
		if (next != CALLTREE_NONE)
			end_line(d, put_text(begin_line(d, level), " |   "));
	}
}

static int trees_draw(const struct calltree *t, bool grouped, FILE *out)
{
	struct drawing d = {.t = t};
	int err = text_out_open(&d.text, out);

	for (unsigned int i = 0; i < t->nr_roots && !err; i++) {
		d.root = &t->node[t->root[i]];
		text_out_reserve(&d.text);
		if (grouped) {
			end_line(&d, put_text(put_text(put_text(d.text.pos, "\n=== "),
						       calltree_root_title(t, t->root[i])),
					      " ===\n"));
			text_out_reserve(&d.text);
		}
		if (calltree_visible(t, d.root, d.root))
			draw_node(&d, t->root[i], 0, d.root);
	}
	text_out_close(&d.text);
	return err;
}

/* ---- JSON ---- */

/* Beyond 64 bits, which no memory has: the limit. */
static json_t *bytes_json(__int128 n)
{
	if (n < 0)
		return json_integer(n < INT64_MIN ? INT64_MIN : (json_int_t)n);
	return json_u64(n > UINT64_MAX ? UINT64_MAX : (uint64_t)n);
}

static json_t *group_json(const struct calltree *t, const struct calltree_node *n)
{
	char name[64];

	*put_group(t, name, n) = '\0';
	return json_pack("{s:o, s:I, s:o, s:o}", "name", text_json(name), "count",
			 (json_int_t)n->hits, "allocated_bytes",
			 bytes_json((__int128)n->allocated_bytes), "unused_bytes",
			 bytes_json(n->unused_bytes));
}

static json_t *frames_json(const struct calltree *t, const struct calltree_node *n)
{
	struct calltree_at at = {n};
	const char *name = n->nr_frames ? calltree_next(t, &at) : "All";
	json_t *o = json_pack("{s:o, s:I}", "name", text_json(name), "hits", (json_int_t)n->hits);
	json_t *tail = json_array();

	while ((name = calltree_next(t, &at)))
		json_array_append_new(tail, text_json(name));
	if (!t->opt.allocations)
		json_object_set_new(o, "time_ns", json_integer(int64_of_double(n->time_ns)));
	json_object_set_new(o, "tail", tail);
	return o;
}

/* As the page weighs it (output/report/fit.c). */
static json_int_t weight_of(const struct calltree_node *n)
{
	json_int_t time = int64_of_double(n->time_ns);

	return time ? time : (json_int_t)n->hits;
}

static uint32_t first_child(const struct calltree *t, const struct calltree_node *n,
			    unsigned int level, const struct calltree_node *of)
{
	return goes_deeper(t, level) ? next_visible(t, n->child, of) : CALLTREE_NONE;
}

/* The visible nodes from this one on, without those that weigh less than `least`. */
static size_t nodes_kept(const struct calltree *t, const struct calltree_node *n,
			 unsigned int level, const struct calltree_node *of, json_int_t least)
{
	size_t nr = 1;

	of = whole_of(n, of);
	for (uint32_t i = first_child(t, n, level, of); i != CALLTREE_NONE;
	     i = next_visible(t, t->node[i].sibling, of))
		if (!least || weight_of(&t->node[i]) >= least)
			nr += nodes_kept(t, &t->node[i], level + 1, of, least);
	return nr;
}

/* What nodes must weigh so that they may fit into the page: as long as they do not, it drops those that weigh less. */
static json_int_t least_of(const struct calltree *t)
{
	json_int_t total = 0, least = 0;

	for (unsigned int i = 0; t->opt.page_bytes && i < t->nr_roots; i++)
		total += weight_of(&t->node[t->root[i]]);
	for (unsigned int round = 0; total; round++) {
		size_t nr = 0;
		json_int_t next = page_tree_least(round, total);

		for (unsigned int i = 0; i < t->nr_roots; i++)
			nr += nodes_kept(t, &t->node[t->root[i]], 0, &t->node[t->root[i]], least);
		if (nr <= t->opt.page_bytes / NODE_BYTES_MIN || !next)
			break;
		least = next;
	}
	return least;
}

static json_t *node_json(const struct calltree *t, const struct calltree_node *n,
			 unsigned int level, const struct calltree_node *of, json_int_t least)
{
	json_t *children = json_array(),
	       *o = t->opt.allocations && !n->nr_frames ? group_json(t, n) : frames_json(t, n);
	json_int_t nodes = 0, hits = 0, time = 0;

	of = whole_of(n, of);
	for (uint32_t i = first_child(t, n, level, of); i != CALLTREE_NONE;
	     i = next_visible(t, t->node[i].sibling, of)) {
		const struct calltree_node *c = &t->node[i];

		if (!least || weight_of(c) >= least) {
			json_array_append_new(children, node_json(t, c, level + 1, of, least));
			continue;
		}
		nodes += (json_int_t)nodes_kept(t, c, level + 1, of, 0);
		hits += (json_int_t)c->hits;
		time += int64_of_double(c->time_ns);
	}
	if (nodes)
		json_array_append_new(children, page_tree_more(nodes, hits, time));
	json_object_set_new(o, "children", children);
	return o;
}

static void trees_json(const struct calltree *t, bool grouped, struct row_sink *sink)
{
	json_int_t least = least_of(t);

	for (unsigned int i = 0; i < t->nr_roots; i++) {
		const struct calltree_node *root = &t->node[t->root[i]];

		if (!calltree_visible(t, root, root))
			continue;
		json_t *o = node_json(t, root, 0, root, least);

		if (grouped)
			json_object_set_new(o, "group",
					    text_json(calltree_root_title(t, t->root[i])));
		row_sink_add(sink, o);
	}
}

int call_trees_print(const struct calltree *t, bool grouped, struct row_sink *sink)
{
	int err = 0;

	if (sink->json)
		trees_json(t, grouped, sink);
	else
		err = trees_draw(t, grouped, sink->out);
	/* An allocation tree whose root is hidden is an empty report. */
	sink->shown = calltree_hits(t) > 0 &&
		      (!t->opt.allocations || t->node[t->root[0]].hits >= t->opt.min_count);
	return err;
}

/* ---- folded ---- */

struct folding {
	const struct calltree *t;
	FILE *out;
	const char *title;
	bool times;
	uint32_t path[DEPTH_MAX]; /* nodes */
};

static void fold_line(const struct folding *f, unsigned int depth, uint64_t hits)
{
	const char *sep = "", *name;

	if (f->title) {
		folded_frame_put(f->title, f->out);
		sep = ";";
	}
	for (unsigned int i = 0; i < depth; i++)
		for (struct calltree_at at = {&f->t->node[f->path[i]]};
		     (name = calltree_next(f->t, &at));) {
			fputs(sep, f->out);
			folded_frame_put(name, f->out);
			sep = ";";
		}
	fprintf(f->out, " %" PRIu64 "\n", hits);
}

static uint64_t fold_weight(const struct folding *f, const struct calltree_node *n)
{
	return f->times ? uint64_of_double(n->time_ns + 0.5) : n->hits;
}

/* A line for what ends in the node itself: rounded times of its children may add up to more. */
static void fold_node(struct folding *f, uint32_t number, unsigned int depth)
{
	const struct calltree_node *n = &f->t->node[number];
	uint64_t own = fold_weight(f, n), children = 0;

	if (n->nr_frames || n->tail != CALLTREE_NONE) /* the root is no frame, but may have some merged into it */
		f->path[depth++] = number;
	for (uint32_t i = n->child; i != CALLTREE_NONE; i = f->t->node[i].sibling) {
		children += fold_weight(f, &f->t->node[i]);
		if (depth < DEPTH_MAX)
			fold_node(f, i, depth);
	}
	if (own > children && depth)
		fold_line(f, depth, own - children);
}

void call_trees_fold(const struct calltree *t, bool grouped, bool times, FILE *out)
{
	for (unsigned int i = 0; i < t->nr_roots; i++) {
		struct folding f = {.t = t, .out = out, .times = times};

		f.title = grouped ? calltree_root_title(t, t->root[i]) : NULL;
		fold_node(&f, t->root[i], 0);
	}
}

/* ---- the stacks, in order of appearance ---- */

static json_t *stack_json(const struct calltree *t, const struct calltree_sum *s)
{
	const struct calltree_path path = t->path[s->path];
	json_t *list = json_array();

	for (uint32_t i = 0; i < path.nr; i++)
		json_array_append_new(list, text_json(t->text[t->step[path.at + i]]));
	return json_pack("{s:o, s:I}", "stack", list, "hits", (json_int_t)s->hits);
}

void call_stacks_print(const struct calltree *t, struct row_sink *sink)
{
	for (uint32_t i = 0; i < t->nr_sums; i++) {
		const struct calltree_sum *s = &t->sum[i];
		const struct calltree_path path = t->path[s->path];

		if (s->hits < t->opt.min_hits)
			continue;
		if (row_sink_refuses(sink))
			return;
		if (sink->json) {
			row_sink_add(sink, stack_json(t, s));
			continue;
		}
		for (uint32_t k = 0; k < path.nr; k++) {
			if (k)
				fputc(';', sink->out);
			folded_frame_put(t->text[t->step[path.at + k]], sink->out);
		}
		fprintf(sink->out, " %" PRIu64 "\n", s->hits);
		sink->nr++;
	}
}
