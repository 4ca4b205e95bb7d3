// SPDX-License-Identifier: GPL-2.0-or-later
/* Causes of an interval, of counters whose values are known. */
#include "top_util.h"

#include "base/json_text.h"
#include "views/top/causes.h"

/* Exits whose time went into this. */
static void lost(struct fixture *f, unsigned int vcpu, uint32_t reason, enum stat_cause cause,
		 uint64_t ns)
{
	struct stat_cell *c = f->memory->vcpu[vcpu].cell;

	exits(f, vcpu, reason, 1, 0);
	while (c->reason != reason)
		c++;
	c->total_ns += ns;
	c->userspace += cause == STAT_IN_VMM || cause == STAT_ASLEEP_IN_VMM;
	c->cause_ns[cause] += ns;
}

static json_t *causes_of(struct fixture *f, json_t *outside)
{
	json_t *list =
		top_causes_make(&f->model, top_node_find(&f->model.host, TOP_VMS, PID), outside);

	json_decref(outside);
	return list;
}

static const char *id_of(const json_t *list, size_t i)
{
	return text_of(json_array_get(list, i), "id");
}

static json_int_t lost_of(const json_t *list, size_t i)
{
	return json_integer_value(json_object_get(json_array_get(list, i), "lost_ns"));
}

static void begin(struct fixture *f)
{
	interval(f, 0);
	interval(f, S);
}

static void test_healthy(void **state)
{
	struct fixture *f = *state;
	json_t *list;

	begin(f);
	list = causes_of(f, NULL);
	assert_true(json_is_array(list) && !json_array_size(list));
	json_decref(list);
	lost(f, 0, HLT, STAT_ASLEEP_IN_KERNEL, S - 1000); /* idle */
	interval(f, S);
	list = causes_of(f, NULL);
	assert_int_equal(json_array_size(list), 0);
	json_decref(list);
}

static void test_since_start(void **state)
{
	struct fixture *f = *state;
	json_t *list;

	begin(f);
	f->view.since_start = true;
	interval(f, S);
	list = causes_of(f, NULL);
	assert_true(json_is_null(list));
	json_decref(list);
}

static void test_exits(void **state)
{
	struct fixture *f = *state;
	char line[256];
	json_t *list;

	begin(f);
	lost(f, 0, HLT, STAT_ASLEEP_IN_KERNEL, S / 4);
	lost(f, 0, IO, STAT_IN_VMM, S / 2);
	lost(f, 0, IO, STAT_ASLEEP_IN_VMM, S / 10);
	lost(f, 1, IO, STAT_ASLEEP_IN_KERNEL, S / 5);
	interval(f, S);
	list = causes_of(f, NULL);
	assert_int_equal(json_array_size(list), 3);
	assert_string_equal(id_of(list, 0), "exits-port");
	assert_int_equal(lost_of(list, 0), S / 2);
	assert_string_equal(id_of(list, 1), "page-faults");
	assert_int_equal(lost_of(list, 1), S / 5);
	assert_string_equal(id_of(list, 2), "vmm-asleep");
	assert_string_equal(text_of(json_array_get(list, 0), "text"),
			    "vCPU 0 had exits handled by QEMU for 50.0 % of the interval (500ms); "
			    "most of it: port I/O (IO), 500ms.");
	top_node_find(&f->model.host, TOP_VMS, PID)->causes = list;
	assert_true(top_cause_print(&f->view, &f->model, line, sizeof(line)));
	assert_memory_equal(line, "4711 web1: exits-port 50.0 %: vCPU 0", 36);
}

/* A quota takes half of what a vCPU waited for; a task of the host and an idle CPU have the rest. */
static void test_outside(void **state)
{
	struct fixture *f = *state;
	json_t *list;

	begin(f);
	interval(f, S);
	list = causes_of(f, json_pack("{s:[{s:i,s:i,s:i,s:i}],s:{s:[{s:[i],s:s,s:f,s:i,s:i}],s:i},"
				      "s:[{s:i,s:s,s:i,s:i},{s:i,s:s,s:i,s:i}]}",
				      "threads", "vcpu", 0, "tid", 55, "ready_ns", S / 2 + S / 8,
				      "waits", 10, "limits", "cgroups", "tids", 55, "path", "/web",
				      "cpus", .5, "throttled", 5, "throttled_ns", S / 4, "ns", S,
				      "tasks", "tid", 55, "task", "cc1 (77)", "task_tid", 77,
				      "time_ns", S / 4 + S / 8, "tid", 55, "task", "idle",
				      "task_tid", 0, "time_ns", S / 4));
	assert_int_equal(json_array_size(list), 2);
	assert_string_equal(id_of(list, 0), "cpu-host-task");
	assert_int_equal(lost_of(list, 0), S / 4 + S / 8);
	assert_string_equal(id_of(list, 1), "cpu-quota");
	assert_int_equal(lost_of(list, 1), S / 4);
	assert_string_equal(
		text_of(json_array_get(list, 0), "text"),
		"vCPU 0 was ready to run without a CPU for 37.5 % of the interval (375ms); ran "
		"instead: cc1 (77), 375ms.");
	json_decref(list);
}

