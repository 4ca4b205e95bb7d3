// SPDX-License-Identifier: GPL-2.0-or-later
/* What does not fit into the page is cut and counted; sums of call trees stay. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "output/report/page.h"
#include "output/samples/samples_output.h"

static json_int_t number(const json_t *o, const char *key)
{
	return json_integer_value(json_object_get(o, key));
}

/* {"what", "shown", "of"} of this kind; NULL: nothing of it was cut. */
static const json_t *cut_of(const json_t *section, const char *what)
{
	const json_t *one;
	size_t i;

	json_array_foreach (json_object_get(section, "cut"), i, one)
		if (!strcmp(json_string_value(json_object_get(one, "what")), what))
			return one;
	return NULL;
}

static void escaped_bytes(void **state)
{
	json_t *plain = json_string("ab"), *markup = json_string("<&>");

	(void)state;
	assert_int_equal(page_json_bytes(plain), 4);
	assert_int_equal(page_json_bytes(markup), 2 + 3 * PAGE_ESCAPE_BYTES);
	json_decref(plain);
	json_decref(markup);
}

static json_t *rows_make(int nr)
{
	json_t *rows = json_array();

	for (int i = 0; i < nr; i++)
		json_array_append_new(rows, json_pack("{s:i,s:s}", "n", i, "name", "<<<<<<<<"));
	return json_pack("{s:[],s:o}", "caveats", "rows", rows);
}

static void what_fits_is_whole(void **state)
{
	json_t *data = rows_make(1000), *section = json_object();

	(void)state;
	section_fit(data, 1 << 20, section);
	assert_int_equal(json_array_size(json_object_get(data, "rows")), 1000);
	assert_null(json_object_get(section, "cut"));
	json_decref(data);
	json_decref(section);
}

static void rows_are_cut(void **state)
{
	json_t *data = rows_make(1000), *section = json_object(), *rows;
	const json_t *cut;

	(void)state;
	section_fit(data, 20000, section);
	rows = json_object_get(data, "rows");
	cut = cut_of(section, "rows");
	assert_true(page_json_bytes(data) <= 20000);
	assert_non_null(cut);
	assert_int_equal(number(cut, "of"), 1000);
	assert_int_equal(number(cut, "shown"), json_array_size(rows));
	assert_true(json_array_size(rows) >= 100);
	assert_int_equal(number(json_array_get(rows, 99), "n"), 99); /* the first ones are kept */
	json_decref(data);
	json_decref(section);
}

/* A tree of three levels: 40 children of 40 each; one of all has most hits. */
static json_t *tree_make(void)
{
	json_t *top = json_array();
	int all = 0;

	for (int i = 0; i < 40; i++) {
		json_t *below = json_array();
		int sum = 0;

		for (int k = 0; k < 40; k++) {
			int hits = i == 7 && k == 7 ? 10000 : 1 + k % 3;

			json_array_append_new(below, json_pack("{s:s,s:i,s:i,s:[],s:[]}", "name",
							       "function", "hits", hits, "time_ns",
							       0, "tail", "children"));
			sum += hits;
		}
		json_array_append_new(top, json_pack("{s:s,s:i,s:i,s:[],s:o}", "name", "caller",
						     "hits", sum, "time_ns", 0, "tail", "children",
						     below));
		all += sum;
	}
	return json_pack("{s:[{s:s,s:i,s:i,s:[],s:o}]}", "rows", "name", "All", "hits", all,
			 "time_ns", 0, "tail", "children", top);
}

/* Adds up the leaves; the number of nodes in *nr. */
static json_int_t leaves(const json_t *node, json_int_t *nr)
{
	const json_t *children = json_object_get(node, "children"), *child;
	json_int_t sum = json_array_size(children) ? 0 : number(node, "hits");
	size_t i;

	++*nr;
	json_array_foreach (children, i, child)
		sum += leaves(child, nr);
	return sum;
}

