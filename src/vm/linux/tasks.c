// SPDX-License-Identifier: GPL-2.0-or-later
/* The tasks of a Linux guest, by the offsets that its BTF has. */
#include <errno.h>

#include "base/array.h"
#include "base/error.h"
#include "base/hash.h"
#include "event/event.h"
#include "vm/linux/lists.h"

enum {
	/* include/linux/sched.h */
	STATE_REPORTED = 0x7f,
	STATE_IDLE = 0x402, /* TASK_UNINTERRUPTIBLE | TASK_NOLOAD */
};

/* Offsets within struct task_struct, and in signal_struct. */
struct layout {
	int pid, tgid, comm, tasks, parent, state, exit_state, mm, cpu, signal, thread_node;
	int thread_head;
};

struct walk {
	struct linux_guest *g;
	struct layout l;
	struct linux_task *task;
	size_t nr;
	struct hash_table seen; /* addresses of tasks */
};

static int first_of(int a, int b)
{
	return a >= 0 ? a : b;
}

static int layout_find(const struct btf_types *t, struct layout *ret)
{
	static const char type[] = "task_struct";

	*ret = (struct layout){
		.pid = btf_offset(t, type, "pid"),
		.tgid = btf_offset(t, type, "tgid"),
		.comm = btf_offset(t, type, "comm"),
		.tasks = btf_offset(t, type, "tasks"),
		.parent = btf_offset(t, type, "real_parent"),
		.state = first_of(btf_offset(t, type, "__state"), btf_offset(t, type, "state")),
		.exit_state = btf_offset(t, type, "exit_state"),
		.mm = btf_offset(t, type, "mm"),
		.cpu = first_of(btf_offset(t, type, "thread_info.cpu"), btf_offset(t, type, "cpu")),
		.signal = btf_offset(t, type, "signal"),
		.thread_node = btf_offset(t, type, "thread_node"),
		.thread_head = btf_offset(t, "signal_struct", "thread_head"),
	};
	if (ret->pid < 0 || ret->tgid < 0 || ret->comm < 0 || ret->tasks < 0 || ret->signal < 0 ||
	    ret->thread_node < 0 || ret->thread_head < 0)
		return fail(-ENOENT, "the guest kernel's BTF has no usable struct task_struct");
	return 0;
}

/* As task_state_index() of the kernel: the highest bit of both states. */
static char state_letter(uint32_t state, uint32_t exit_state)
{
	static const char letters[] = "RSDTtXZPI";
	uint32_t both = (state | exit_state) & STATE_REPORTED;

	if (state == STATE_IDLE)
		return 'I';
	return letters[both ? 32 - __builtin_clz(both) : 0];
}

/* 0 where the layout has no such member, or it cannot be read. */
static uint64_t member_u64(struct linux_guest *g, uint64_t task, int at)
{
	uint64_t v = 0;

	if (at >= 0)
		linux_read_u64(g, task + (uint64_t)at, &v);
	return v;
}

static uint32_t member_u32(struct linux_guest *g, uint64_t task, int at)
{
	uint32_t v = 0;

	if (at >= 0)
		linux_read_u32(g, task + (uint64_t)at, &v);
	return v;
}

static int task_read(struct walk *w, uint64_t task)
{
	const struct layout *l = &w->l;
	struct linux_guest *g = w->g;
	uint64_t parent;
	struct linux_task *t;
	bool is_new;

	if (!hash_add_u64(&w->seen, task, &is_new))
		return w->seen.nr < LINUX_TASKS_MAX
			       ? fail(-ENOMEM, "out of memory")
			       : fail(-E2BIG, "the guest has more than %d tasks", LINUX_TASKS_MAX);
	if (!is_new) { /* in the lists of two processes */
		g->torn++;
		return 0;
	}
	if (array_room(w->task, w->nr))
		return -ENOMEM;
	t = &w->task[w->nr];
	*t = (struct linux_task){.address = task,
				 .tid = (int32_t)member_u32(g, task, l->pid),
				 .pid = (int32_t)member_u32(g, task, l->tgid),
				 .state = '?',
				 .cpu = member_u32(g, task, l->cpu),
				 .kernel = l->mm >= 0 && !member_u64(g, task, l->mm)};
	if (linux_read(g, task + (uint64_t)l->comm, t->comm, LINUX_COMM_MAX) || t->tid <= 0 ||
	    t->pid <= 0) {
		g->torn++;
		return 0;
	}
	text_sanitize(t->comm);
	if (l->state >= 0 && l->exit_state >= 0)
		t->state = state_letter(member_u32(g, task, l->state),
					member_u32(g, task, l->exit_state));
	/* a zombie has no memory any more either */
	t->kernel = t->kernel && t->state != 'Z' && t->state != 'X';
	parent = member_u64(g, task, l->parent);
	t->ppid = parent ? (int32_t)member_u32(g, parent, l->tgid) : 0;
	w->nr++;
	linux_reads_allow(g, LINUX_READS_TASK);
	return 0;
}

/* A process whose threads cannot be followed has ended meanwhile: its first one is shown. */
static int process_read(struct walk *w, uint64_t task)
{
	uint64_t signal = member_u64(w->g, task, w->l.signal);
	_cleanup_free_ uint64_t *entry = NULL;
	size_t nr = 0;
	int err = signal ? linux_list_read(w->g, signal + (uint64_t)w->l.thread_head,
					   LINUX_TASKS_MAX, &entry, &nr)
			 : -EAGAIN;

	if (err == -EAGAIN || !nr)
		return task_read(w, task);
	for (size_t i = 0; i < nr && !err; i++)
		err = task_read(w, entry[i] - (uint64_t)w->l.thread_node);
	return err;
}

int linux_tasks_read(struct linux_guest *g, const struct btf_types *types, struct linux_task **ret,
		     size_t *ret_nr)
{
	struct walk w = {.g = g, .seen = HASH_TABLE(uint64_t, 1, LINUX_TASKS_MAX)};
	uint64_t init = linux_symbol(g, "init_task");
	_cleanup_free_ uint64_t *entry = NULL;
	size_t nr = 0;
	int err = layout_find(types, &w.l), listed;

	if (!err && !init)
		err = fail(-ENOENT, "the guest's kernel has no symbol init_task");
	if (err)
		return err;
	linux_reads_begin_alone(g);
	listed = linux_list_read(g, init + (uint64_t)w.l.tasks, LINUX_TASKS_MAX, &entry, &nr);
	err = listed == -EAGAIN ? 0 : listed;
	for (size_t i = 0; i < nr && !err; i++)
		err = process_read(&w, entry[i] - (uint64_t)w.l.tasks);
	hash_deinit(&w.seen);
	*ret = w.task;
	*ret_nr = w.nr;
	if (!err && listed)
		err = fail(-EAGAIN, "the guest's list of tasks kept changing, or is damaged");
	return linux_reads_end(g, err);
}
