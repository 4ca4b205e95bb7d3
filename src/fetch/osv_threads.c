// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The frames of an OSv guest's threads, by the .eh_frame of its ELF file (libdwfl): it leads
 * through functions that have no frame pointer and out of interrupts. Where there is none, as in
 * applications, by frame pointers.
 */
#include <elfutils/libdwfl.h>
#include <errno.h>
#include <inttypes.h>

#include "base/array.h"
#include "base/error.h"
#include "base/order.h"
#include "fetch/osv_containers.h"
#include "fetch/osv_guest.h"
#include "symbols/elf_size.h"

struct osv_unwind;

/* Where a thread is. */
struct osv_unwind_thread {
	uint64_t address, object_size; /* the object has the stack of its interrupts, too */
	uint64_t stack_begin, stack_size;
	const struct gdb_vcpu *vcpu; /* that runs it; NULL: by these registers, which it left */
	uint64_t rip, rsp, rbp;
};

enum {
	BLOCK = 512,		   /* read at once; a part of one page */
	OBJECT_HEAD = 64,	   /* the outermost frame's saved rbp is the object's address */
	OTHER_STACK_MAX = 1 << 16, /* of a stack elsewhere, as that of system calls, from rsp on */
	ONLY_THREAD = 1,
};

/* Numbers of the x86-64 ABI's supplement, figure 3.36. */
enum { DWARF_RBP = 6, DWARF_RSP = 7, DWARF_RIP = 16 };

struct osv_unwind {
	Dwfl *dwfl;

	/* of the thread that is unwound */
	struct osv_guest *g;
	const struct osv_unwind_thread *thread;
	uint64_t rsp; /* where it began */
	uint64_t *frame;
	unsigned int nr, max;
	uint64_t block_at; /* 0: none */
	uint8_t block[BLOCK];
};

static const Dwfl_Callbacks callbacks = {
	.section_address = dwfl_offline_section_address,
	.find_elf = dwfl_build_id_find_elf,
	.find_debuginfo = elf_find_debuginfo,
};

static void osv_unwind_close(struct osv_unwind *u);

static bool is_in(uint64_t address, uint64_t begin, uint64_t size)
{
	return address - begin < size;
}

static bool is_stack(const struct osv_unwind *u, uint64_t address)
{
	const struct osv_unwind_thread *t = u->thread;

	return is_in(address, t->stack_begin, t->stack_size) ||
	       is_in(address, t->address + OBJECT_HEAD, t->object_size - OBJECT_HEAD) ||
	       (!is_in(u->rsp, t->stack_begin, t->stack_size) &&
		is_in(address, u->rsp, OTHER_STACK_MAX));
}

static bool word_read(Dwfl *dwfl, Dwarf_Addr address, Dwarf_Word *ret, void *arg)
{
	struct osv_unwind *u = arg;
	uint64_t block = address & ~(uint64_t)(BLOCK - 1);

	(void)dwfl;
	if (address % 8 || !is_stack(u, address))
		return false;
	if (block != u->block_at) {
		u->block_at = 0;
		if (osv_guest_read(u->g, block, u->block, BLOCK))
			return false;
		u->block_at = block;
	}
	memcpy(ret, u->block + (address - block), sizeof(*ret));
	return true;
}

static bool registers_set(Dwfl_Thread *thread, void *arg)
{
	/* rax rdx rcx rbx of DWARF's numbers in gdb's order */
	static const unsigned int of_gdb[] = {0, 3, 2, 1};
	const struct osv_unwind_thread *t = ((struct osv_unwind *)arg)->thread;
	Dwarf_Word reg[DWARF_RIP + 1];

	if (!t->vcpu)
		return dwfl_thread_state_registers(thread, DWARF_RBP, 1, &t->rbp) &&
		       dwfl_thread_state_registers(thread, DWARF_RSP, 1, &t->rsp) &&
		       dwfl_thread_state_registers(thread, DWARF_RIP, 1, &t->rip);
	for (unsigned int i = 0; i <= DWARF_RIP; i++)
		reg[i] = t->vcpu->reg[i < 4 ? of_gdb[i] : i];
	return dwfl_thread_state_registers(thread, 0, DWARF_RIP + 1, reg);
}

static pid_t thread_next(Dwfl *dwfl, void *arg, void **ret)
{
	(void)dwfl;
	if (*ret)
		return 0;
	*ret = arg;
	return ONLY_THREAD;
}

