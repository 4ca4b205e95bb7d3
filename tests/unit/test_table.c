// SPDX-License-Identifier: GPL-2.0-or-later
/* Tables of declared columns: values by type, conditions, nested rows, null and absent, as a tree. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "output/table.h"

struct point {
	uint64_t ns;
	uint32_t tid;
	uint16_t cpu;
	char comm[16];
	const char *note;
	unsigned int nr_values;
	uint64_t value[4];
};

static const struct column_def value_columns[] = {
	{"", NULL, COL_COUNT, .get = column_u64, .doc = "a value"},
	{0},
};

static struct cell get_values(struct table *t, const void *at)
{
	const struct point *p = at;
	struct table *values;
	struct cell cell = table_nest(t, value_columns, &values);

	for (unsigned int i = 0; i < p->nr_values; i++)
		assert_int_equal(table_add(values, &p->value[i]), 0);
	return cell;
}

GET_CELL(get_cpu, const struct point *p,
	 (struct cell){p->cpu, p->cpu == 0xffff ? cell_absent : NULL})
GET_NUMBER_IF(get_twice, const struct point *p, p->tid, p->tid * 2)

static const struct column_def columns[] = {
	{"ns", "ns", COL_NS, MEMBER(struct point, ns), .doc = "time"},
	{"tid", NULL, COL_COUNT, MEMBER(struct point, tid), .doc = "thread"},
	{"cpu", NULL, COL_COUNT, .get = get_cpu, .optional = true, .doc = "CPU"},
	{"comm", "comm", COL_TEXT, MEMBER(struct point, comm), .doc = "name"},
	{"note", "note", COL_TEXT, MEMBER(struct point, note), .nullable = true, .doc = "note"},
	{"twice", NULL, COL_COUNT, .get = get_twice, .nullable = true, .doc = "twice the tid"},
	{"flat", NULL, COL_COUNT, MEMBER(struct point, ns), .when = table_is_flat, .doc = "again"},
	{"values", NULL, COL_ROWS, .get = get_values, .nested = value_columns,
	 .when = table_is_tree, .doc = "values"},
	{0},
};

static const struct column_def more[] = {
	{"last", NULL, COL_HEX, MEMBER(struct point, ns), .doc = "of another object"},
	{0},
};

static const struct table_def points_table = {"points", "", "a point", {columns, more}};

static const struct point first = {.ns = 17,
				   .tid = 23,
				   .cpu = 3,
				   .comm = "a\x1b" "b",
				   .note = "n",
				   .nr_values = 2,
				   .value = {5, UINT64_MAX}},
			  second = {.ns = 255, .cpu = 0xffff, .comm = "c"};

static void test_tree(void **state)
{
	static const char expected[] =
		"[{\"ns\":17,\"tid\":23,\"cpu\":3,\"comm\":\"a?b\",\"note\":\"n\",\"twice\":46,"
		"\"values\":[5,\"18446744073709551615\"],\"last\":\"0xff\"},"
		"{\"ns\":255,\"tid\":0,\"comm\":\"c\",\"note\":null,\"twice\":null,"
		"\"values\":[],\"last\":\"0x11\"}]";
	struct table t = {.tree = true};

	(void)state;
	table_open(&t, &points_table, NULL, NULL);
	assert_int_equal(table_add(&t, &first, &second), 0);
	assert_int_equal(table_add(&t, &second, &first), 0);

	json_t *json = table_json(&t);
	char *text = json_dumps(json, JSON_COMPACT);

	assert_string_equal(text, expected);
	free(text);
	json_decref(json);
	table_free(&t);
}

/* A row that the caller begins: other columns stay as they are. */
static void test_fill(void **state)
{
	struct table t = {0};
	struct cell *row;

	(void)state;
	table_column(&t, "label", "label", COL_TEXT, 0);
	table_open(&t, &points_table, NULL, NULL);
	assert_int_equal(t.nr_columns, 1 + 7 + 1);
	row = table_row(&t);
	row[0].text = "mine";
	table_fill(&t, row, &first, &second);
	assert_string_equal(row[0].text, "mine");
	assert_int_equal(row[1].number, 17);
	assert_string_equal(t.column[7].key, "flat");
	assert_int_equal(row[8].number, 255);
	table_free(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_tree),
					   cmocka_unit_test(test_fill)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
