// SPDX-License-Identifier: GPL-2.0-or-later
/* `hostrace top` without a kernel and a terminal: readings to figures, keys to views, views to
 * lines. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "views/top/frame.h"

#include <cmocka.h>

enum { CELLS = 12, VCPUS = 2, S = 1000000000, PID = 4711, HLT = 12, IO = 30 };

/* What the kernel has counted of a VM with two vCPUs. */
struct vm_memory {
	struct {
		struct stat_vcpu v;
		struct stat_cell cell[CELLS];
	} vcpu[VCPUS];
};

struct fixture {
	struct top_model model;
	struct top_view view;
	struct top_frame frame;
	struct vm_memory *memory;
	const char *name;
	uint64_t now_ns;
};

static const char *reason_name(uint32_t reason)
{
	return reason == HLT ? "HLT" : reason == IO ? "IO" : NULL;
}

static const struct stat_vcpu *vcpu_at(void *arg, unsigned int index)
{
	return &((struct vm_memory *)arg)->vcpu[index].v;
}

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	*state = f;
	f->memory = calloc(1, sizeof(*f->memory));
	f->name = "web1";
	f->now_ns = 100ull * S;
	assert_int_equal(top_model_open(&f->model, reason_name), 0);
	f->model.has_causes = f->model.times_ports = true;
	top_view_init(&f->view);
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	top_model_close(&f->model);
	top_view_close(&f->view);
	top_frame_free(&f->frame);
	free(f->memory);
	free(f);
	return 0;
}

/* As bpf/stat.bpf.c does; below 256 ns a bucket has one value. */
static void exits(struct fixture *f, unsigned int vcpu, uint32_t reason, uint64_t count,
		  uint64_t ns)
{
	struct stat_vcpu *v = &f->memory->vcpu[vcpu].v;
	struct stat_cell *c = f->memory->vcpu[vcpu].cell;
	unsigned int i = 0;

	while (i < v->nr_cells && c[i].reason != reason)
		i++;
	if (i == v->nr_cells) {
		v->nr_cells++;
		c[i].reason = reason;
		c[i].min_ns = UINT64_MAX;
	}
	c[i].count += count;
	c[i].total_ns += count * ns;
	c[i].cause_ns[STAT_IN_KERNEL] += count * ns;
	c[i].min_ns = ns < c[i].min_ns ? ns : c[i].min_ns;
	c[i].max_ns = ns > c[i].max_ns ? ns : c[i].max_ns;
	assert_true(ns < 2 * STAT_SUB);
	c[i].bucket[ns] += count;
}

static void open_exit(struct fixture *f, unsigned int vcpu, uint32_t reason, uint64_t left_ns)
{
	struct stat_vcpu *v = &f->memory->vcpu[vcpu].v;

	v->open = 1;
	v->reason = reason;
	v->left_ns = v->mark_ns = left_ns;
	v->phase = STAT_ASLEEP_IN_KERNEL;
}

static void read_vm(struct fixture *f, int pid)
{
	const struct top_vm_reading vm = {.pid = pid,
					  .name = f->name,
					  .since_ns = 100ull * S,
					  .nr_vcpus = VCPUS,
					  .nr_cells = CELLS,
					  .vcpu = vcpu_at,
					  .arg = f->memory};

	assert_int_equal(top_model_vm(&f->model, &vm), 0);
}

/* After so many ns. */
static void interval(struct fixture *f, uint64_t ns)
{
	f->now_ns += ns;
	f->model.since_start = f->view.since_start;
	top_model_begin(&f->model, f->now_ns);
	read_vm(f, PID);
	top_model_end(&f->model);
	assert_int_equal(top_view_update(&f->view, &f->model), 0);
}

static struct top_node *vm(const struct fixture *f)
{
	return top_node_find(&f->model.host, TOP_VMS, PID);
}

static struct top_node *vcpu(const struct fixture *f, unsigned int index)
{
	return top_node_find(vm(f), TOP_VCPUS, index);
}

static enum top_action key(struct fixture *f, int k)
{
	enum top_action action = top_view_key(&f->view, k, 10);

	assert_int_equal(top_view_update(&f->view, &f->model), 0);
	return action;
}

/* ---- the model ---- */

