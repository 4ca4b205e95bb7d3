// SPDX-License-Identifier: GPL-2.0-or-later
/* memory-analyzer's tree as text, drawn as OSv's tool draws it, and as JSON. */
#include <inttypes.h>
#include <string.h>

#include "analyzers/profile/memory_tree.h"
#include "base/decimal.h"
#include "base/saturate.h"
#include "output/samples/samples_output.h"

enum { DEPTH_MAX = 512 };

static const char *const key_words[] = {[MEMORY_ALIGNMENT] = " alignment",
					[MEMORY_ALLOCATED] = " allocated",
					[MEMORY_REQUESTED] = " requested"};

static char *put_group(const struct memory_tree *m, char *p, const struct memory_node *n)
{
	if (n == m->node)
		return put_text(p, "All");
	if (n->key == MEMORY_ALLOCATOR)
		return put_text(p, memory_allocators[n->value]);
	return put_text(put_dec(p, n->value), key_words[n->key]);
}

/* ---- text ---- */

enum { STEM = 5 };

struct drawing {
	const struct memory_tree *m;
	struct text_out text;
	char stems[STEM * DEPTH_MAX]; /* of the ancestors, from level 1 on */
};

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

static char *put_frame(const struct drawing *d, char *p, const struct memory_node *n, uint32_t i)
{
	return put_text(p, calltree_frame_text(d->m->texts, n->frames[i]));
}

static void draw_path(struct drawing *d, const struct memory_node *n, unsigned int level)
{
	uint64_t of = d->m->node[n->group].count;
	char buf[64], *p = d->text.pos;
	uint32_t i = 1;

	*p++ = '(';
	p = n->count == of
		    ? put_text(p, "100.00")
		    : put_text(p, decimal_print((double)(n->count * 100ull) / (double)of, 2, buf,
						sizeof(buf)));
	p = put_text(p, "% #");
	p = put_text(put_dec(p, n->count), ") ");
	end_line(d, put_frame(d, p, n, 0));
	for (;; n = &d->m->node[n->tail], i = 0) {
		for (; i < n->nr_frames; i++)
			end_line(d, put_frame(d, begin_line(d, level), n, i));
		if (n->tail == MEMORY_NONE)
			return;
	}
}

static void draw_group(struct drawing *d, const struct memory_node *n, unsigned int level)
{
	end_line(d, put_group(d->m, d->text.pos, n));
	end_line(d, put_dec(put_text(begin_line(d, level), "count: "), n->count));
	if (n->lost_bytes > 0) {
		char *p = put_text(begin_line(d, level), "unused: ");

		end_line(d, p + sprintf(p, "%u%%", uint32_of_double(memory_unused_percent(n))));
	}
}

static void draw(struct drawing *d, uint32_t number, unsigned int level)
{
	const struct memory_node *n = &d->m->node[number];

	if (n->is_frame)
		draw_path(d, n, level);
	else
		draw_group(d, n, level);
	if (level + 1 >= DEPTH_MAX)
		return;
	for (uint32_t i = memory_tree_visible(d->m, n->child), next; i != MEMORY_NONE; i = next) {
		next = memory_tree_visible(d->m, d->m->node[i].sibling);
		d->text.pos = put_text(begin_line(d, level),
				       next == MEMORY_NONE ? " \\-- " : " |-- ");
		memcpy(d->stems + STEM * level, next == MEMORY_NONE ? "     " : " |   ", STEM);
		draw(d, i, level + 1);
		if (next != MEMORY_NONE)
			end_line(d, put_text(begin_line(d, level), " |   "));
	}
}

/* ---- JSON ---- */

static json_t *frame_json(const struct memory_tree *m, const struct memory_node *n, uint32_t i)
{
	return text_json(calltree_frame_text(m->texts, n->frames[i]));
}

static void path_json(const struct memory_tree *m, const struct memory_node *n, json_t *o)
{
	json_t *tail = json_array();
	uint32_t i = 1;

	json_object_set_new(o, "name", frame_json(m, n, 0));
	json_object_set_new(o, "hits", json_integer((json_int_t)n->count));
	for (;; n = &m->node[n->tail], i = 0) {
		for (; i < n->nr_frames; i++)
			json_array_append_new(tail, frame_json(m, n, i));
		if (n->tail == MEMORY_NONE)
			break;
	}
	json_object_set_new(o, "tail", tail);
}

/* Beyond what JSON's integers can be here: the limit. */
static json_t *bytes_json(__int128 n)
{
	return json_integer(n > INT64_MAX ? INT64_MAX : n < INT64_MIN ? INT64_MIN : (json_int_t)n);
}

static void group_json(const struct memory_tree *m, const struct memory_node *n, json_t *o)
{
	char name[64];

	*put_group(m, name, n) = '\0';
	json_object_set_new(o, "name", text_json(name));
	json_object_set_new(o, "count", json_integer((json_int_t)n->count));
	json_object_set_new(o, "allocated_bytes", bytes_json((__int128)n->total_bytes));
	json_object_set_new(o, "unused_bytes", bytes_json(n->lost_bytes));
}

static json_t *node_json(const struct memory_tree *m, const struct memory_node *n,
			 unsigned int level)
{
	json_t *children = json_array(), *o = json_object();

	for (uint32_t i = memory_tree_visible(m, n->child); i != MEMORY_NONE && level < DEPTH_MAX;
	     i = memory_tree_visible(m, m->node[i].sibling))
		json_array_append_new(children, node_json(m, &m->node[i], level + 1));
	if (n->is_frame)
		path_json(m, n, o);
	else
		group_json(m, n, o);
	json_object_set_new(o, "children", children);
	return o;
}

/* JSON: {"name","count","allocated_bytes","unused_bytes","children":[..]}, call paths {"name","hits","tail",..}. */
int memory_print(const struct memory_tree *tree, struct row_sink *sink)
{
	struct drawing d = {.m = tree};
	int err;

	if (memory_tree_visible(tree, 0) == MEMORY_NONE)
		return 0;
	if (sink->json) {
		row_sink_add(sink, node_json(tree, tree->node, 0));
		sink->shown = tree->node[0].count > 0;
		return 0;
	}
	err = text_out_open(&d.text, sink->out);
	if (err)
		return err;
	draw(&d, 0, 0);
	sink->shown = tree->node[0].count > 0;
	text_out_close(&d.text);
	return 0;
}
