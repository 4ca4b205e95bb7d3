// SPDX-License-Identifier: GPL-2.0-or-later
/* Where each vCPU is. What its thread sleeps in says it; of one that runs, how its CPU time was charged. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyzers/stuck/stuck.h"
#include "base/array.h"
#include "vm/vcpu_debugfs.h"

/* By name (debug-threads=on, or TCG), else by debugfs. */
static bool index_find(const struct stuck_report *r, const struct thread_state *t,
		       unsigned int *ret)
{
	for (unsigned int i = 0; i < r->vm->nr_vcpus; i++)
		if (r->vm->vcpus[i].tid == t->tid) {
			*ret = r->vm->vcpus[i].index;
			return true;
		}
	int index = r->vm->has_kvm ? vcpu_debugfs_index(r->vm->pid, t->tid) : -1;

	*ret = index < 0 ? 0 : (unsigned int)index;
	return index >= 0;
}

static const char *where_of(const struct thread_state *t, const struct thread_state *b)
{
	if (t->state == 'T' || t->state == 't')
		return "stopped";
	if (t->state == 'R') {
		uint64_t guest = b ? t->guest_ns - b->guest_ns : 0;
		uint64_t kernel = b ? t->kernel_ns - b->kernel_ns : 0;
		uint64_t user = b ? t->user_ns - b->user_ns : 0;

		if (!guest && !kernel && !user)
			return "runnable"; /* too short, or it gets no CPU */
		return guest >= kernel && guest >= user ? "guest"
		       : kernel >= user			? "kvm"
							: "userspace";
	}
	if (strstr(t->stack, "kvm_vcpu_block") || strstr(t->stack, "kvm_vcpu_halt") ||
	    strstr(t->wchan, "kvm_vcpu_block") || strstr(t->wchan, "kvm_vcpu_halt"))
		return "halted";
	return stuck_in_kvm_run(t) ? "kvm" : "userspace";
}

static int by_index(const void *a, const void *b)
{
	const struct stuck_vcpu *x = a, *y = b;

	return (x->index > y->index) - (x->index < y->index);
}

int stuck_vcpus(const struct stuck_report *r, struct stuck_vcpu **ret, unsigned int *ret_nr)
{
	struct stuck_vcpu *list = NULL;
	unsigned int nr = 0;

	for (unsigned int i = 0; i < r->now->nr_threads; i++) {
		const struct thread_state *t = &r->now->thread[i];
		const struct thread_state *b = stuck_thread_before(r, t->tid);
		unsigned int index;
		bool known = index_find(r, t, &index);

		if (!known && !stuck_in_kvm_run(t))
			continue;
		if (array_room(list, nr)) {
			free(list);
			return -ENOMEM;
		}
		list[nr++] = (struct stuck_vcpu){.index = index,
						 .index_known = known,
						 .thread = t,
						 .where = where_of(t, b),
						 .busy_ns = b ? t->cpu_ns - b->cpu_ns : 0,
						 .guest_ns = b ? t->guest_ns - b->guest_ns : 0};
	}
	if (nr)
		qsort(list, nr, sizeof(*list), by_index);
	*ret = list;
	*ret_nr = nr;
	return 0;
}