static void test_interval(void **state)
{
	struct fixture *f = *state;

	exits(f, 0, IO, 5, 100);
	interval(f, 0);
	interval(f, S);
	exits(f, 0, IO, 1000, 200);
	exits(f, 1, IO, 10, 100);
	exits(f, 1, HLT, 7, 50);
	interval(f, S);
	assert_int_equal(vm(f)->values.count, 1017);
	assert_int_equal(vcpu(f, 0)->values.count, 1000);
	assert_int_equal(vcpu(f, 0)->values.p50_ns, 200); /* without the five before */
	assert_int_equal(vcpu(f, 1)->values.count, 17);
	assert_int_equal(vcpu(f, 1)->values.p50_ns, 100);
	assert_int_equal(top_node_find(vm(f), TOP_REASONS, IO)->values.count, 1010);
	assert_int_equal(top_node_find(vm(f), TOP_REASONS, IO)->values.time_ns, 201000);
	assert_int_equal(top_node_find(vcpu(f, 1), TOP_REASONS, HLT)->values.max_ns, 50);
	assert_int_equal(vm(f)->available_ns, 2ull * S);
	assert_true(vm(f)->history[0] == 1017 && vm(f)->history[1] == 0);
	interval(f, S);
	assert_int_equal(vm(f)->values.count, 0); /* idle: zeros */
	assert_int_equal(vm(f)->values.time_ns, 0);
	assert_int_equal(vcpu(f, 0)->values.p99_ns, 0);
	assert_true(vm(f)->history[0] == 0 && vm(f)->history[1] == 1017);
}

static void test_since_start(void **state)
{
	struct fixture *f = *state;

	exits(f, 0, IO, 5, 100);
	interval(f, 0);
	interval(f, S);
	f->view.since_start = true;
	exits(f, 0, IO, 5, 200);
	interval(f, S);
	assert_int_equal(vm(f)->values.count, 10);
	assert_int_equal(vm(f)->values.max_ns, 200);
	assert_int_equal(vm(f)->available_ns, 2 * VCPUS * 1ull * S);
	assert_true(vm(f)->history[0] == 5); /* still of the interval */
	f->view.since_start = false;
	exits(f, 0, IO, 1, 100);
	interval(f, S);
	assert_int_equal(vm(f)->values.count, 1);
}

/* A vCPU that is halted for seconds spends all of each interval in that exit, and it is counted
 * once. */
static void test_open_exit(void **state)
{
	struct fixture *f = *state;
	struct stat_cell *c = &f->memory->vcpu[0].cell[0];

	interval(f, 0);
	open_exit(f, 0, HLT, f->now_ns + S / 2);
	interval(f, S);
	assert_int_equal(vcpu(f, 0)->values.time_ns, S / 2);
	assert_int_equal(vcpu(f, 0)->values.count, 0);
	interval(f, S);
	assert_int_equal(vcpu(f, 0)->values.time_ns, S);
	assert_int_equal(top_node_find(top_node_find(vcpu(f, 0), TOP_REASONS, HLT), TOP_CAUSES,
				       STAT_ASLEEP_IN_KERNEL)
				 ->values.time_ns,
			 S);
	exits(f, 0, HLT, 1, 0); /* it ends at once, after 1.5 s */
	f->memory->vcpu[0].v.open = 0;
	c->total_ns = 3ull * S / 2;
	c->cause_ns[STAT_ASLEEP_IN_KERNEL] = 3ull * S / 2;
	interval(f, S);
	assert_int_equal(vcpu(f, 0)->values.time_ns, 0);
	assert_int_equal(vcpu(f, 0)->values.count, 1);
	assert_int_equal(vcpu(f, 0)->list[TOP_REASONS].nr, 1);
}

/* More reasons than cells: the rest are (other), an open exit, too. */
static void test_other(void **state)
{
	struct fixture *f = *state;
	struct stat_cell *last = &f->memory->vcpu[0].cell[CELLS - 1];
	struct top_node *other;

	for (uint32_t i = 0; i < CELLS - 1; i++)
		exits(f, 0, 100 + i, 1, 10);
	last->count = 3;
	last->total_ns = 30;
	last->bucket[10] = 3;
	open_exit(f, 0, 500, f->now_ns);
	interval(f, S);
	other = top_node_find(vcpu(f, 0), TOP_REASONS, (uint64_t)TOP_OTHER);
	assert_non_null(other);
	assert_string_equal(other->name, "(other)");
	assert_int_equal(other->values.count, 3);
	assert_int_equal(other->values.time_ns, S + 30);
	assert_null(top_node_find(vcpu(f, 0), TOP_REASONS, 500));
	assert_string_equal(top_node_find(vcpu(f, 0), TOP_REASONS, 100)->name, "0x64");
}

