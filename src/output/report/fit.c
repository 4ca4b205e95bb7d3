// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What a section has to lose so that the page stays small. Rows are dropped from the end, call trees lose their rarest
 * nodes; the size is that of the escaped text.
 */


#include "base/json_text.h"
#include "base/saturate.h"
#include "output/report/page.h"

enum { PARTS_MAX = 200 }; /* of one exit */

/* ---- size ---- */

struct dump {
	size_t bytes, max;
};

static int dump_count(const char *buf, size_t len, void *arg)
{
	struct dump *d = arg;

	d->bytes += len;
	for (size_t i = 0; i < len; i++)
		if (page_byte_is_escaped(buf[i]))
			d->bytes += PAGE_ESCAPE_BYTES - 1;
	return d->bytes > d->max ? -1 : 0;
}

size_t page_json_bytes(const json_t *value)
{
	struct dump d = {.max = SIZE_MAX};

	json_dump_callback(value, dump_count, &d, PAGE_JSON_FLAGS | JSON_ENCODE_ANY);
	return d.bytes;
}

/* As soon as that is certain. */
static bool is_larger(const json_t *value, size_t max)
{
	struct dump d = {.max = max};

	json_dump_callback(value, dump_count, &d, PAGE_JSON_FLAGS | JSON_ENCODE_ANY);
	return d.bytes > max;
}

static void cut_add(json_t *cut, const char *what, size_t shown, size_t of)
{
	if (shown < of)
		json_array_append_new(cut, json_pack("{s:s,s:I,s:I}", "what", what, "shown",
						     (json_int_t)shown, "of", (json_int_t)of));
}

/* ---- call trees ---- */

static json_int_t weight(const json_t *node)
{
	json_int_t time = number_of(node, "time_ns");

	return time ? time : number_of(node, "hits");
}

/* Nodes that are shown. */
static size_t nodes_in(const json_t *node)
{
	json_t *child;
	size_t i, n = !json_object_get(node, "more");

	json_array_foreach (json_object_get(node, "children"), i, child)
		n += nodes_in(child);
	return n;
}

/* The same and those that are in a "(N more)". */
static json_int_t nodes_of(const json_t *node)
{
	json_int_t n = json_object_get(node, "more") ? number_of(node, "more") : 1;
	json_t *child;
	size_t i;

	json_array_foreach (json_object_get(node, "children"), i, child)
		n += nodes_of(child);
	return n;
}

json_int_t page_tree_least(unsigned int round, json_int_t total)
{
	double part = 1e-5 * (double)(UINT64_C(1) << round);

	return part < 1 ? int64_of_double(part * (double)total) + 1 : 0;
}

json_t *page_tree_more(json_int_t nodes, json_int_t hits, json_int_t time_ns)
{
	return json_pack("{s:o,s:I,s:I,s:I,s:[],s:[]}", "name",
			 json_sprintf("(%lld more)", (long long)nodes), "more", nodes, "hits", hits,
			 "time_ns", time_ns, "tail", "children");
}

/* Children below `least` become one. */
static void tree_prune(json_t *node, json_int_t least)
{
	json_t *children = json_object_get(node, "children"), *kept = json_array(), *child;
	json_int_t hits = 0, time = 0, more = 0;
	size_t i;

	json_array_foreach (children, i, child) {
		if (weight(child) >= least && !json_object_get(child, "more")) {
			tree_prune(child, least);
			json_array_append(kept, child);
			continue;
		}
		hits += number_of(child, "hits");
		time += number_of(child, "time_ns");
		more += nodes_of(child);
	}
	if (more) {
		json_array_append_new(kept, page_tree_more(more, hits, time));
		json_array_clear(children);
		json_array_extend(children, kept);
	}
	json_decref(kept);
}

static bool is_tree(const json_t *rows)
{
	return json_object_get(json_array_get(rows, 0), "children") != NULL;
}

