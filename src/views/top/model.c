// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Nodes are found by list and key; the figures of an interval are differences of two readings, with the exits that are
 * open.
 */
#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "event/event.h"
#include "views/stat_rows.h"
#include "views/top/model.h"

struct top_node *top_node_find(const struct top_node *parent, enum top_list list, uint64_t key)
{
	for (unsigned int i = 0; i < parent->list[list].nr; i++)
		if (parent->list[list].node[i]->key == key)
			return parent->list[list].node[i];
	return NULL;
}

struct top_node *top_node_get(struct top_node *parent, enum top_list list, enum top_kind kind,
			      uint64_t key)
{
	struct top_node *n = top_node_find(parent, list, key);

	if (n)
		return n;
	n = array_reserve(parent->list[list].node, parent->list[list].nr + 1,
			  parent->list[list].capacity)
		    ? NULL
		    : calloc(1, sizeof(*n));
	if (!n) {
		fail(-ENOMEM, "out of memory");
		return NULL;
	}
	n->kind = kind;
	n->key = key;
	parent->list[list].node[parent->list[list].nr++] = n;
	return n;
}

/* Frees what is below a node. */
static void top_node_clear(struct top_node *n)
{
	for (int l = 0; l < TOP_LISTS; l++) {
		while (n->list[l].nr)
			top_node_remove(n, l, n->list[l].nr - 1);
		free(n->list[l].node);
		n->list[l].node = NULL;
		n->list[l].capacity = 0;
	}
	json_decref(n->causes);
	free(n->cell);
	free(n->port);
	free(n->queue);
	free(n->tasks);
	n->causes = NULL;
	n->cell = NULL;
	n->port = NULL;
	n->queue = NULL;
	n->tasks = NULL;
}

void top_node_remove(struct top_node *parent, enum top_list list, unsigned int i)
{
	struct top_node *n = parent->list[list].node[i];
	unsigned int after = --parent->list[list].nr - i;

	memmove(&parent->list[list].node[i], &parent->list[list].node[i + 1],
		after * sizeof(struct top_node *));
	top_node_clear(n);
	free(n);
}

static void top_history_add(struct top_node *n, double value)
{
	memmove(n->history + 1, n->history, sizeof(n->history) - sizeof(n->history[0]));
	n->history[0] = (float)value;
	if (n->nr_history < TOP_HISTORY)
		n->nr_history++;
}

void top_history_rate(const struct top_model *m, struct top_node *n)
{
	double s = (double)(m->now_ns - m->before_ns) / 1e9;

	if (s > 0)
		top_history_add(n, (double)n->history_count / s);
	n->history_count = 0;
}

/*
 * Readings to figures. Only a reason of a vCPU has a histogram of its own; those of vCPUs and VMs are sums that exist
 * while a VM is read. A cell that did not change since the last reading is not touched, so that an idle VM costs
 * nothing.
 *
 * The time of an exit that has not ended counts from its start: a vCPU that is halted for a minute has spent all of
 * each second in that exit. So the time of an interval is the difference of two sums of ended exits and the open one.
 */

struct top_scratch {
	struct stat_cell read, now, vcpu, vm;
};

/* A vCPU's exit that is open. */
struct open_exit {
	bool open;
	uint32_t reason;
	uint64_t left_ns, time_ns, cause_ns[STAT_CAUSES];
};

int top_model_open(struct top_model *m, const char *(*reason_name)(uint32_t reason), bool latencies)
{
	*m = (struct top_model){.reason_name = reason_name,
				.nr_buckets = latencies ? STAT_BUCKETS : 0};
	m->scratch = calloc(1, sizeof(*m->scratch));
	return m->scratch ? 0 : fail(-ENOMEM, "out of memory");
}

void top_model_close(struct top_model *m)
{
	top_node_clear(&m->host);
	free(m->scratch);
	m->scratch = NULL;
}

uint64_t top_interval_ns(const struct top_model *m, const struct top_node *vm)
{
	uint64_t from_ns =
		vm && (m->since_start || vm->since_ns > m->before_ns) ? vm->since_ns : m->before_ns;

	return m->now_ns > from_ns ? m->now_ns - from_ns : 0;
}

/* ---- sums ---- */

static size_t cell_bytes(const struct top_model *m)
{
	return offsetof(struct stat_cell, bucket) + m->nr_buckets * sizeof(hr_u64);
}

static void cell_clear(const struct top_model *m, struct stat_cell *c)
{
	memset(c, 0, cell_bytes(m));
	c->min_ns = UINT64_MAX;
}

