// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A slot that has got another task counts from 0 again. What the task before counted after its last reading is in
 * stat_vcpu.left then, together with what was read of it, which is subtracted. So nothing is missing, but goes to the
 * row "(other)". The slots are read while they change, so that a part may be seen one reading later: differences have
 * signs, and are 0 together.
 */
#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "event/event.h"
#include "output/report.h"
#include "views/top/model.h"

/* The guest tasks of a VM, from the slots of its vCPUs (struct stat_task). */

enum { TRIES = 8 };

struct top_tasks_read {
	struct stat_task task[STAT_TASKS];
	struct stat_tasks_left left;
	int64_t count, time_ns; /* of other tasks, not yet shown */
};

/* With the time of the exit that is open. False: it is being given to another task. */
static bool slot_read(const struct stat_vcpu *v, unsigned int i, uint64_t now_ns,
		      struct stat_task *ret)
{
	const struct stat_task *slot = &v->task[i];

	for (int try = 0; try < TRIES; try++) {
		uint32_t begun = __atomic_load_n(&slot->begun, __ATOMIC_ACQUIRE);
		bool open = __atomic_load_n(&v->open, __ATOMIC_ACQUIRE);
		uint64_t left_ns = v->left_ns;

		memcpy(ret, slot, sizeof(*ret));
		if (open && v->task_now == i + 1 && left_ns < now_ns)
			ret->total_ns += now_ns - left_ns;
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		if (!(begun & 1) && __atomic_load_n(&slot->begun, __ATOMIC_RELAXED) == begun &&
		    __atomic_load_n(&v->open, __ATOMIC_RELAXED) == open && v->left_ns == left_ns)
			return true;
	}
	return false;
}

static void task_name(struct top_node *n, const struct stat_task *t)
{
	char comm[GUEST_COMM_MAX];

	snprintf(comm, sizeof(comm), "%s", t->comm);
	if (t->key == 1) /* the idle tasks of all CPUs have thread id 0 */
		comm[strcspn(comm, "/")] = '\0';
	text_sanitize(comm);
	snprintf(n->name, sizeof(n->name), "%s-%u", comm, t->key - 1);
}

static struct top_node *task_get(struct top_node *vm, uint64_t key, const struct stat_task *t)
{
	struct top_node *n = top_node_get(vm, TOP_TASKS, TOP_TASK, key);

	if (n && key == (uint64_t)TOP_OTHER)
		snprintf(n->name, sizeof(n->name), "(other)");
	else if (n && key == (uint64_t)TOP_UNKNOWN)
		snprintf(n->name, sizeof(n->name), "(unknown)");
	else if (n)
		task_name(n, t);
	return n;
}

static void values_add(struct top_node *n, uint64_t count, uint64_t time_ns)
{
	n->values.count += count;
	n->values.time_ns += time_ns;
	n->history_count += count;
}

static int slot_add(struct top_node *vm, struct top_tasks_read *before, unsigned int i,
		    const struct stat_task *now)
{
	struct stat_task *was = &before->task[i];
	uint64_t key = i == STAT_TASK_UNKNOWN ? (uint64_t)TOP_UNKNOWN : now->key;
	struct top_node *n = task_get(vm, key, now);

	if (!n)
		return -ENOMEM;
	if (now->begun != was->begun) {
		before->count -= (int64_t)was->count;
		before->time_ns -= (int64_t)was->total_ns;
		was->count = was->total_ns = 0;
	}
	n->seen = true;
	values_add(n, now->count - was->count,
		   now->total_ns > was->total_ns ? now->total_ns - was->total_ns : 0);
	*was = *now;
	return 0;
}

int top_tasks_add(const struct top_model *m, struct top_node *vm, struct top_node *vcpu,
		  const struct stat_vcpu *v)
{
	struct top_tasks_read *before = vcpu->tasks;
	struct stat_tasks_left left = v->left;
	int err = 0;

	if (!before)
		before = vcpu->tasks = calloc(1, sizeof(*before));
	if (!before)
		return fail(-ENOMEM, "out of memory");
	for (unsigned int i = 0; i < STAT_TASKS && !err; i++) {
		struct stat_task now;
		bool known = v->task[i].key || (i == STAT_TASK_UNKNOWN && v->task[i].count);

		if (known && slot_read(v, i, m->now_ns, &now))
			err = slot_add(vm, before, i, &now);
	}
	before->count += (int64_t)(left.count - before->left.count);
	before->time_ns += (int64_t)(left.total_ns - before->left.total_ns);
	before->left = left;
	return err;
}

void top_tasks_clear(struct top_node *vm)
{
	for (unsigned int i = 0; i < vm->list[TOP_TASKS].nr; i++) {
		vm->list[TOP_TASKS].node[i]->values = (struct top_values){0};
		vm->list[TOP_TASKS].node[i]->seen = false;
	}
}

static void total_add(struct top_node *n, const struct top_values *v)
{
	n->total.count += v->count;
	n->total.time_ns += v->time_ns;
}

/* What the vCPU's tasks without a slot have counted. */
static void left_take(struct top_node *vcpu, struct top_node *other)
{
	struct top_tasks_read *t = vcpu->tasks;
	uint64_t count = t->count > 0 ? (uint64_t)t->count : 0;
	uint64_t time_ns = t->time_ns > 0 ? (uint64_t)t->time_ns : 0;

	values_add(other, count, time_ns);
	t->count -= (int64_t)count;
	t->time_ns -= (int64_t)time_ns;
}

static bool has_left(const struct top_node *vm)
{
	for (unsigned int i = 0; i < vm->list[TOP_VCPUS].nr; i++) {
		const struct top_tasks_read *t = vm->list[TOP_VCPUS].node[i]->tasks;

		if (t && (t->left.count || t->left.total_ns))
			return true;
	}
	return false;
}

