// SPDX-License-Identifier: GPL-2.0-or-later
/* /proc/PID/task/TID/schedstat: ns on a CPU, ns ready without one, times on a CPU (scheduler/sched-stats.rst). */
#include "vm/waits.h"

#include <errno.h>
#include <inttypes.h>
#include <linux/futex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#include "base/clock.h"
#include "base/error.h"
#include "vm/limits.h"
#include "vm/reread.h"

struct thread {
	pid_t tid;
	struct reread stat;
	uint64_t run_ns, ready_ns, waits;
	uint64_t since_ns; /* of the last reading */
	const char *
		still; /* what it was in at first, until it runs again: a key of the row; NULL: nothing */
};

struct vm_waits {
	struct vm_limits *limits;
	unsigned int nr; /* vCPUs */
	struct thread thread[];
};

/* False: it cannot be read. */
static bool thread_read(struct thread *t)
{
	uint64_t run_ns, ready_ns, waits;
	char text[128];

	if (!reread_text(&t->stat, text, sizeof(text)) ||
	    sscanf(text, "%" SCNu64 " %" SCNu64 " %" SCNu64, &run_ns, &ready_ns, &waits) != 3)
		return false;
	if (run_ns != t->run_ns)
		t->still = NULL;
	t->run_ns = run_ns;
	t->ready_ns = ready_ns;
	t->waits = waits;
	return true;
}

/* ---- what a thread was in before ---- */

static bool file_read(const struct vm *vm, pid_t tid, const char *name, char *buf, size_t size)
{
	struct reread f;
	char path[64];
	bool known;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/%s", (int)vm->pid, (int)tid, name);
	reread_open(&f, path, false);
	known = reread_text(&f, buf, size);
	reread_close(&f);
	return known;
}

/*
 * Is it in pthread_cond_wait()? glibc has this call for condition variables only. A vCPU's thread is in it until it may
 * enter KVM_RUN, and where the VMM has the local APICs, in halts as well.
 */
static bool thread_is_paused(const struct vm *vm, pid_t tid)
{
	unsigned long number, op;
	char text[256];

	return !strstr(vm->cmdline ? vm->cmdline : "", "irqchip=off") &&
	       file_read(vm, tid, "syscall", text, sizeof(text)) &&
	       sscanf(text, "%lu %*s %lx", &number, &op) == 2 && number == SYS_futex &&
	       (op & (unsigned long)FUTEX_CMD_MASK) == FUTEX_WAIT_BITSET;
}

/* By the freezer of its cgroup (kernel/cgroup/freezer.c, kernel/freezer.c). */
static bool thread_is_frozen(const struct vm *vm, pid_t tid)
{
	char text[128];

	return file_read(vm, tid, "wchan", text, sizeof(text)) &&
	       (!strcmp(text, "do_freezer_trap") || !strcmp(text, "__refrigerator"));
}

static const char *thread_still(const struct vm *vm, pid_t tid)
{
	char text[512], *state;

	if (!file_read(vm, tid, "stat", text, sizeof(text)))
		return NULL;
	state = strrchr(text, ')');
	if (state && (!strncmp(state, ") T ", 4) || !strncmp(state, ") t ", 4)))
		return "stopped_ns";
	if (thread_is_frozen(vm, tid))
		return "stopped_ns";
	return thread_is_paused(vm, tid) ? "paused_ns" : NULL;
}

/* ---- VMs ---- */

struct vm_waits *vm_waits_open(const struct vm *vm, bool stays_open)
{
	struct vm_waits *w = calloc(1, sizeof(*w) + vm->nr_vcpus * sizeof(*w->thread));

	if (!w) {
		fail(-ENOMEM, "out of memory");
		return NULL;
	}
	w->nr = vm->nr_vcpus;
	for (unsigned int i = 0; i < w->nr; i++) {
		struct thread *t = &w->thread[i];
		char path[64];

		t->tid = vm->vcpus[i].tid;
		snprintf(path, sizeof(path), "/proc/%d/task/%d/schedstat", (int)vm->pid,
			 (int)t->tid);
		reread_open(&t->stat, path, stays_open);
		t->still = NULL;
		if (thread_read(t))
			t->still = thread_still(vm, t->tid);
		t->since_ns = monotonic_ns();
	}
	w->limits = vm_limits_open(vm, 1, stays_open);
	if (!w->limits) {
		vm_waits_close(w);
		return NULL;
	}
	return w;
}

void vm_waits_close(struct vm_waits *w)
{
	if (!w)
		return;
	for (unsigned int i = 0; i < w->nr; i++)
		reread_close(&w->thread[i].stat);
	vm_limits_close(w->limits);
	free(w);
}

/* NULL: it cannot be read. */
static json_t *thread_next(struct thread *t, unsigned int vcpu)
{
	const struct thread before = *t;
	json_t *row;

	if (!thread_read(t))
		return NULL;
	row = json_pack("{s:i,s:i,s:I,s:I}", "vcpu", (int)vcpu, "tid", (int)t->tid, "ready_ns",
			(json_int_t)(t->ready_ns - before.ready_ns), "waits",
			(json_int_t)(t->waits - before.waits));
	t->since_ns = monotonic_ns();
	if (t->still)
		json_object_set_new(row, t->still,
				    json_integer((json_int_t)(t->since_ns - before.since_ns)));
	return row;
}

json_t *vm_waits_next(struct vm_waits *w)
{
	json_t *threads = json_array(), *row;

	for (unsigned int i = 0; i < w->nr; i++)
		if ((row = thread_next(&w->thread[i], i)))
			json_array_append_new(threads, row);
	json_t *result = json_pack("{s:o,s:o}", "threads", threads, "limits",
				   vm_limits_json(w->limits, false));

	vm_limits_restart(w->limits);
	return result;
}
