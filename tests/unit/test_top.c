// SPDX-License-Identifier: GPL-2.0-or-later
/* The figures of `hostrace top`: from readings of what the kernel has counted. */
#include "top_util.h"

static void open_exit(struct fixture *f, unsigned int vcpu, uint32_t reason, uint64_t left_ns)
{
	struct stat_vcpu *v = &f->memory->vcpu[vcpu].v;

	v->open = 1;
	v->reason = reason;
	v->left_ns = v->mark_ns = left_ns;
	v->phase = STAT_ASLEEP_IN_KERNEL;
}

static struct top_node *vm(const struct fixture *f)
{
	return top_node_find(&f->model.host, TOP_VMS, PID);
}

static struct top_node *vcpu(const struct fixture *f, unsigned int index)
{
	return top_node_find(vm(f), TOP_VCPUS, index);
}

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

/* As bpf/stat.bpf.c does: the slot becomes a task's. */
static void task_begin(struct stat_vcpu *v, unsigned int slot, uint32_t tid, const char *comm)
{
	struct stat_task *t = &v->task[slot];

	v->left.count += t->count;
	v->left.total_ns += t->total_ns;
	*t = (struct stat_task){.key = tid + 1, .begun = t->begun + 2};
	snprintf(t->comm, sizeof(t->comm), "%s", comm);
}

static struct top_node *task(const struct fixture *f, uint64_t tid)
{
	return top_node_find(vm(f), TOP_TASKS, tid + 1);
}

static bool has(const struct top_node *n, const char *name, uint64_t count, uint64_t time_ns)
{
	return n && !strcmp(n->name, name) && n->values.count == count &&
	       n->values.time_ns == time_ns;
}

static void test_tasks(void **state)
{
	struct fixture *f = *state;
	struct stat_vcpu *v = &f->memory->vcpu[0].v, *w = &f->memory->vcpu[1].v;

	task_begin(v, 3, 70, "make\033");
	task_begin(v, 4, 0, "swapper/0");
	task_begin(w, 9, 70, "make\033");
	task_begin(w, 8, 0, "swapper/1");
	v->task[3].count = 10;
	v->task[3].total_ns = 500;
	w->task[9].count = w->task[8].count = 1;
	w->task[STAT_TASK_UNKNOWN].count = 2;
	interval(f, S);
	assert_int_equal(vm(f)->list[TOP_TASKS].nr, 0); /* not asked for */

	f->model.has_tasks = true;
	interval(f, S);
	assert_true(has(task(f, 70), "make?-70", 11, 500));
	assert_true(has(task(f, 0), "swapper-0", 1, 0));
	assert_true(has(top_node_find(vm(f), TOP_TASKS, (uint64_t)TOP_UNKNOWN), "(unknown)", 2, 0));
	assert_int_equal(vm(f)->list[TOP_TASKS].nr, 3); /* no other tasks */
	assert_int_equal(task(f, 70)->available_ns, VCPUS * S);

	v->task[3].count = 15;
	interval(f, S);
	assert_true(has(task(f, 70), "make?-70", 5, 0));
	f->view.since_start = true;
	interval(f, S);
	assert_true(has(task(f, 70), "make?-70", 16, 500));
}

/* The time of an exit that has not ended is its task's, and is counted once. */
static void test_task_open(void **state)
{
	struct fixture *f = *state;
	struct stat_vcpu *v = &f->memory->vcpu[0].v;

	f->model.has_tasks = true;
	task_begin(v, 4, 0, "swapper/0");
	v->task_now = 4 + 1;
	open_exit(f, 0, HLT, f->now_ns);
	interval(f, S);
	assert_true(has(task(f, 0), "swapper-0", 0, S));
	interval(f, S);
	assert_true(has(task(f, 0), "swapper-0", 0, S));
	v->open = 0;
	v->task[4].count = 1;
	v->task[4].total_ns = 2 * S + 7;
	interval(f, S);
	assert_true(has(task(f, 0), "swapper-0", 1, 7));
}

/* More tasks than slots: nothing is lost, and nothing is counted twice. */
static void test_task_slots(void **state)
{
	struct fixture *f = *state;
	struct stat_vcpu *v = &f->memory->vcpu[0].v;
	const struct top_node *other;

	f->model.has_tasks = true;
	task_begin(v, 3, 70, "cc1");
	v->task[3].count = 10;
	v->task[3].total_ns = 100;
	interval(f, S);
	v->task[3].count += 4;
	v->task[3].total_ns += 40;
	task_begin(v, 3, 71, "cc1");
	v->task[3].count = 3;
	task_begin(v, 3, 72, "ld");
	v->task[3].count = 1;
	interval(f, S);
	other = top_node_find(vm(f), TOP_TASKS, (uint64_t)TOP_OTHER);
	assert_true(has(other, "(other)", 4 + 3, 40));
	assert_true(has(task(f, 72), "ld-72", 1, 0));
	assert_int_equal(vm(f)->list[TOP_TASKS].nr, 2);
	f->view.since_start = true;
	interval(f, S);
	assert_true(has(other, "(other)", 10 + 4 + 3, 140));

	/* read while the slot changes: what it had counted is missing for one interval */
	f->view.since_start = false;
	v->task[3].begun++;
	interval(f, S);
	assert_true(has(other, "(other)", 0, 0));
	v->task[3].begun--;
	task_begin(v, 3, 73, "as");
	v->left.count -= 1;
	interval(f, S);
	assert_true(has(other, "(other)", 0, 0));
	v->left.count += 1;
	interval(f, S);
	assert_true(has(other, "(other)", 0, 0)); /* 1 - 1: it was shown as that of 72 */
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_interval),  TEST(test_since_start), TEST(test_open_exit),
		TEST(test_other),     TEST(test_ports),	      TEST(test_tasks),
		TEST(test_task_open), TEST(test_task_slots),  TEST(test_queues),
		TEST(test_vms_end),   TEST(test_json),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