static void trees_fit(json_t *data, json_t *rows, size_t max, json_t *cut)
{
	size_t all = 0, shown = 0, i;
	json_int_t total = 0, least;
	json_t *tree;

	json_array_foreach (rows, i, tree) {
		all += (size_t)nodes_of(tree);
		total += weight(tree);
	}
	for (unsigned int round = 0;
	     (least = page_tree_least(round, total)) && is_larger(data, max); round++)
		json_array_foreach (rows, i, tree)
			tree_prune(tree, least);
	json_array_foreach (rows, i, tree)
		shown += nodes_in(tree);
	cut_add(cut, "nodes", shown, all);
}

/* ---- rows ---- */

static int largest_first(const void *a, const void *b)
{
	json_int_t x = *(const json_int_t *)a, y = *(const json_int_t *)b;

	return (x < y) - (x > y);
}

/* The duration of the last one of the PARTS_MAX longest; 0: out of memory, or there are not more. */
static json_int_t part_least(const json_t *parts)
{
	size_t nr = json_array_size(parts);
	_cleanup_free_ json_int_t *ns = nr > PARTS_MAX ? calloc(nr, sizeof(*ns)) : NULL;

	for (size_t i = 0; ns && i < nr; i++)
		ns[i] = number_of(json_array_get(parts, i), "duration_ns");
	if (ns)
		qsort(ns, nr, sizeof(*ns), largest_first);
	return ns ? ns[PARTS_MAX - 1] : 0;
}

/* Of the exits of blame: the longest parts of each; of those of the same length the first ones. */
static void parts_fit(json_t *rows, json_t *cut)
{
	size_t i, all = 0, shown = 0;
	json_t *row;

	json_array_foreach (rows, i, row) {
		json_t *parts = json_object_get(row, "parts");
		json_int_t least = part_least(parts);

		all += json_array_size(parts);
		for (int equal = 0; equal < 2; equal++)
			for (size_t k = json_array_size(parts);
			     k-- && json_array_size(parts) > PARTS_MAX;)
				if (number_of(json_array_get(parts, k), "duration_ns") <
				    least + equal)
					json_array_remove(parts, k);
		shown += json_array_size(parts);
	}
	cut_add(cut, "parts", shown, all);
}

/* Halves an array until the section fits, or one member is left. */
static void array_fit(json_t *data, const char *name, json_t *array, size_t max, json_t *cut)
{
	size_t all = json_array_size(array);

	while (is_larger(data, max) && json_array_size(array) > 1)
		for (size_t n = json_array_size(array) / 2; json_array_size(array) > n;)
			json_array_remove(array, json_array_size(array) - 1);
	cut_add(cut, name, json_array_size(array), all);
}

/* The largest array among the members, or in the object "result". */
static json_t *array_largest(json_t *data, const char **ret_name)
{
	json_t *in[] = {data, json_object_get(data, "result")}, *found = NULL, *value;
	size_t bytes = 0;
	const char *key;

	for (unsigned int i = 0; i < 2; i++)
		json_object_foreach (in[i], key, value) {
			size_t n = json_array_size(value) > 1 ? page_json_bytes(value) : 0;

			if (n <= bytes)
				continue;
			bytes = n;
			found = value;
			*ret_name = key;
		}
	return found;
}

void section_fit(json_t *data, size_t max, json_t *section)
{
	json_t *rows = json_object_get(data, "rows"), *cut = json_array(), *array;
	const char *name = "";

	parts_fit(rows, cut);
	if (is_tree(rows))
		trees_fit(data, rows, max, cut);
	while (is_larger(data, max) && (array = array_largest(data, &name)))
		array_fit(data, name, array, max, cut);
	if (is_larger(data, max)) { /* one member that is too large, as a long command line */
		json_object_clear(data);
		json_array_append_new(
			cut, json_pack("{s:s,s:i,s:i}", "what", "sections", "shown", 0, "of", 1));
	}
	if (json_array_size(cut))
		json_object_set(section, "cut", cut);
	json_decref(cut);
}