static bool thread_get(Dwfl *dwfl, pid_t tid, void *arg, void **ret)
{
	(void)dwfl;
	*ret = arg;
	return tid == ONLY_THREAD;
}

static const Dwfl_Thread_Callbacks thread_callbacks = {
	.next_thread = thread_next,
	.get_thread = thread_get,
	.memory_read = word_read,
	.set_initial_registers = registers_set,
};

static int frame_add(Dwfl_Frame *frame, void *arg)
{
	struct osv_unwind *u = arg;
	bool is_activation;
	Dwarf_Addr pc;

	if (!dwfl_frame_pc(frame, &pc, &is_activation) || !pc)
		return DWARF_CB_ABORT;
	u->frame[u->nr++] = is_activation ? pc : pc - 1;
	return u->nr < u->max ? DWARF_CB_OK : DWARF_CB_ABORT;
}

/*
 * The address where it is, then return addresses less 1, innermost first. What cannot be read, or is outside of the
 * thread's stacks, ends it.
 */
static void osv_unwind(struct osv_unwind *u, struct osv_guest *g, const struct osv_unwind_thread *t,
		       struct osv_thread *ret)
{
	int end;

	u->g = g;
	u->thread = t;
	u->rsp = t->vcpu ? t->vcpu->reg[GDB_RSP] : t->rsp;
	u->frame = ret->frame;
	u->nr = 0;
	u->max = OSV_STACK_MAX;
	u->block_at = 0;
	end = dwfl_getthread_frames(u->dwfl, ONLY_THREAD, frame_add, u);
	ret->nr_frames = u->nr;
	ret->stack = u->nr == u->max ? OSV_STACK_TRUNCATED
		     : end	     ? OSV_STACK_INCOMPLETE
				     : OSV_STACK_COMPLETE;
}

/* Of the modules, those whose files are given, or in the image's manifests. */
static void osv_unwind_add(struct osv_unwind *u, const struct osv_files *files,
			   const struct osv_modules *modules)
{
	dwfl_report_begin_add(u->dwfl);
	for (unsigned int i = 0; i < modules->nr; i++) {
		const struct osv_module *m = &modules->module[i];
		_cleanup_free_ char *file = m->lost ? NULL : osv_file_in_image(files, m->path);

		if (file && !elf_path_check(file))
			dwfl_report_elf(u->dwfl, m->path, file, -1, m->base, true);
	}
	dwfl_report_end(u->dwfl, NULL, NULL);
}

/* 0, or -errno with the error message set. */
static int osv_unwind_open(const char *elf, struct osv_unwind **ret)
{
	struct osv_unwind *u = calloc(1, sizeof(*u));
	int err = u ? elf_path_check(elf) : fail(-ENOMEM, "out of memory");

	if (err) {
		osv_unwind_close(u);
		return err;
	}
	u->dwfl = dwfl_begin(&callbacks);
	if (!u->dwfl || !dwfl_report_offline(u->dwfl, "guest", elf, -1) ||
	    dwfl_report_end(u->dwfl, NULL, NULL) ||
	    !dwfl_attach_state(u->dwfl, NULL, ONLY_THREAD, &thread_callbacks, u)) {
		osv_unwind_close(u);
		return fail(-EINVAL, "%s: %s", elf, dwfl_errmsg(-1));
	}
	*ret = u;
	return 0;
}

static void osv_unwind_close(struct osv_unwind *u)
{
	if (u && u->dwfl)
		dwfl_end(u->dwfl);
	free(u);
}

/*
 * The guest's threads, as `osv info threads` walks them: sched::thread_map is a hash table of
 * libstdc++ (its nodes form one list: pointer to the next, then the pair of id and thread).
 *
 * One that is not on a vCPU has left its registers in its object. Which one a vCPU runs is in
 * sched::s_current, a thread-local variable, so relative to the vCPU's %fs: the state says it late,
 * and the stack pointer is elsewhere in an interrupt. OSv uses frame pointers; the outermost one is
 * the address of the thread's object.
 */

/* libstdc++'s _Hashtable: buckets, their number, then the node before the first. */
enum { MAP_FIRST_OFFSET = 16, MAP_COUNT_OFFSET = 24, NODE_WORDS = 3, NODE_THREAD = 2 };

#define STATUS_LOST "?" /* not readable */