static void values_set(const struct top_model *m, struct top_node *n, const struct stat_cell *sum,
		       uint64_t available_ns)
{
	n->available_ns = available_ns;
	n->values = (struct top_values){
		.count = sum->count, .user = sum->userspace, .time_ns = sum->total_ns};
	if (!sum->count || !m->nr_buckets)
		return;
	n->values.p50_ns = stat_quantile(sum, .5);
	n->values.p99_ns = stat_quantile(sum, .99);
	n->values.max_ns = stat_quantile(sum, 1);
}

static int causes_set(const struct top_model *m, struct top_node *reason,
		      const struct stat_cell *sum)
{
	static const char *const names[STAT_CAUSES] = {
		[STAT_IN_KERNEL] = "in the kernel",
		[STAT_IN_VMM] = "in the VMM",
		[STAT_ASLEEP_IN_KERNEL] = "asleep in the kernel",
		[STAT_ASLEEP_IN_VMM] = "asleep in the VMM",
		[STAT_PREEMPTED] = "preempted",
	};

	for (unsigned int i = 0; m->has_causes && i < STAT_CAUSES; i++) {
		struct top_node *n = top_node_get(reason, TOP_CAUSES, TOP_CAUSE, i);

		if (!n)
			return -ENOMEM;
		snprintf(n->name, sizeof(n->name), "%s", names[i]);
		n->available_ns = reason->available_ns;
		n->values = (struct top_values){.time_ns = sum->cause_ns[i]};
		if (m->now_ns > m->before_ns && n->available_ns)
			top_history_add(n,
					(double)n->values.time_ns * 100 / (double)n->available_ns);
	}
	return 0;
}

/* ---- the exit that is open ---- */

static void open_read(const struct stat_vcpu *v, uint64_t now_ns, struct open_exit *ret)
{
	*ret = (struct open_exit){.open = __atomic_load_n(&v->open, __ATOMIC_ACQUIRE)};
	ret->left_ns = v->left_ns;
	ret->reason = v->reason;
	if (!ret->open || ret->left_ns > now_ns)
		return;
	ret->time_ns = now_ns - ret->left_ns;
	memcpy(ret->cause_ns, v->cause_ns, sizeof(ret->cause_ns));
	if (v->phase < STAT_CAUSES && v->mark_ns <= now_ns)
		ret->cause_ns[v->phase] += now_ns - v->mark_ns;
}

/*
 * A copy of the cell with the open exit, if it is of this reason. One that ended meanwhile would be counted twice or
 * not at all; then again.
 */
static void cell_copy(const struct top_model *m, const struct stat_cell *cell,
		      const struct stat_vcpu *v, struct open_exit *open, struct stat_cell *ret)
{
	uint32_t reason = open->reason;

	for (int i = 0; i < 8; i++) {
		struct open_exit after;

		if (cell)
			memcpy(ret, cell, cell_bytes(m));
		open_read(v, m->now_ns, &after);
		if (after.open == open->open && after.left_ns == open->left_ns)
			break;
		*open = after;
	}
	if (!open->open || open->reason != reason)
		return;
	ret->total_ns += open->time_ns;
	for (unsigned int i = 0; i < STAT_CAUSES; i++)
		ret->cause_ns[i] += open->cause_ns[i];
}

/* ---- a reason of a vCPU ---- */

static struct top_node *reason_get(const struct top_model *m, struct top_node *parent, uint64_t key)
{
	struct top_node *n = top_node_get(parent, TOP_REASONS, TOP_REASON, key);
	struct stat_row row = {.other = key == (uint64_t)TOP_OTHER};
	char buf[16];

	if (!n || n->cell)
		return n;
	row.sum.reason = (uint32_t)key;
	snprintf(n->name, sizeof(n->name), "%s",
		 stat_reason_print(&row, m->reason_name, buf, sizeof(buf)));
	n->cell = calloc(1, cell_bytes(m));
	if (!n->cell)
		fail(-ENOMEM, "out of memory");
	else
		n->cell->min_ns = UINT64_MAX;
	return n->cell ? n : NULL;
}

/* Leaves the interval's exits in scratch->now; false: there are none, and no time in them. */
static bool cell_read(struct top_model *m, struct top_node *n, const struct stat_cell *cell,
		      const struct stat_vcpu *v, struct open_exit *open)
{
	struct stat_cell *read = &m->scratch->read, *now = &m->scratch->now;
	uint64_t count = cell ? cell->count : 0;

	if (!m->since_start && !open && count == n->cell->count &&
	    cell->total_ns == n->cell->total_ns)
		return false;
	cell_clear(m, read);
	if (open)
		cell_copy(m, cell, v, open, read);
	else
		memcpy(read, cell, cell_bytes(m));
	n->history_count = read->count > n->cell->count ? read->count - n->cell->count : 0;
	memcpy(now, read, cell_bytes(m));
	if (!m->since_start)
		stat_cell_subtract(now, n->cell, m->nr_buckets);
	memcpy(n->cell, read, cell_bytes(m));
	return true;
}