/* What had the CPU: the process says it, or the name does. */
/* A VM is stopped while no vCPU may run; what a vCPU's thread sleeps meanwhile is no exit's. */
static void test_still(void **state)
{
	struct fixture *f = *state;
	json_t *list;

	begin(f);
	lost(f, 0, IO, STAT_ASLEEP_IN_VMM, S / 2);
	lost(f, 1, IO, STAT_ASLEEP_IN_VMM, S / 2);
	interval(f, S);
	list = causes_of(f, json_pack("{s:[{s:i,s:i,s:i},{s:i,s:i,s:i}]}", "threads", "vcpu", 0,
				      "tid", 55, "paused_ns", S / 2, "vcpu", 1, "tid", 56,
				      "paused_ns", S / 4));
	assert_string_equal(id_of(list, 0), "vmm-asleep");
	assert_int_equal(lost_of(list, 0), S / 4);
	assert_string_equal(id_of(list, 1), "vm-stopped");
	assert_int_equal(lost_of(list, 1), S / 4);
	assert_string_equal(
		text_of(json_array_get(list, 1), "text"),
		"The VM was stopped for 25.0 % of the interval (250ms): no vCPU may run; "
		"QEMU's monitor has the reason (info status).");
	json_decref(list);

	lost(f, 0, IO, STAT_ASLEEP_IN_VMM, S / 2);
	interval(f, S);
	list = causes_of(f, json_pack("{s:[{s:i,s:i,s:i},{s:i,s:i}]}", "threads", "vcpu", 0, "tid",
				      55, "stopped_ns", S / 2, "vcpu", 1, "tid", 56));
	assert_int_equal(json_array_size(list), 1);
	assert_string_equal(id_of(list, 0), "vmm-stopped");
	assert_int_equal(lost_of(list, 0), S / 2);
	json_decref(list);
}

static void test_tasks(void **state)
{
	static const struct {
		const char *task, *ran, *cause;
		int pid;
	} of[] = {{"worker (71)", "own", "cpu-own-threads", PID},
		  {"CPU 0/KVM (72)", "own", "cpu-own-threads", PID},
		  {"qemu-kvm (73)", "other-vm", "cpu-other-vm", 5},
		  {"CPU 0/KVM (74)", NULL, "cpu-other-vm", 0},
		  {"kvm-pit/4711 (75)", NULL, "cpu-own-threads", 0},
		  {"kvm-pit/99 (76)", NULL, "cpu-other-vm", 0},
		  {"stress (77)", NULL, "cpu-host-task", 0},
		  {"top (78)", NULL, NULL, 78},
		  {"hostrace (79)", NULL, NULL, 0},
		  {"hostrace-httpd (80)", NULL, NULL, 0},
		  {"hostrace-demo (81)", NULL, "cpu-host-task", 0},
		  {"hostracer (82)", NULL, "cpu-host-task", 0}};
	struct fixture *f = *state;
	json_t *list;

	begin(f);
	for (size_t i = 0; i < sizeof(of) / sizeof(*of); i++) {
		interval(f, S);
		list = causes_of(f, json_pack("{s:[{s:i,s:i,s:i,s:i}],s:[{s:i}],s:{s:i},"
					      "s:[{s:i,s:s,s:i,s:i,s:s*,s:i}]}",
					      "threads", "vcpu", 0, "tid", 55, "ready_ns", S / 2,
					      "waits", 10, "vms", "pid", PID, "recorder", "pid", 78,
					      "tasks", "tid", 55, "task", of[i].task, "task_tid",
					      71 + (int)i, "task_pid", of[i].pid, "ran", of[i].ran,
					      "time_ns", S / 2));
		assert_int_equal(json_array_size(list), of[i].cause ? 1 : 0);
		if (of[i].cause)
			assert_string_equal(id_of(list, 0), of[i].cause);
		json_decref(list);
	}
}

/* Without latencies cells have no buckets, in memory neither; halts have their average. */
static void test_no_latencies(void **state)
{
	struct fixture *f = *state;
	json_t *list;

	top_model_close(&f->model);
	assert_int_equal(top_model_open(&f->model, reason_name, false), 0);
	f->model.has_causes = true;
	begin(f);
	exits(f, 0, HLT, 1000000, 200);
	lost(f, 0, IO, STAT_IN_VMM, S / 2);
	interval(f, S);
	list = causes_of(f, NULL);
	assert_int_equal(json_array_size(list), 2);
	assert_string_equal(id_of(list, 0), "exits-port");
	assert_int_equal(lost_of(list, 0), S / 2);
	assert_string_equal(id_of(list, 1), "halts-not-idle");
	assert_int_equal(lost_of(list, 1), S / 5); /* of vCPU 0 */
	json_decref(list);
	exits(f, 0, HLT, 1, 200);
	interval(f, S);
	list = causes_of(f, NULL);
	assert_int_equal(json_array_size(list), 0);
	json_decref(list);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_healthy),	 TEST(test_since_start), TEST(test_exits),
		TEST(test_outside),	 TEST(test_tasks),	 TEST(test_still),
		TEST(test_no_latencies),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