enum { TIMER_EXPIRED = 2 }; /* sched::timer_base::state */

struct places {
	uint64_t map;
	int64_t current; /* s_current, relative to %fs; 0: this build has none */
	uint32_t id, name, stack_begin, stack_size, detached, rsp, rbp, rip, tcb, vruntime,
		cpu_time;
	uint32_t status, status_size, cpu; /* of the detached state */
	uint32_t cpu_id, acpi_id;
	uint32_t timers, timer_hook, timer_time, timer_state, timer_state_size;
	uint64_t object_size;
	struct osv_modules_layout modules;
};

struct walk {
	struct osv_guest g;
	struct places at;
	struct gdb_vcpu *vcpu;
	uint64_t *current; /* the thread of each vCPU; 0: not known */
	unsigned int nr_vcpus;
	struct osv_thread *thread;
	unsigned int nr;
	struct hash_table nodes; /* of the list, that were visited */
	bool no_location, timers;
	struct osv_thread *timers_of; /* that are being read */
	struct osv_modules *modules;
	struct osv_unwind *unwind; /* NULL: no_location */
};

/* Where they are missing there is something in their place. */
static void optional_places_find(struct layout *l, struct places *at)
{
	const struct layout_member acpi = {"sched::cpu", "arch.acpi_id", &at->acpi_id, NULL};

	if (layout_members(l, &acpi, 1))
		at->acpi_id = at->cpu_id;
	if (layout_thread_local(l, "_ZN5sched9s_currentE", &at->current))
		at->current = 0;
}

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
		{"sched::thread", "_tcb", &at->tcb, NULL},
		{"sched::thread", "_runtime._Rtt", &at->vruntime, NULL},
		{"sched::thread", "_total_cpu_time", &at->cpu_time, NULL},
		{"sched::thread::detached_state", "st", &at->status, &at->status_size},
		{"sched::thread::detached_state", "_cpu", &at->cpu, NULL},
		{"sched::cpu", "id", &at->cpu_id, NULL},
	};
	const struct layout_member of_timers[] = {
		{"sched::thread", "_active_timers.data_.root_plus_size_.m_header", &at->timers,
		 NULL},
		{"sched::timer_base", "client_hook", &at->timer_hook, NULL},
		{"sched::timer_base", "_time", &at->timer_time, NULL},
		{"sched::timer_base", "_state", &at->timer_state, &at->timer_state_size},
	};
	int err = layout_symbol(w->g.layout, "_ZN5sched10thread_mapE", &at->map);

	if (!err)
		err = layout_members(w->g.layout, members, sizeof(members) / sizeof(*members));
	if (!err && w->timers)
		err = layout_members(w->g.layout, of_timers,
				     sizeof(of_timers) / sizeof(*of_timers));
	if (!err) {
		optional_places_find(w->g.layout, at);
		at->object_size = layout_size(w->g.layout, "sched::thread");
	}
	if (err || w->no_location)
		return err;
	osv_modules_find(w->g.layout, &at->modules);
	return osv_unwind_open(w->g.files.elf, &w->unwind);
}

/* ---- where it is ---- */

/* An application may have its own %fs: s_current is believed if that thread's TCB is there. */
static uint64_t current_read(struct walk *w, const struct gdb_vcpu *v)
{
	uint64_t thread, tcb;

	return w->at.current && v->fs_base &&
			       !osv_guest_u64(&w->g, v->fs_base + (uint64_t)w->at.current,
					      &thread) &&
			       !osv_guest_u64(&w->g, thread + w->at.tcb, &tcb) && tcb == v->fs_base
		       ? thread
		       : 0;
}

static int vcpus_read(struct walk *w)
{
	int err = osv_guest_vcpus(&w->g, &w->vcpu, &w->nr_vcpus);

	if (err)
		return err;
	w->current = calloc(w->nr_vcpus + 1u, sizeof(*w->current));
	if (!w->current)
		return fail(-ENOMEM, "out of memory");
	for (unsigned int i = 0; i < w->nr_vcpus; i++)
		w->current[i] = current_read(w, &w->vcpu[i]);
	return 0;
}

/* The vCPU that runs this thread, or NULL. If a vCPU's thread is not known, it runs the one whose
 * stack it uses. */
