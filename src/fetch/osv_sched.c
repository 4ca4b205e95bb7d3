// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What an OSv guest's scheduler and timers have to do: the run queue of each vCPU, a tree of Boost whose leftmost
 * thread is the next to run (the one that runs is not in it), and callouts, a std::set of pointers in the order of
 * expiry.
 */
#include <errno.h>
#include <inttypes.h>
#include <libiberty/demangle.h>

#include "base/array.h"
#include "base/error.h"
#include "fetch/osv_containers.h"
#include "fetch/osv_state.h"

/* ---- run queues ---- */

struct runqueue_walk {
	struct osv_guest g;
	uint64_t cpus;
	uint32_t cpu_id, acpi_id, root, link, id, name, vruntime;
	const struct osv_queued *cpu; /* whose queue is being read */
	struct osv_queued *row;
	size_t nr;
};

static int runqueue_find(void *walk)
{
	struct runqueue_walk *w = walk;
	struct layout *l = w->g.layout;
	const struct layout_member members[] = {
		{"sched::cpu", "id", &w->cpu_id, NULL},
		{"sched::cpu", "runqueue.holder.root.parent_", &w->root, NULL},
		{"sched::thread", "_runqueue_link", &w->link, NULL},
		{"sched::thread", "_id", &w->id, NULL},
		{"sched::thread", "_attr._name", &w->name, NULL},
		{"sched::thread", "_runtime._Rtt", &w->vruntime, NULL},
	};
	const struct layout_member acpi = {"sched::cpu", "arch.acpi_id", &w->acpi_id, NULL};
	int err = layout_symbol(l, "_ZN5sched4cpusE", &w->cpus);

	if (!err)
		err = layout_members(l, members, sizeof(members) / sizeof(*members));
	if (!err && layout_members(l, &acpi, 1))
		w->acpi_id = w->cpu_id;
	return err;
}

static int queued_add(void *arg, uint64_t node)
{
	struct runqueue_walk *w = arg;
	struct osv_queued q = *w->cpu;
	struct osv_member members[] = {{w->id, 4, &q.id},
				       {w->name, sizeof(q.name) - 1, q.name},
				       {w->vruntime, 4, &q.vruntime}};
	int err;

	q.address = node - w->link;
	err = osv_guest_members(&w->g, q.address, members, 3);
	if (err)
		return osv_guest_lose(&w->g, "thread", q.address, err);
	text_sanitize(q.name);
	return array_add(w->row, w->nr, q);
}

static int cpu_queue_read(struct runqueue_walk *w, uint64_t cpu)
{
	struct osv_queued of_cpu = {0};
	uint64_t root;
	struct osv_member members[] = {
		{w->cpu_id, 4, &of_cpu.cpu}, {w->acpi_id, 4, &of_cpu.acpi_id}, {w->root, 8, &root}};
	int err = osv_guest_members(&w->g, cpu, members, 3);

	if (err)
		return osv_guest_lose(&w->g, "vCPU", cpu, err);
	w->cpu = &of_cpu;
	return osv_tree_walk(&w->g, "run queue", root, OSV_BOOST_LEFT, queued_add, w);
}

static int runqueue_walk(void *walk)
{
	struct runqueue_walk *w = walk;
	uint64_t *cpu = NULL;
	unsigned int nr = 0;
	int err = osv_guest_vector(&w->g, w->cpus, OSV_CPUS_MAX, &cpu, &nr);

	for (unsigned int i = 0; i < nr && !err; i++)
		err = cpu_queue_read(w, cpu[i]);
	free(cpu);
	return err;
}

int osv_runqueue(const struct osv_guest_options *opt, struct osv_rows *ret,
		 struct osv_pause *ret_pause)
{
	struct runqueue_walk w = {0};
	int err = osv_guest_visit(opt, &w.g, runqueue_find, runqueue_walk, &w, ret_pause);

	osv_guest_close(&w.g);
	*ret = (struct osv_rows){w.row, w.nr, sizeof(*w.row)};
	return err;
}

/* ---- callouts ---- */

struct callouts_walk {
	struct osv_guest g;
	uint64_t set;
	uint32_t flags, time, function, argument;
	struct osv_callout *row;
	size_t nr;
};

static int callouts_find(void *walk)
{
	struct callouts_walk *w = walk;
	const struct layout_member members[] = {
		{"callout", "c_flags", &w->flags, NULL},
		{"callout", "c_to_ns", &w->time, NULL},
		{"callout", "c_fn", &w->function, NULL},
		{"callout", "c_arg", &w->argument, NULL},
	};
	int err = layout_symbol(w->g.layout, "_ZN8callouts9_calloutsE", &w->set);

	return err ? err : layout_members(w->g.layout, members, sizeof(members) / sizeof(*members));
}

static void symbol_name(const struct layout *l, uint64_t address, char *ret, size_t size)
{
	const char *symbol = layout_symbol_at(l, address);
	_cleanup_free_ char *name = symbol ? cplus_demangle(symbol, DMGL_ANSI | DMGL_PARAMS) : NULL;

	snprintf(ret, size, "%s", name ? name : symbol ? symbol : "");
}

static int callout_read(struct callouts_walk *w, uint64_t address)
{
	struct osv_callout c = {.address = address};
	struct osv_member members[] = {{w->flags, 4, &c.flags},
				       {w->time, 8, &c.time_ns},
				       {w->function, 8, &c.function},
				       {w->argument, 8, &c.argument}};
	int err = osv_guest_members(&w->g, address, members, 4);

	if (err)
		return err;
	return array_add(w->row, w->nr, c);
}

static int callout_add(void *arg, uint64_t node)
{
	struct callouts_walk *w = arg;
	uint64_t address;
	int err = osv_guest_u64(&w->g, node + OSV_STD_VALUE, &address);

	if (!err)
		err = callout_read(w, address);
	return err ? osv_guest_lose(&w->g, "callout", node, err) : 0;
}

static int callouts_walk(void *walk)
{
	struct callouts_walk *w = walk;
	uint64_t root;
	int err = osv_guest_u64(&w->g, w->set + OSV_STD_HEADER + OSV_STD_ROOT, &root);

	return err ? err
		   : osv_tree_walk(&w->g, "set of callouts", root, OSV_STD_LEFT, callout_add, w);
}

int osv_callouts(const struct osv_guest_options *opt, struct osv_rows *ret,
		 struct osv_pause *ret_pause)
{
	struct callouts_walk w = {0};
	int err = osv_guest_visit(opt, &w.g, callouts_find, callouts_walk, &w, ret_pause);

	for (size_t i = 0; i < w.nr && !err; i++) {
		struct osv_callout *c = &w.row[i];

		symbol_name(w.g.layout, c->address, c->name, sizeof(c->name));
		symbol_name(w.g.layout, c->function, c->function_name, sizeof(c->function_name));
	}
	osv_guest_close(&w.g);
	*ret = (struct osv_rows){w.row, w.nr, sizeof(*w.row)};
	return err;
}