static void trees_keep_their_sums(void **state)
{
	json_t *data = tree_make(), *section = json_object();
	const json_t *root = json_array_get(json_object_get(data, "rows"), 0), *cut;
	json_int_t nr = 0, before = leaves(root, &nr), all = nr;

	(void)state;
	section_fit(data, 6000, section);
	nr = 0;
	assert_true(page_json_bytes(data) <= 6000);
	assert_int_equal(leaves(root, &nr), before);
	assert_int_equal(before, number(root, "hits"));
	cut = cut_of(section, "nodes");
	assert_non_null(cut);
	assert_int_equal(number(cut, "of"), all);
	assert_true(number(cut, "shown") > 0 && number(cut, "shown") < all);
	assert_true(nr < all);
	json_decref(data);
	json_decref(section);
}

/* Two levels, of many weights, that fit only without most of their nodes. */
static json_t *calltree_json(size_t page_bytes)
{
	struct calltree_options opt = {.page_bytes = page_bytes};
	struct row_sink sink = {.json = true, .rows = json_array()};
	uint32_t root, frames[2], path;
	struct calltree *t;
	char name[32];

	assert_int_equal(calltree_open(&opt, &t), 0);
	assert_int_equal(calltree_root(t, &root), 0);
	for (unsigned int i = 0; i < 30000; i++) {
		for (unsigned int k = 0; k < 2; k++) {
			snprintf(name, sizeof(name), "%s%u", k ? "leaf" : "", k ? i : i % 1700);
			assert_int_equal(calltree_frame(t, name, &frames[k]), 0);
		}
		assert_int_equal(calltree_path(t, frames, 2, &path), 0);
		assert_int_equal(calltree_weigh(t, root, path, 1 + (i * 7919ull) % 4001, 0), 0);
	}
	assert_int_equal(calltree_finish(t), 0);
	assert_int_equal(call_trees_print(t, false, &sink), 0);
	calltree_close(t);
	return json_pack("{s:o}", "rows", sink.rows);
}

static void trees_for_a_page_are_the_same(void **state)
{
	json_t *whole = calltree_json(0), *part = calltree_json(64 << 10),
	       *of_whole = json_object(), *of_part = json_object();

	(void)state;
	assert_true(page_json_bytes(part) < page_json_bytes(whole) / 3);
	section_fit(whole, 64 << 10, of_whole);
	section_fit(part, 64 << 10, of_part);
	assert_int_equal(number(cut_of(of_whole, "nodes"), "of"), 1 + 1700 + 30000);
	assert_true(json_equal(whole, part) && json_equal(of_whole, of_part));
	json_decref(whole);
	json_decref(part);
	json_decref(of_whole);
	json_decref(of_part);
}

static void longest_parts_are_kept(void **state)
{
	json_t *parts = json_array(), *section = json_object(), *data;
	const json_t *cut;

	(void)state;
	for (int i = 0; i < 5000; i++)
		json_array_append_new(parts, json_pack("{s:i}", "duration_ns", i));
	data = json_pack("{s:[{s:o}]}", "rows", "parts", parts);
	section_fit(data, 1 << 20, section);
	parts = json_object_get(json_array_get(json_object_get(data, "rows"), 0), "parts");
	cut = cut_of(section, "parts");
	assert_non_null(cut);
	assert_int_equal(number(cut, "of"), 5000);
	assert_int_equal(number(cut, "shown"), json_array_size(parts));
	assert_in_range(json_array_size(parts), 1, 200);
	assert_int_equal(number(json_array_get(parts, json_array_size(parts) - 1), "duration_ns"),
			 4999);
	json_decref(data);
	json_decref(section);
}

static void one_huge_text(void **state)
{
	static char text[10001];
	json_t *section = json_object(), *data;

	(void)state;
	memset(text, '<', sizeof(text) - 1);
	data = json_pack("{s:{s:s}}", "result", "cmdline", text);
	section_fit(data, 20000, section);
	assert_true(page_json_bytes(data) <= 20000);
	assert_non_null(cut_of(section, "sections"));
	json_decref(data);
	json_decref(section);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(escaped_bytes),
		cmocka_unit_test(what_fits_is_whole),
		cmocka_unit_test(rows_are_cut),
		cmocka_unit_test(trees_keep_their_sums),
		cmocka_unit_test(trees_for_a_page_are_the_same),
		cmocka_unit_test(longest_parts_are_kept),
		cmocka_unit_test(one_huge_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