/* ---- a vCPU ---- */

struct vcpu_reading {
	struct top_node *vm, *vcpu;
	const struct stat_vcpu *v;
	const struct stat_cell *cells;
	unsigned int nr_cells;
	struct open_exit open;
	uint64_t available_ns, vm_available_ns;
};

static int reason_sum(struct top_model *m, struct vcpu_reading *r, uint64_t key,
		      const struct stat_cell *cell, struct open_exit *open)
{
	struct top_node *n = reason_get(m, r->vcpu, key), *of_vm = reason_get(m, r->vm, key);

	if (!n || !of_vm)
		return -ENOMEM;
	if (!cell_read(m, n, cell, r->v, open))
		cell_clear(m, &m->scratch->now);
	values_set(m, n, &m->scratch->now, r->available_ns);
	of_vm->history_count += n->history_count;
	r->vcpu->history_count += n->history_count;
	top_history_rate(m, n);
	if (m->scratch->now.count || m->scratch->now.total_ns) {
		stat_cell_add(&m->scratch->vcpu, &m->scratch->now, m->nr_buckets);
		stat_cell_add(of_vm->cell, &m->scratch->now, m->nr_buckets);
	}
	return causes_set(m, n, &m->scratch->now);
}

/* The reason of the open exit may have no cell yet: one is made when the first exit ends. */
static int reasons_read(struct top_model *m, struct vcpu_reading *r)
{
	bool open = r->open.open;
	int err = 0;

	for (unsigned int i = 0; i < r->nr_cells && !err; i++) {
		const struct stat_cell *c = &r->cells[i];
		bool other = i == r->nr_cells - 1;
		bool mine = open && (other ? r->v->nr_cells + 1u >= r->nr_cells
					   : c->reason == r->open.reason && i < r->v->nr_cells);

		if (!c->count && !mine)
			continue;
		open &= !mine;
		err = reason_sum(m, r, other ? (uint64_t)TOP_OTHER : c->reason, c,
				 mine ? &r->open : NULL);
	}
	if (open && !err)
		err = reason_sum(m, r, r->open.reason, NULL, &r->open);
	return err;
}

/* ---- ports ---- */

static int port_sum(const struct top_model *m, struct vcpu_reading *r, unsigned int i)
{
	const struct stat_port now = r->v->port[i];
	struct stat_port *before = &r->vcpu->port[i];
	bool other = i == STAT_PORTS - 1;
	struct top_node *n =
		top_node_get(r->vm, TOP_PORTS, TOP_PORT, other ? (uint64_t)TOP_OTHER : now.key);
	uint64_t count = now.count - before->count, time_ns = now.total_ns - before->total_ns;

	if (!n)
		return -ENOMEM;
	if (other)
		snprintf(n->name, sizeof(n->name), "(other)");
	else
		snprintf(n->name, sizeof(n->name), "%s 0x%x",
			 now.key & STAT_PORT_OUT ? "out" : "in", now.key & 0xffff);
	n->history_count += count;
	n->values.count += m->since_start ? now.count : count;
	n->values.time_ns += m->since_start ? now.total_ns : time_ns;
	n->available_ns = r->vm_available_ns;
	*before = now;
	return 0;
}

static int ports_read(const struct top_model *m, struct vcpu_reading *r)
{
	int err = 0;

	if (!r->vcpu->port)
		r->vcpu->port = calloc(STAT_PORTS, sizeof(*r->vcpu->port));
	if (!r->vcpu->port)
		return fail(-ENOMEM, "out of memory");
	for (unsigned int i = 0; i < STAT_PORTS && !err; i++)
		if (r->v->port[i].count)
			err = port_sum(m, r, i);
	return err;
}

/* ---- a VM ---- */

static void vm_clear(const struct top_model *m, struct top_node *vm)
{
	for (unsigned int i = 0; i < vm->list[TOP_REASONS].nr; i++)
		cell_clear(m, vm->list[TOP_REASONS].node[i]->cell);
	for (unsigned int i = 0; i < vm->list[TOP_PORTS].nr; i++)
		vm->list[TOP_PORTS].node[i]->values = (struct top_values){0};
	top_tasks_clear(vm);
}

