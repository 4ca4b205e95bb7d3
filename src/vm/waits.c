// SPDX-License-Identifier: GPL-2.0-or-later
/* /proc/PID/task/TID/schedstat: ns on a CPU, ns ready without one, times on a CPU (scheduler/sched-stats.rst). */
#include "vm/waits.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "vm/limits.h"
#include "vm/reread.h"

struct thread {
	pid_t tid;
	struct reread stat;
	uint64_t ready_ns, waits;
};

struct vm_waits {
	struct vm_limits *limits;
	unsigned int nr; /* vCPUs */
	struct thread thread[];
};

static bool thread_read(const struct thread *t, uint64_t *ret_ready_ns, uint64_t *ret_waits)
{
	char text[128];

	return reread_text(&t->stat, text, sizeof(text)) &&
	       sscanf(text, "%*u %" SCNu64 " %" SCNu64, ret_ready_ns, ret_waits) == 2;
}

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
		thread_read(t, &t->ready_ns, &t->waits);
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

json_t *vm_waits_next(struct vm_waits *w)
{
	json_t *threads = json_array();

	for (unsigned int i = 0; i < w->nr; i++) {
		struct thread *t = &w->thread[i];
		uint64_t ready_ns, waits;

		if (!thread_read(t, &ready_ns, &waits))
			continue;
		json_array_append_new(threads, json_pack("{s:i,s:i,s:I,s:I}", "vcpu", (int)i, "tid",
							 (int)t->tid, "ready_ns",
							 (json_int_t)(ready_ns - t->ready_ns),
							 "waits", (json_int_t)(waits - t->waits)));
		t->ready_ns = ready_ns;
		t->waits = waits;
	}
	json_t *result = json_pack("{s:o,s:o}", "threads", threads, "limits",
				   vm_limits_json(w->limits, false));

	vm_limits_restart(w->limits);
	return result;
}
