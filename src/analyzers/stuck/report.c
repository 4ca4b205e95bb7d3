// SPDX-License-Identifier: GPL-2.0-or-later
/* What all findings are made with: adding one, what was there at the first look, what a thread is and since when. */
#include <errno.h>
#include <linux/kvm.h>
#include <stdarg.h>
#include <sys/syscall.h>

#include "analyzers/stuck/stuck.h"
#include "base/array.h"

int stuck_find(struct stuck_report *r, const char *kind, const struct stuck_queue *q, pid_t tid,
	       uint64_t age_ns, const char *fmt, ...)
{
	struct stuck_finding *f;
	va_list args;

	if (r->nr_findings == STUCK_FINDINGS_MAX) {
		r->nr_dropped++;
		return 0;
	}
	if (array_room(r->finding, r->nr_findings))
		return -ENOMEM;
	f = &r->finding[r->nr_findings++];
	*f = (struct stuck_finding){.kind = kind, .queue = q, .tid = tid, .age_ns = age_ns};
	va_start(args, fmt);
	vsnprintf(f->text, sizeof(f->text), fmt, args);
	va_end(args);
	return 0;
}

const struct stuck_queue *stuck_queue_before(const struct stuck_report *r,
					     const struct stuck_queue *q)
{
	for (unsigned int i = 0; i < r->before->nr_queues; i++) {
		const struct stuck_queue *b = &r->before->queue[i];

		if (b->state.vq == q->state.vq && b->device.vdev == q->device.vdev)
			return b;
	}
	return NULL;
}

/* A worker of the kernel has a system call's registers, too, but no stack in user mode. */
bool stuck_in_kvm_run(const struct thread_state *t)
{
	return strstr(t->stack, "kvm_vcpu_ioctl") ||
	       (t->in_syscall && t->sp && t->syscall == SYS_ioctl && t->arg[1] == KVM_RUN);
}

static bool waits_in(const struct thread_state *t, const char *function)
{
	return strstr(t->wchan, function) || strstr(t->stack, function);
}

bool stuck_is_halted(const struct thread_state *t)
{
	return waits_in(t, "kvm_vcpu_block") || waits_in(t, "kvm_vcpu_halt");
}

bool stuck_is_frozen(const struct thread_state *t)
{
	return waits_in(t, "__refrigerator") || waits_in(t, "do_freezer_trap");
}

bool stuck_is_stopped(const struct thread_state *t)
{
	return t->state == 'T' || t->state == 't' || stuck_is_frozen(t);
}

bool stuck_process_stopped(const struct stuck_report *r)
{
	return array_any(r->now->nr_threads, i, stuck_is_stopped(&r->now->thread[i]));
}

const char *stuck_thread_role(const struct stuck_report *r, const struct thread_state *t, char *buf,
			      size_t size)
{
	snprintf(buf, size, "%s", t->tid == r->vm->pid ? "main" : "");
	for (unsigned int i = 0; i < r->nr_vcpus; i++)
		if (r->vcpu[i].thread == t && r->vcpu[i].index_known)
			snprintf(buf, size, "vcpu %u", r->vcpu[i].index);
		else if (r->vcpu[i].thread == t)
			snprintf(buf, size, "vcpu");
	return buf;
}

const struct thread_state *stuck_thread_before(const struct stuck_report *r, pid_t tid)
{
	return array_find(r->before->thread, r->before->nr_threads, i,
			  r->before->thread[i].tid == tid);
}

uint64_t stuck_thread_age(const struct stuck_report *r, const struct thread_state *t)
{
	return t->since_ns && t->since_ns < r->now->time_ns ? r->now->time_ns - t->since_ns
							    : r->now->time_ns - r->before->time_ns;
}

const char *stuck_thread_print(const struct stuck_report *r, const struct thread_state *t,
			       char *buf, size_t size)
{
	char role[32];

	stuck_thread_role(r, t, role, sizeof(role));
	snprintf(buf, size, "thread %d (%s%s%s)", (int)t->tid, t->comm, *role ? ", " : "", role);
	return buf;
}
