// SPDX-License-Identifier: GPL-2.0-or-later
/* The screen of `hostrace top`: from keys to views, from views to lines. */
#include "top_util.h"

static enum top_action key(struct fixture *f, int k)
{
	enum top_action action = top_view_key(&f->view, k, 10);

	assert_int_equal(top_view_update(&f->view, &f->model), 0);
	return action;
}

/* ---- keys ---- */

static void test_down_and_up(void **state)
{
	struct fixture *f = *state;

	exits(f, 1, IO, 5, 100);
	exits(f, 1, HLT, 50, 100);
	interval(f, S);
	assert_int_equal(f->view.list, TOP_VMS);
	key(f, TOP_KEY_ENTER);
	assert_int_equal(f->view.list, TOP_VCPUS);
	assert_string_equal(f->view.row[0]->name, "vCPU 1"); /* by time */
	key(f, TOP_KEY_ENTER);
	assert_int_equal(f->view.list, TOP_REASONS);
	assert_string_equal(f->view.row[0]->name, "HLT");
	key(f, TOP_KEY_DOWN);
	key(f, TOP_KEY_RIGHT);
	assert_int_equal(f->view.list, TOP_CAUSES);
	assert_string_equal(top_view_parent(&f->view, &f->model)->name, "IO");
	key(f, TOP_KEY_ENTER); /* there is nothing below */
	assert_int_equal(f->view.list, TOP_CAUSES);
	key(f, TOP_KEY_BACKSPACE);
	assert_int_equal(f->view.cursor, 1); /* where it was */
	key(f, TOP_KEY_LEFT);
	assert_int_equal(f->view.list, TOP_VCPUS);
	key(f, TOP_KEY_TAB);
	assert_int_equal(f->view.list, TOP_REASONS);
	assert_string_equal(top_view_parent(&f->view, &f->model)->name, "4711 web1");
	key(f, TOP_KEY_TAB);
	assert_int_equal(f->view.list, TOP_PORTS);
	key(f, TOP_KEY_TAB);
	assert_int_equal(f->view.list, TOP_QUEUES);
	key(f, TOP_KEY_TAB);
	assert_int_equal(f->view.list, TOP_TASKS);
	key(f, TOP_KEY_TAB);
	assert_int_equal(f->view.list, TOP_VCPUS);
	key(f, TOP_KEY_ESCAPE);
	assert_int_equal(f->view.list, TOP_VMS);
	key(f, TOP_KEY_ESCAPE);
	assert_int_equal(f->view.list, TOP_VMS);
	assert_int_equal(key(f, 'q'), TOP_QUIT);
}

static void test_sort(void **state)
{
	struct fixture *f = *state;

	exits(f, 0, IO, 5, 200);
	exits(f, 0, HLT, 50, 10);
	interval(f, S);
	key(f, TOP_KEY_ENTER);
	key(f, TOP_KEY_ENTER);
	assert_string_equal(f->view.row[0]->name, "IO");
	key(f, 'r');
	assert_string_equal(f->view.row[0]->name, "HLT");
	f->view.sort = TOP_BY_NAME;
	key(f, 's'); /* by count */
	assert_string_equal(f->view.row[0]->name, "HLT");
	assert_false(f->view.ascending);
	key(f, 'S');
	assert_int_equal(f->view.sort, TOP_BY_NAME);
	f->view.sort = TOP_BY_MAX;
	key(f, TOP_KEY_END);
	key(f, TOP_KEY_END);
	assert_string_equal(f->view.row[f->view.cursor]->name, "HLT");
	exits(f, 0, HLT, 1, 255); /* the order changes: the row stays selected */
	interval(f, S);
	assert_string_equal(f->view.row[0]->name, "HLT");
	assert_int_equal(f->view.cursor, 0);
}

static void test_filter(void **state)
{
	struct fixture *f = *state;

	exits(f, 0, IO, 5, 200);
	exits(f, 0, HLT, 50, 10);
	interval(f, S);
	key(f, TOP_KEY_ENTER);
	key(f, TOP_KEY_TAB);
	assert_int_equal(f->view.nr_rows, 2);
	key(f, '/');
	assert_int_equal(key(f, 'q'), TOP_NOTHING); /* text, not a command */
	assert_int_equal(f->view.nr_rows, 0);
	key(f, TOP_KEY_BACKSPACE);
	key(f, 'h');
	key(f, TOP_KEY_ENTER);
	assert_int_equal(f->view.nr_rows, 1);
	assert_string_equal(f->view.row[0]->name, "HLT");
	for (int i = 0; i < 100; i++) /* more than it can hold */
		key(f, i ? 'x' : '/');
	assert_true(strlen(f->view.filter) < sizeof(f->view.filter));
	key(f, TOP_KEY_ESCAPE);
	assert_int_equal(f->view.nr_rows, 2);
}

static void test_pause_and_help(void **state)
{
	struct fixture *f = *state;

	interval(f, S);
	assert_int_equal(key(f, 'p'), TOP_NOTHING);
	assert_true(f->view.paused);
	assert_int_equal(key(f, 'c'), TOP_NOTHING); /* it would change what is frozen */
	assert_false(f->view.since_start);
	assert_int_equal(key(f, ' '), TOP_READ);
	assert_int_equal(key(f, 'c'), TOP_READ);
	assert_true(f->view.since_start);
	assert_int_equal(key(f, 'w'), TOP_SNAPSHOT);
	key(f, '?');
	assert_true(f->view.help);
	key(f, 'p');
	assert_false(f->view.help || f->view.paused);
}