static int others_sum(struct top_node *vm)
{
	struct top_node *other = has_left(vm) ? task_get(vm, (uint64_t)TOP_OTHER, NULL) : NULL;

	if (!other)
		return has_left(vm) ? -ENOMEM : 0;
	other->seen = true;
	for (unsigned int i = 0; i < vm->list[TOP_VCPUS].nr; i++)
		if (vm->list[TOP_VCPUS].node[i]->tasks)
			left_take(vm->list[TOP_VCPUS].node[i], other);
	for (unsigned int i = vm->list[TOP_TASKS].nr; i--;) {
		struct top_node *n = vm->list[TOP_TASKS].node[i];

		if (n->seen)
			continue;
		total_add(other, &n->total);
		top_node_remove(vm, TOP_TASKS, i);
	}
	return 0;
}

int top_tasks_sum(const struct top_model *m, struct top_node *vm, uint64_t available_ns)
{
	int err = others_sum(vm);

	for (unsigned int i = 0; i < vm->list[TOP_TASKS].nr && !err; i++) {
		struct top_node *n = vm->list[TOP_TASKS].node[i];

		total_add(n, &n->values);
		if (m->since_start)
			n->values = n->total;
		n->available_ns = available_ns;
		top_history_rate(m, n);
	}
	return err;
}

static json_t *node_json(const struct top_model *m, const struct top_node *n);

static json_t *list_json(const struct top_model *m, const struct top_node *parent,
			 enum top_list list)
{
	json_t *array = json_array();

	for (unsigned int i = 0; i < parent->list[list].nr; i++)
		json_array_append_new(array, node_json(m, parent->list[list].node[i]));
	return array;
}

/* {"in the kernel": ns, ...} */
static json_t *causes_json(const struct top_node *reason)
{
	json_t *object = json_object();

	for (unsigned int i = 0; i < reason->list[TOP_CAUSES].nr; i++) {
		const struct top_node *n = reason->list[TOP_CAUSES].node[i];

		json_object_set_new(object, n->name, json_integer((json_int_t)n->values.time_ns));
	}
	return object;
}

static json_t *port_json(const struct top_model *m, const struct top_node *n)
{
	json_t *o = json_pack("{s:s,s:I}", "port", n->name, "count", (json_int_t)n->values.count);

	if (m->times_ports)
		json_object_set_new(o, "time_ns", json_integer((json_int_t)n->values.time_ns));
	return o;
}

static json_t *queue_json(const struct top_node *n)
{
	return json_pack("{s:o,s:I,s:I,s:I,s:I,s:I,s:I}", "queue", json_text(n->name), "count",
			 (json_int_t)n->values.count, "in_flight", (json_int_t)n->values.user,
			 "busy_ns", (json_int_t)n->values.time_ns, "p50_ns",
			 (json_int_t)n->values.p50_ns, "p99_ns", (json_int_t)n->values.p99_ns,
			 "max_ns", (json_int_t)n->values.max_ns);
}

static json_t *task_json(const struct top_node *n)
{
	json_t *o = json_pack("{s:o,s:I,s:I}", "task", json_text(n->name), "count",
			      (json_int_t)n->values.count, "time_ns",
			      (json_int_t)n->values.time_ns);

	if (n->key < (uint64_t)TOP_UNKNOWN)
		json_object_set_new(o, "guest_tid", json_integer((json_int_t)n->key - 1));
	return o;
}

static json_t *node_json(const struct top_model *m, const struct top_node *n)
{
	json_t *o;

	if (n->kind == TOP_QUEUE)
		return queue_json(n);
	if (n->kind == TOP_TASK)
		return task_json(n);

	if (n->kind == TOP_PORT)
		return port_json(m, n);
	o = json_pack("{s:o,s:I,s:I,s:I,s:I,s:I,s:I,s:I}", "name", json_text(n->name), "count",
		      (json_int_t)n->values.count, "userspace_count", (json_int_t)n->values.user,
		      "time_ns", (json_int_t)n->values.time_ns, "available_ns",
		      (json_int_t)n->available_ns, "p50_ns", (json_int_t)n->values.p50_ns, "p99_ns",
		      (json_int_t)n->values.p99_ns, "max_ns", (json_int_t)n->values.max_ns);
	if (n->kind == TOP_VM) {
		json_object_set_new(o, "pid", json_integer((json_int_t)n->key));
		json_object_set_new(o, "vcpus", list_json(m, n, TOP_VCPUS));
		json_object_set_new(o, "reasons", list_json(m, n, TOP_REASONS));
		json_object_set_new(o, "ports", list_json(m, n, TOP_PORTS));
		json_object_set(o, "causes", n->causes ? n->causes : json_null());
		if (m->has_queues)
			json_object_set_new(o, "queues", list_json(m, n, TOP_QUEUES));
		if (m->has_tasks)
			json_object_set_new(o, "tasks", list_json(m, n, TOP_TASKS));
	} else if (n->kind == TOP_VCPU) {
		json_object_set_new(o, "vcpu", json_integer((json_int_t)n->key));
		json_object_set_new(o, "reasons", list_json(m, n, TOP_REASONS));
	} else {
		json_object_set_new(o, "causes", causes_json(n));
	}
	return o;
}

json_t *top_model_json(const struct top_model *m)
{
	return json_pack("{s:I,s:I,s:o}", "time_ns", (json_int_t)m->now_ns, "interval_ns",
			 (json_int_t)(m->now_ns - m->before_ns), "vms",
			 list_json(m, &m->host, TOP_VMS));
}
