// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The guest's threads, as `osv info threads` walks them: sched::thread_map is a hash table of
 * libstdc++ (its nodes form one list: pointer to the next, then the pair of id and thread). One
 * that waits has left its registers in its object; one that runs is where its vCPU is: the vCPU
 * whose stack pointer is in the thread's stack. OSv uses frame pointers.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "base/order.h"
#include "event/event.h"
#include "fetch/osv_guest.h"

/* libstdc++'s _Hashtable: buckets, their number, then the node before the first. */
enum { MAP_FIRST_OFFSET = 16, MAP_COUNT_OFFSET = 24, NODE_THREAD_OFFSET = 16 };

enum { OBJECT_MAX = 16 << 10 }; /* bytes of a thread object that are of interest */

struct places {
	uint64_t map;
	uint16_t id, name, stack_begin, stack_size, detached, rsp, rbp, rip, vruntime, cpu_time;
	uint16_t status, status_size, cpu; /* of the detached state */
	uint16_t cpu_id;
	uint32_t span; /* bytes of a thread object from its start */
};

struct walk {
	struct osv_guest g;
	struct places at;
	struct gdb_vcpu *vcpu;
	unsigned int nr_vcpus;
	struct osv_thread *thread;
	unsigned int nr;
	bool no_location;
	uint8_t object[OBJECT_MAX]; /* the thread that is read */
};

static int places_find(void *walk)
{
	struct walk *w = walk;
	struct places *at = &w->at;
	const struct layout_member members[] = {
		{"sched::thread", "_id", &at->id, NULL},
		{"sched::thread", "_attr._name", &at->name, NULL},
		{"sched::thread", "_attr._stack.begin", &at->stack_begin, NULL},
		{"sched::thread", "_attr._stack.size", &at->stack_size, NULL},
		{"sched::thread", "_detached_state", &at->detached, NULL},
		{"sched::thread", "_state.rsp", &at->rsp, NULL},
		{"sched::thread", "_state.rbp", &at->rbp, NULL},
		{"sched::thread", "_state.rip", &at->rip, NULL},
		{"sched::thread", "_runtime._Rtt", &at->vruntime, NULL},
		{"sched::thread", "_total_cpu_time", &at->cpu_time, NULL},
		{"sched::thread::detached_state", "st", &at->status, &at->status_size},
		{"sched::thread::detached_state", "_cpu", &at->cpu, NULL},
		{"sched::cpu", "id", &at->cpu_id, NULL},
	};
	int err = layout_symbol(w->g.layout, "_ZN5sched10thread_mapE", &at->map);

	if (!err)
		err = layout_members(w->g.layout, members, sizeof(members) / sizeof(*members));
	for (size_t i = 0; !err && i < sizeof(members) / sizeof(*members); i++)
		if (!strcmp(members[i].type, "sched::thread") &&
		    *members[i].offset + 16u > at->span)
			at->span = *members[i].offset + 16u;
	if (!err && at->span > OBJECT_MAX)
		err = fail(-E2BIG, "unsupported size of a thread object: %u bytes", at->span);
	return err;
}

static uint64_t object_u64(const struct walk *w, uint16_t offset)
{
	uint64_t v;

	memcpy(&v, w->object + offset, sizeof(v));
	return v;
}

/* ---- where it is ---- */

/* The vCPU that runs on this thread's stack, or NULL. */
static const struct gdb_vcpu *vcpu_on(const struct walk *w, uint64_t begin, uint64_t size)
{
	for (unsigned int i = 0; i < w->nr_vcpus; i++)
		if (w->vcpu[i].reg[GDB_RSP] - begin - 1 < size)
			return &w->vcpu[i];
	return NULL;
}

/* Saved frame pointers lead outwards, so upwards. What cannot be read ends the chain. */
static void frames_walk(struct walk *w, uint64_t rip, uint64_t rbp, struct osv_thread *t)
{
	uint64_t pair[2];

	if (rip)
		t->frame[t->nr_frames++] = rip;
	while (t->nr_frames < OSV_FRAMES_MAX && rbp && rbp % 8 == 0 &&
	       !osv_guest_read(&w->g, rbp, pair, sizeof(pair)) && pair[1]) {
		t->frame[t->nr_frames++] = pair[1] - 1;
		if (pair[0] <= rbp)
			break;
		rbp = pair[0];
	}
}