/* The VM that is looked at ends. */
static void test_ended(void **state)
{
	struct fixture *f = *state;

	exits(f, 0, IO, 5, 200);
	interval(f, S);
	for (int i = 0; i < 3; i++)
		key(f, TOP_KEY_ENTER);
	top_model_begin(&f->model, f->now_ns + S);
	top_model_end(&f->model);
	assert_int_equal(top_view_update(&f->view, &f->model), 0);
	assert_int_equal(f->view.list, TOP_VMS);
	assert_int_equal(f->view.nr_rows, 0);
	assert_non_null(strstr(f->view.message, "4711 has ended"));
	for (const int *k = (const int[]){TOP_KEY_ENTER, TOP_KEY_DOWN, TOP_KEY_END, TOP_KEY_TAB, 0};
	     *k; k++)
		key(f, *k);
	assert_int_equal(f->view.list, TOP_VMS);
}

/* ---- lines ---- */

static void frame(struct fixture *f, unsigned int width, unsigned int height)
{
	const struct top_page page = {.width = width, .height = height, .time = "10:20:30"};

	assert_int_equal(top_frame_make(&f->frame, &f->view, &f->model, &page), 0);
}

static void test_frame(void **state)
{
	struct fixture *f = *state;

	interval(f, 0);
	exits(f, 0, IO, 1000, 200);
	interval(f, S);
	interval(f, S);
	frame(f, 80, 24);
	assert_int_equal(f->frame.nr, 24);
	assert_string_equal(f->frame.line[0].text,
			    "hostrace top 10:20:30  1 VM, 2 vCPUs, 0 exits/s, interval 1.000 s");
	assert_string_equal(f->frame.line[1].text, "all: VMs");
	assert_string_equal(f->frame.line[2].text, "name                  exits/s   user/s  *time% "
						   "    p50     p99     max exits/s");
	assert_string_equal(f->frame.line[3].text, "4711 web1                   0        0     0.0 "
						   "      0       0       0        #_");
	assert_int_equal(f->frame.line[3].tone, TOP_SELECTED);
	f->view.since_start = true;
	interval(f, S);
	frame(f, 80, 24);
	assert_string_equal(f->frame.line[3].text, "4711 web1                1000        0     0.0 "
						   "  200ns   200ns   200ns       #__");
}

/* A vCPU with one exit a second is not as high as one with a thousand. */
static void test_scale(void **state)
{
	struct fixture *f = *state;

	interval(f, 0);
	exits(f, 0, IO, 1000, 200);
	exits(f, 1, IO, 1, 200);
	interval(f, S);
	key(f, TOP_KEY_ENTER);
	frame(f, 80, 24);
	assert_int_equal(f->view.list, TOP_VCPUS);
	assert_int_equal(f->view.nr_rows, 2);
	assert_true(strrchr(f->frame.line[3].text, ' ')[1] == '#');
	assert_true(strrchr(f->frame.line[4].text, ' ')[1] == '_' ||
		    strrchr(f->frame.line[4].text, ' ')[1] == '.');
}

/* No line is longer than the screen, and there are no more lines than it has. */
static void test_sizes(void **state)
{
	struct fixture *f = *state;
	static const int keys[] = {
		'?', TOP_KEY_ENTER, TOP_KEY_ENTER, TOP_KEY_ENTER, TOP_KEY_ENTER, TOP_KEY_TAB, 0};

	for (uint32_t i = 0; i < CELLS - 1; i++)
		exits(f, 0, 100 + i, 1, 10);
	interval(f, S);
	for (const int *k = keys; *k; k++) {
		key(f, *k);
		for (unsigned int w = 1; w < 300; w++)
			for (unsigned int h = 1; h < 30; h += 7) {
				frame(f, w, h);
				assert_true(f->frame.nr <= h || h < 5);
				for (unsigned int i = 0; i < f->frame.nr; i++)
					if (w >= 40)
						assert_true(strlen(f->frame.line[i].text) <= w);
			}
	}
}

/* A name of control characters, bidirectional marks and letters that this locale does not have. */
static void test_hostile_name(void **state)
{
	struct fixture *f = *state;

	f->name = "a\x1b[2J\x07\n\xc2\x9b"
		  "31m\xe2\x80\xae\xc3\xa9%s%n"
		  "z";
	interval(f, S);
	frame(f, 200, 24);
	for (unsigned int i = 0; i < f->frame.nr; i++)
		for (const char *c = f->frame.line[i].text; *c; c++)
			assert_in_range(*c, ' ', '~');
	assert_non_null(strstr(f->frame.line[3].text, "%s%n"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_down_and_up),	   TEST(test_sort),  TEST(test_filter),
		TEST(test_pause_and_help), TEST(test_ended), TEST(test_frame),
		TEST(test_scale),	   TEST(test_sizes), TEST(test_hostile_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