static void test_ports(void **state)
{
	struct fixture *f = *state;
	struct stat_port *p = f->memory->vcpu[0].v.port, *q = f->memory->vcpu[1].v.port;
	struct top_node *n;

	p[3] = (struct stat_port){
		.key = STAT_PORT_USED | STAT_PORT_OUT | 0x3f8, .count = 10, .total_ns = 500};
	q[9] = (struct stat_port){
		.key = STAT_PORT_USED | STAT_PORT_OUT | 0x3f8, .count = 1, .total_ns = 50};
	q[STAT_PORTS - 1].count = 2;
	interval(f, S);
	n = top_node_find(vm(f), TOP_PORTS, p[3].key);
	assert_string_equal(n->name, "out 0x3f8");
	assert_int_equal(n->values.count, 11);
	assert_int_equal(n->values.time_ns, 550);
	assert_string_equal(top_node_find(vm(f), TOP_PORTS, (uint64_t)TOP_OTHER)->name, "(other)");
	p[3].count = 15;
	interval(f, S);
	assert_int_equal(n->values.count, 5);
	assert_int_equal(vm(f)->list[TOP_PORTS].nr, 2);
}

static void test_queues(void **state)
{
	struct fixture *f = *state;
	struct quantiles ns = {0};
	struct top_queue_reading q = {.pid = 4711,
				      .name = "disk queue 0",
				      .ns = &ns,
				      .count = 3,
				      .in_flight = 2,
				      .busy_ns = S / 4};
	struct top_node *n;

	assert_int_equal(quantiles_add(&ns, 50), 0);
	interval(f, S);
	assert_int_equal(top_model_queue(&f->model, &q), 0);
	n = top_node_find(vm(f), TOP_QUEUES, 0);
	assert_string_equal(n->name, "disk queue 0");
	assert_true(n->values.count == 3 && n->values.user == 2 && n->values.time_ns == S / 4);
	assert_true(n->values.p50_ns == 50 && n->values.max_ns == 50);
	q.count = 10;
	q.busy_ns = S;
	interval(f, S);
	assert_int_equal(top_model_queue(&f->model, &q), 0);
	assert_true(n->values.count == 7 && n->values.time_ns == S / 4 * 3);
	assert_true(n->available_ns == S); /* not of each vCPU */
	f->model.since_start = true;
	assert_int_equal(top_model_queue(&f->model, &q), 0);
	assert_true(n->values.count == 10 && n->values.time_ns == S);
	q.pid = 12;
	assert_int_equal(top_model_queue(&f->model, &q), 0); /* a VM that is not shown */
	quantiles_free(&ns);
}

static void test_vms_end(void **state)
{
	struct fixture *f = *state;

	interval(f, S);
	read_vm(f, 12);
	assert_int_equal(f->model.host.list[TOP_VMS].nr, 2);
	top_model_begin(&f->model, f->now_ns + S);
	read_vm(f, 12);
	top_model_end(&f->model);
	assert_null(vm(f));
	top_model_forget(&f->model, 12);
	assert_int_equal(f->model.host.list[TOP_VMS].nr, 0);
}

static void test_json(void **state)
{
	struct fixture *f = *state;
	json_t *all, *j;

	exits(f, 1, HLT, 7, 50);
	interval(f, 0);
	exits(f, 1, HLT, 2, 50);
	interval(f, S);
	all = top_model_json(&f->model);
	assert_int_equal(json_integer_value(json_object_get(all, "interval_ns")), S);
	j = json_array_get(json_object_get(all, "vms"), 0);
	assert_int_equal(json_integer_value(json_object_get(j, "count")), 2);
	j = json_array_get(json_object_get(j, "vcpus"), 1);
	j = json_array_get(json_object_get(j, "reasons"), 0);
	assert_string_equal(json_string_value(json_object_get(j, "name")), "HLT");
	j = json_object_get(j, "causes");
	assert_int_equal(json_integer_value(json_object_get(j, "in the kernel")), 100);
	json_decref(all);
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

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_interval),	 TEST(test_since_start), TEST(test_open_exit),
		TEST(test_other),	 TEST(test_ports),	 TEST(test_queues),
		TEST(test_vms_end),	 TEST(test_json),	 TEST(test_down_and_up),
		TEST(test_sort),	 TEST(test_filter),	 TEST(test_pause_and_help),
		TEST(test_ended),	 TEST(test_frame),	 TEST(test_sizes),
		TEST(test_hostile_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