static void location_read(struct walk *w, struct osv_thread *t)
{
	const struct places *at = &w->at;
	const struct gdb_vcpu *v = vcpu_on(w, object_u64(w, at->stack_begin),
					   object_u64(w, at->stack_size));

	frames_walk(w, v ? v->reg[GDB_RIP] : object_u64(w, at->rip),
		    v ? v->reg[GDB_RBP] : object_u64(w, at->rbp), t);
}

/* ---- what it is ---- */

static int state_read(struct walk *w, struct osv_thread *t)
{
	uint64_t state = object_u64(w, w->at.detached);
	uint32_t status = 0, id = 0;
	size_t size = w->at.status_size < 4 ? w->at.status_size : 4;
	int err = osv_guest_read(&w->g, state + w->at.status, &status, size);
	if (!err)
		err = osv_guest_u64(&w->g, state + w->at.cpu, &t->cpu_address);
	if (!err && t->cpu_address)
		err = osv_guest_read(&w->g, t->cpu_address + w->at.cpu_id, &id, sizeof(id));
	if (err)
		return err;
	t->cpu = t->cpu_address && id < OSV_CPUS_MAX ? (int32_t)id : -1;
	snprintf(t->status, sizeof(t->status), "%u", status); /* its name: when the guest runs */
	return 0;
}

static int thread_read(struct walk *w, uint64_t address)
{
	struct osv_thread *t = &w->thread[w->nr++];
	int err = osv_guest_read(&w->g, address, w->object, w->at.span);

	*t = (struct osv_thread){.address = address};
	if (err)
		return err;
	memcpy(&t->id, w->object + w->at.id, sizeof(t->id));
	memcpy(t->name, w->object + w->at.name, sizeof(t->name) - 1);
	memcpy(&t->vruntime, w->object + w->at.vruntime, sizeof(t->vruntime));
	memcpy(&t->cpu_time_ns, w->object + w->at.cpu_time, sizeof(t->cpu_time_ns));
	text_neutralise(t->name);
	err = state_read(w, t);
	if (!err && !w->no_location)
		location_read(w, t);
	return err;
}

static int threads_walk(void *walk)
{
	struct walk *w = walk;
	uint64_t node, thread, max;
	int err = w->g.gdb ? gdb_vcpus(w->g.gdb, &w->vcpu, &w->nr_vcpus) : 0;

	if (!err)
		err = osv_guest_u64(&w->g, w->at.map + MAP_FIRST_OFFSET, &node);
	if (!err)
		err = osv_guest_u64(&w->g, w->at.map + MAP_COUNT_OFFSET, &max);
	while (!err && node) {
		if (w->nr == OSV_THREADS_MAX || w->nr == max)
			return fail(-EBADMSG,
				    "the guest's list of threads is corrupt: it does not end");
		if (array_room(w->thread, w->nr))
			return -ENOMEM;
		err = osv_guest_u64(&w->g, node + NODE_THREAD_OFFSET, &thread);
		if (!err)
			err = thread_read(w, thread);
		if (!err)
			err = osv_guest_u64(&w->g, node, &node);
	}
	return err;
}

static int by_id(const void *a, const void *b)
{
	const struct osv_thread *x = a, *y = b;

	return x->id != y->id ? order_u64(x->id, y->id) : order_u64(x->address, y->address);
}

static void statuses_name(struct walk *w, bool live)
{
	for (unsigned int i = 0; i < w->nr; i++) {
		struct osv_thread *t = &w->thread[i];
		const char *name = layout_enum(w->g.layout, "sched::thread::status",
					       strtol(t->status, NULL, 10));

		if (name)
			snprintf(t->status, sizeof(t->status), "%s", name);
		if (live && !strcmp(t->status, "running"))
			t->nr_frames = 0; /* where it left its vCPU the last time */
	}
}

int osv_threads(const struct osv_guest_options *opt, struct osv_thread **ret, unsigned int *ret_nr,
		uint64_t *ret_stopped_ns)
{
	struct walk w = {.no_location = opt->no_location};
	int err = osv_guest_visit(opt, &w.g, places_find, threads_walk, &w, ret_stopped_ns);

	if (!err)
		statuses_name(&w, opt->vm.pid != 0);
	osv_guest_close(&w.g);
	free(w.vcpu);
	if (err) {
		free(w.thread);
		return err;
	}
	if (w.nr)
		qsort(w.thread, w.nr, sizeof(*w.thread), by_id);
	*ret = w.thread;
	*ret_nr = w.nr;
	return 0;
}