static int vcpu_read(struct top_model *m, const struct top_vm_reading *reading, struct top_node *vm,
		     unsigned int index)
{
	const struct stat_vcpu *v = reading->vcpu(reading->arg, index);
	struct vcpu_reading r = {.vm = vm,
				 .v = v,
				 .vcpu = top_node_get(vm, TOP_VCPUS, TOP_VCPU, index),
				 .cells = (const struct stat_cell *)(v + 1),
				 .nr_cells = reading->nr_cells,
				 .available_ns = top_interval_ns(m, vm),
				 .vm_available_ns = top_interval_ns(m, vm) * reading->nr_vcpus};
	int err;

	if (!r.vcpu)
		return -ENOMEM;
	snprintf(r.vcpu->name, sizeof(r.vcpu->name), "vCPU %u", index);
	cell_clear(m, &m->scratch->vcpu);
	open_read(v, m->now_ns, &r.open);
	err = reasons_read(m, &r);
	if (!err)
		err = ports_read(m, &r);
	if (!err && m->has_tasks)
		err = top_tasks_add(m, vm, r.vcpu, v);
	values_set(m, r.vcpu, &m->scratch->vcpu, r.available_ns);
	vm->history_count += r.vcpu->history_count;
	top_history_rate(m, r.vcpu);
	if (m->scratch->vcpu.count || m->scratch->vcpu.total_ns)
		stat_cell_add(&m->scratch->vm, &m->scratch->vcpu, m->nr_buckets);
	return err;
}

/* What the sums of its vCPUs are. */
static int vm_sum(struct top_model *m, struct top_node *vm)
{
	uint64_t available_ns = top_interval_ns(m, vm) * vm->nr_vcpus;
	int err = 0;

	for (unsigned int i = 0; i < vm->list[TOP_REASONS].nr && !err; i++) {
		struct top_node *n = vm->list[TOP_REASONS].node[i];

		values_set(m, n, n->cell, available_ns);
		top_history_rate(m, n);
		err = causes_set(m, n, n->cell);
	}
	for (unsigned int i = 0; i < vm->list[TOP_PORTS].nr; i++)
		top_history_rate(m, vm->list[TOP_PORTS].node[i]);
	if (!err)
		err = top_tasks_sum(m, vm, available_ns);
	values_set(m, vm, &m->scratch->vm, available_ns);
	top_history_rate(m, vm);
	return err;
}

int top_model_vm(struct top_model *m, const struct top_vm_reading *reading)
{
	struct top_node *vm = top_node_get(&m->host, TOP_VMS, TOP_VM, (uint64_t)reading->pid);
	int err = 0;

	if (!vm)
		return -ENOMEM;
	vm->since_ns = reading->since_ns;
	snprintf(vm->name, sizeof(vm->name), "%d %.48s", reading->pid, reading->name);
	text_sanitize(vm->name);
	vm->nr_vcpus = reading->nr_vcpus;
	vm->seen = true;
	vm_clear(m, vm);
	cell_clear(m, &m->scratch->vm);
	for (unsigned int i = 0; i < reading->nr_vcpus && !err; i++)
		err = vcpu_read(m, reading, vm, i);
	return err ? err : vm_sum(m, vm);
}

/* ---- queues ---- */

int top_model_queue(struct top_model *m, const struct top_queue_reading *q)
{
	struct top_node *vm = top_node_find(&m->host, TOP_VMS, (uint64_t)q->pid), *n;

	if (!vm)
		return 0;
	n = top_node_get(vm, TOP_QUEUES, TOP_QUEUE, q->number);
	if (n && !n->queue && !(n->queue = calloc(1, sizeof(*n->queue))))
		return fail(-ENOMEM, "out of memory");
	if (!n)
		return -ENOMEM;
	snprintf(n->name, sizeof(n->name), "%s", q->name);
	text_sanitize(n->name);
	n->history_count = q->count - n->queue->count;
	n->available_ns = top_interval_ns(m, vm);
	n->values = (struct top_values){.count = m->since_start ? q->count : n->history_count,
					.user = q->in_flight,
					.time_ns = m->since_start ? q->busy_ns
								  : q->busy_ns - n->queue->busy_ns};
	if (q->ns->count) {
		n->values.p50_ns = quantiles_at(q->ns, .5);
		n->values.p99_ns = quantiles_at(q->ns, .99);
		n->values.max_ns = q->ns->max;
	}
	*n->queue = *q;
	top_history_rate(m, n);
	return 0;
}

/* ---- a reading ---- */

void top_model_begin(struct top_model *m, uint64_t now_ns)
{
	m->before_ns = m->now_ns ? m->now_ns : now_ns;
	m->now_ns = now_ns;
	for (unsigned int i = 0; i < m->host.list[TOP_VMS].nr; i++)
		m->host.list[TOP_VMS].node[i]->seen = false;
}

void top_model_end(struct top_model *m)
{
	for (unsigned int i = m->host.list[TOP_VMS].nr; i--;)
		if (!m->host.list[TOP_VMS].node[i]->seen)
			top_node_remove(&m->host, TOP_VMS, i);
}

void top_model_forget(struct top_model *m, int pid)
{
	for (unsigned int i = m->host.list[TOP_VMS].nr; i--;)
		if (m->host.list[TOP_VMS].node[i]->key == (uint64_t)pid)
			top_node_remove(&m->host, TOP_VMS, i);
}