static const struct gdb_vcpu *vcpu_of(const struct walk *w, const struct osv_unwind_thread *t)
{
	for (unsigned int i = 0; i < w->nr_vcpus; i++) {
		uint64_t in_stack = w->vcpu[i].reg[GDB_RSP] - t->stack_begin - 1;

		if (w->current[i] ? w->current[i] == t->address : in_stack < t->stack_size)
			return &w->vcpu[i];
	}
	return NULL;
}

/* ---- what it is ---- */

static int state_read(struct walk *w, uint64_t state, struct osv_thread *t)
{
	uint32_t status = 0, id = 0, acpi_id = 0;
	struct osv_member of_state[] = {
		{w->at.status, w->at.status_size < 4 ? w->at.status_size : 4, &status},
		{w->at.cpu, 8, &t->cpu_address},
	};
	struct osv_member of_cpu[] = {{w->at.cpu_id, 4, &id}, {w->at.acpi_id, 4, &acpi_id}};
	int err = osv_guest_members(&w->g, state, of_state, 2);

	if (!err && t->cpu_address)
		err = osv_guest_members(&w->g, t->cpu_address, of_cpu, 2);
	if (err)
		return err;
	t->cpu = t->cpu_address && id < OSV_CPUS_MAX ? (int32_t)id : -1;
	t->acpi_id = t->cpu < 0 ? -1 : (int32_t)acpi_id;
	snprintf(t->status, sizeof(t->status), "%u", status); /* its name: when the guest runs */
	return 0;
}

static int timer_add(void *arg, uint64_t hook)
{
	struct walk *w = arg;
	struct osv_thread *t = w->timers_of;
	struct osv_timer *timer = &t->timer[t->nr_timers];
	uint64_t address = hook - w->at.timer_hook;
	uint32_t state = 0;
	struct osv_member members[] = {
		{w->at.timer_time, 8, &timer->time_ns},
		{w->at.timer_state, w->at.timer_state_size < 4 ? w->at.timer_state_size : 4,
		 &state},
	};
	int err;

	if (t->nr_timers == OSV_TIMERS_MAX) {
		t->more_timers++;
		return 0;
	}
	err = osv_guest_members(&w->g, address, members, 2);
	if (err)
		return osv_guest_lose(&w->g, "timer", address, err);
	timer->expired = state == TIMER_EXPIRED;
	t->nr_timers++;
	return 0;
}

static int timers_read(struct walk *w, struct osv_thread *t)
{
	w->timers_of = t;
	return osv_list_walk(&w->g, "list of a thread's timers", t->address + w->at.timers,
			     timer_add, w);
}

static int thread_read(struct walk *w, uint64_t address, struct osv_thread *t)
{
	const struct places *at = &w->at;
	struct osv_unwind_thread in = {.address = address, .object_size = at->object_size};
	uint64_t detached;
	struct osv_member members[] = {
		{at->id, 4, &t->id},
		{at->name, sizeof(t->name) - 1, t->name},
		{at->vruntime, 4, &t->vruntime},
		{at->cpu_time, 8, &t->cpu_time_ns},
		{at->stack_begin, 8, &in.stack_begin},
		{at->stack_size, 8, &in.stack_size},
		{at->detached, 8, &detached},
		{at->rsp, 8, &in.rsp},
		{at->rbp, 8, &in.rbp},
		{at->rip, 8, &in.rip},
	};
	int err;

	*t = (struct osv_thread){.address = address};
	err = osv_guest_members(&w->g, address, members, sizeof(members) / sizeof(*members));
	if (err)
		return err;
	err = state_read(w, detached, t);
	if (err) {
		t->cpu = t->acpi_id = -1;
		snprintf(t->status, sizeof(t->status), STATUS_LOST);
		err = osv_guest_lose(&w->g, "thread state", detached, err);
	}
	if (err)
		return err;
	text_sanitize(t->name);
	in.vcpu = vcpu_of(w, &in);
	t->vcpu = in.vcpu ? (int32_t)(in.vcpu - w->vcpu) : -1;
	if (w->unwind)
		osv_unwind(w->unwind, &w->g, &in, t);
	return w->timers ? timers_read(w, t) : 0;
}

static bool is_known(const struct walk *w, uint64_t node)
{
	return hash_find_u64(&w->nodes, node);
}

/* The list ends here, before its end. */
static int list_leave(struct walk *w, uint64_t node, uint64_t count, const char *why)
{
	snprintf(w->g.lost.end, sizeof(w->g.lost.end),
		 "the list of threads breaks off at 0x%" PRIx64 " after %u of %" PRIu64
		 " threads: %s",
		 node, w->nodes.nr, count, why);
	return 0;
}

