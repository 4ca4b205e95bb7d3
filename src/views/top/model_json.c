// SPDX-License-Identifier: GPL-2.0-or-later
#include "output/report.h"
#include "views/top/model.h"

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
