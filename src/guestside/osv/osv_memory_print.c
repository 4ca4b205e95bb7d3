// SPDX-License-Identifier: GPL-2.0-or-later
/* memory-analyzer's tree as text, drawn as OSv's tool draws it, and as JSON. */
#include <inttypes.h>
#include <string.h>

#include "base/decimal.h"
#include "guestside/osv/osv_memory_tree.h"

enum { DEPTH_MAX = 512 };

const char *const memory_allocators[ALLOCATORS] = {"kmalloc", "large", "mempool", "page", "slab"};

static const char *const key_words[] = {[OSV_ALIGNMENT] = " alignment",
					[OSV_ALLOCATED] = " allocated",
					[OSV_REQUESTED] = " requested"};

double memory_unused_percent(const struct memory_node *n)
{
	return n->total_bytes ? (double)n->lost_bytes * 100 / (double)n->total_bytes : 0;
}

static bool visible(const struct memory_tree *m, const struct memory_node *n)
{
	if (!n->is_frame)
		return n->count >= m->opt->min_count;
	return n->count >= m->opt->min_hits &&
	       (double)(n->count * 100) / (double)m->node[n->group].count >=
		       m->opt->min_hits_percent;
}

/* The name, in buf only if it has to be made. */
static const char *name_of(const struct memory_tree *m, const struct memory_node *n, char *buf,
			   size_t size)
{
	if (n == m->node)
		return "All";
	if (n->is_frame)
		return calltree_frame_text(m->texts, (uint32_t)n->value);
	if (n->key == OSV_ALLOCATOR)
		return memory_allocators[n->value];
	snprintf(buf, size, "%" PRIu64 "%s", n->value, key_words[n->key]);
	return buf;
}

enum { STEM = 5 };

struct drawing {
	const struct memory_tree *m;
	FILE *out;
	char stems[STEM * DEPTH_MAX]; /* of the ancestors, from level 1 on */
};

static void stems(const struct drawing *d, unsigned int levels)
{
	fwrite_unlocked(d->stems, 1, STEM * (size_t)levels, d->out);
}

static void line(const struct drawing *d, const char *text)
{
	fputs_unlocked(text, d->out);
	putc_unlocked('\n', d->out);
}

static void label(const struct drawing *d, const struct memory_node *n, unsigned int level)
{
	const struct memory_tree *m = d->m;
	char buf[64];

	if (n->is_frame)
		fprintf(d->out, "(%s%% #%" PRIu64 ") ",
			decimal_print((double)(n->count * 100) /
					      (double)m->node[n->group].count, 2, buf, sizeof(buf)),
			n->count);
	line(d, name_of(m, n, buf, sizeof(buf)));
	for (uint32_t i = n->tail; i != MEMORY_NONE; i = m->node[i].tail) {
		stems(d, level);
		line(d, name_of(m, &m->node[i], buf, sizeof(buf)));
	}
	if (n->is_frame)
		return;
	stems(d, level);
	fprintf(d->out, "count: %" PRIu64 "\n", n->count);
	if (n->lost_bytes > 0) {
		stems(d, level);
		fprintf(d->out, "unused: %d%%\n", (int)memory_unused_percent(n));
	}
}

static uint32_t next_visible(const struct memory_tree *m, uint32_t i)
{
	while (i != MEMORY_NONE && !visible(m, &m->node[i]))
		i = m->node[i].sibling;
	return i;
}

static void draw(struct drawing *d, uint32_t number, unsigned int level)
{
	const struct memory_node *n = &d->m->node[number];

	label(d, n, level);
	if (level + 1 >= DEPTH_MAX)
		return;
	for (uint32_t i = next_visible(d->m, n->child), next; i != MEMORY_NONE; i = next) {
		next = next_visible(d->m, d->m->node[i].sibling);
		stems(d, level);
		fputs_unlocked(next == MEMORY_NONE ? " \\-- " : " |-- ", d->out);
		memcpy(d->stems + STEM * level, next == MEMORY_NONE ? "     " : " |   ", STEM);
		draw(d, i, level + 1);
		if (next != MEMORY_NONE) {
			stems(d, level);
			fputs_unlocked(" |   \n", d->out);
		}
	}
}

static json_t *node_json(const struct memory_tree *m, const struct memory_node *n,
			 unsigned int level)
{
	json_t *children = json_array(), *tail = json_array(), *o = json_object();
	char buf[64];

	for (uint32_t i = n->tail; i != MEMORY_NONE; i = m->node[i].tail) {
		json_array_append_new(
			tail, osv_text_json(name_of(m, &m->node[i], buf, sizeof(buf))));
	}
	for (uint32_t i = next_visible(m, n->child); i != MEMORY_NONE && level < DEPTH_MAX;
	     i = next_visible(m, m->node[i].sibling))
		json_array_append_new(children, node_json(m, &m->node[i], level + 1));
	json_object_set_new(o, "name", osv_text_json(name_of(m, n, buf, sizeof(buf))));
	json_object_set_new(o, n->is_frame ? "hits" : "count", json_integer((json_int_t)n->count));
	if (n->is_frame) {
		json_object_set_new(o, "tail", tail);
	} else {
		json_decref(tail);
		json_object_set_new(o, "allocated_bytes",
				    json_integer((json_int_t)n->total_bytes));
		json_object_set_new(o, "unused_bytes", json_integer(n->lost_bytes));
	}
	json_object_set_new(o, "children", children);
	return o;
}

void memory_tree_print(const struct memory_tree *tree, struct osv_sink *sink)
{
	if (!visible(tree, tree->node))
		return;
	if (sink->json)
		osv_sink_row(sink, node_json(tree, tree->node, 0));
	else
		draw(&(struct drawing){.m = tree, .out = sink->out}, 0, 0);
}