static int list_walk(struct walk *w, uint64_t node, uint64_t count)
{
	int err = 0;

	while (node && !err) {
		uint64_t word[NODE_WORDS], thread;

		if (is_known(w, node))
			return list_leave(w, node, count, "it returns to that node");
		if (w->nodes.nr == OSV_THREADS_MAX || w->nodes.nr >= count)
			return list_leave(w, node, count, "it has more nodes");
		err = osv_guest_read(&w->g, node, word, sizeof(word));
		if (err == -EFAULT)
			return list_leave(w, node, count, error_text());
		if (err)
			return err;
		if (!hash_add_u64(&w->nodes, node, NULL) || array_room(w->thread, w->nr))
			return fail(-ENOMEM, "out of memory");
		thread = word[NODE_THREAD];
		err = thread_read(w, thread, &w->thread[w->nr]);
		if (err)
			err = osv_guest_lose(&w->g, "thread", thread, err);
		else
			w->nr++;
		node = word[0];
	}
	return err;
}

/* A running guest has threads. */
static int no_thread(const struct walk *w)
{
	char text[400] = "";

	if (w->g.lost.nr)
		osv_lost_text(&w->g.lost, 0, text, sizeof(text));
	fail(-ENODATA,
	     "the guest has no thread that can be read%s%s: %s is probably not the kernel that it "
	     "runs, or it has not started its threads",
	     *text || w->g.lost.end[0] ? ": " : "", *text ? text : w->g.lost.end, w->g.files.elf);
	return fail_hint(-ENODATA, "give the ELF file of the guest's own build with --exe");
}

static int threads_walk(void *walk)
{
	struct walk *w = walk;
	uint64_t node, count;
	int err = vcpus_read(w);

	if (!err)
		err = osv_modules_read(&w->g, &w->at.modules, w->modules);
	if (!err && w->unwind)
		osv_unwind_add(w->unwind, &w->g.files, w->modules);
	if (!err)
		err = osv_guest_u64(&w->g, w->at.map + MAP_FIRST_OFFSET, &node);
	if (!err)
		err = osv_guest_u64(&w->g, w->at.map + MAP_COUNT_OFFSET, &count);
	if (!err)
		err = list_walk(w, node, count);
	return err || w->nr ? err : no_thread(w);
}

ORDER_BY(by_id, struct osv_thread, id, address)

const char *osv_stack_state_name(enum osv_stack_state state)
{
	static const char *const names[] = {"complete", "incomplete", "truncated", "running"};

	return names[state];
}

static void statuses_name(struct walk *w)
{
	for (unsigned int i = 0; i < w->nr; i++) {
		struct osv_thread *t = &w->thread[i];
		const char *name = strcmp(t->status, STATUS_LOST) != 0
					   ? layout_enum(w->g.layout, "sched::thread::status",
							 strtol(t->status, NULL, 10))
					   : NULL;

		if (name)
			snprintf(t->status, sizeof(t->status), "%s", name);
		if (w->nr_vcpus || strcmp(t->status, "running"))
			continue;
		t->nr_frames = 0; /* where it left its vCPU the last time */
		t->stack = OSV_STACK_RUNNING;
	}
}

int osv_threads(const struct osv_guest_options *opt, struct osv_thread **ret, unsigned int *ret_nr,
		struct osv_modules *ret_modules, struct osv_pause *ret_pause)
{
	struct walk w = {.no_location = opt->no_location,
			 .timers = opt->timers,
			 .modules = ret_modules,
			 .nodes = HASH_TABLE(uint64_t, 1, OSV_THREADS_MAX)};
	int err;

	*ret_modules = (struct osv_modules){0};
	err = osv_guest_visit(opt, &w.g, places_find, threads_walk, &w, ret_pause);

	if (!err)
		statuses_name(&w);
	osv_guest_close(&w.g);
	osv_unwind_close(w.unwind);
	free(w.vcpu);
	free(w.current);
	hash_deinit(&w.nodes);
	if (err) {
		free(w.thread);
		free(ret_modules->module);
		return err;
	}
	if (w.nr)
		qsort(w.thread, w.nr, sizeof(*w.thread), by_id);
	*ret = w.thread;
	*ret_nr = w.nr;
	return 0;
}
