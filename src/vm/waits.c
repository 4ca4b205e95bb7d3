// SPDX-License-Identifier: GPL-2.0-or-later
/* /proc/PID/task/TID/schedstat: ns on a CPU, ns ready without one, times on a CPU (scheduler/sched-stats.rst). */
#include "vm/waits.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/error.h"
#include "base/read_full.h"
#include "vm/limits.h"

struct thread {
	pid_t tid;
	int fd; /* schedstat; -1: it cannot be read */
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
	ssize_t n = t->fd < 0 ? -1 : pread_full(t->fd, text, sizeof(text) - 1, 0);

	text[n > 0 ? n : 0] = '\0';
	return sscanf(text, "%*u %" SCNu64 " %" SCNu64, ret_ready_ns, ret_waits) == 2;
}

struct vm_waits *vm_waits_open(const struct vm *vm)
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
		t->fd = open(path, O_RDONLY | O_CLOEXEC);
		thread_read(t, &t->ready_ns, &t->waits);
	}
	w->limits = vm_limits_open(vm, 1);
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
		if (w->thread[i].fd >= 0)
			close(w->thread[i].fd);
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
