// SPDX-License-Identifier: GPL-2.0-or-later
/* What is wrong with QEMU's threads: stopped, traced, blocked in a system call, or without a server to connect to. */
#include <linux/kvm.h>
#include <sys/syscall.h>

#include "analyzers/stuck/stuck.h"
#include "base/array.h"

/* A worker of the kernel has a system call's registers, too, but no stack in user mode. */
bool stuck_in_kvm_run(const struct thread_state *t)
{
	return strstr(t->stack, "kvm_vcpu_ioctl") ||
	       (t->in_syscall && t->sp && t->syscall == SYS_ioctl && t->arg[1] == KVM_RUN);
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

static uint64_t age_of(const struct stuck_report *r, const struct thread_state *t)
{
	return t->since_ns && t->since_ns < r->now->time_ns ? r->now->time_ns - t->since_ns
							    : r->now->time_ns - r->before->time_ns;
}

static const char *name_of(const struct stuck_report *r, const struct thread_state *t, char *buf,
			   size_t size)
{
	char role[32];

	stuck_thread_role(r, t, role, sizeof(role));
	snprintf(buf, size, "thread %d (%s%s%s)", (int)t->tid, t->comm, *role ? ", " : "", role);
	return buf;
}

/* A stop of the process stops all its threads: one finding. */
static int stopped_find(struct stuck_report *r)
{
	const struct stuck_look *l = r->now;
	unsigned int stopped = 0;

	for (unsigned int i = 0; i < l->nr_threads; i++)
		stopped += l->thread[i].state == 'T';
	return stopped ? stuck_find(r, "stopped", NULL, r->vm->pid, age_of(r, &l->thread[0]),
				    "%u of %u threads of QEMU are stopped by a signal (SIGSTOP); "
				    "SIGCONT "
				    "continues them",
				    stopped, l->nr_threads)
		       : 0;
}

static int traced_find(struct stuck_report *r, const struct thread_state *t)
{
	char name[96];

	return stuck_find(r, "traced", NULL, t->tid, age_of(r, t),
			  "%s is stopped by a debugger: process %d (%s) traces it",
			  name_of(r, t, name, sizeof(name)), (int)t->tracer, t->tracer_comm);
}

/* System calls in which an idle thread of QEMU waits; one that is not known may be another. */
static bool call_is_idle(const struct thread_state *t)
{
	static const long idle[] = {SYS_poll,	      SYS_ppoll,      SYS_select,
				    SYS_pselect6,     SYS_epoll_wait, SYS_epoll_pwait,
				    SYS_futex,	      SYS_nanosleep,  SYS_clock_nanosleep,
				    SYS_rt_sigtimedwait, SYS_wait4,   SYS_restart_syscall};

	for (size_t i = 0; i < sizeof(idle) / sizeof(idle[0]); i++)
		if (t->syscall == idle[i])
			return true;
	return !syscall_name(t->syscall);
}

/* Reading a socket or a pipe, a thread may be idle, too. */
static bool is_blocked(const struct stuck_report *r, const struct thread_state *t)
{
	const struct thread_state *b = stuck_thread_before(r, t->tid);
	bool same = b && b->cpu_ns == t->cpu_ns && b->state == t->state &&
		    b->in_syscall == t->in_syscall && b->syscall == t->syscall;

	if (!same || (t->state != 'S' && t->state != 'D') || stuck_in_kvm_run(t))
		return false;
	if (t->state == 'D')
		return true;
	if (!t->in_syscall || call_is_idle(t))
		return false;
	return syscall_fd(t) < 0 || t->file.name[0] == '/';
}

static int blocked_find(struct stuck_report *r, const struct thread_state *t)
{
	const char *call = t->in_syscall ? syscall_name(t->syscall) : NULL;
	const struct thread_file *file = &t->file;
	char name[96];

	return stuck_find(r, "blocked", NULL, t->tid, age_of(r, t),
			  "%s is blocked in %s%s%s%s%s%s%s%s%s", name_of(r, t, name, sizeof(name)),
			  call ? call : "the kernel", file->name[0] ? " of " : "", file->name,
			  file->type[0] ? " (file system: " : "", file->type,
			  file->type[0] ? ")" : "", t->wchan[0] ? ", waiting in " : "", t->wchan,
			  t->state == 'D' ? ", not interruptible" : "");
}

/* QEMU's thread of this name (nbd/client-connection.c) lives while there is no connection, and retries. */
static bool is_connecting(const struct stuck_report *r, const struct thread_state *t)
{
	return !strcmp(t->comm, "nbd-connect") && stuck_thread_before(r, t->tid);
}

static int connecting_find(struct stuck_report *r, const struct thread_state *t)
{
	return stuck_find(r, "not-connected", NULL, t->tid, r->now->time_ns - r->before->time_ns,
			  "QEMU is not connected to an NBD server: thread %d (%s) tries to connect",
			  (int)t->tid, t->comm);
}

int stuck_thread_findings(struct stuck_report *r)
{
	int err = stopped_find(r);

	for (unsigned int i = 0; i < r->now->nr_threads && !err; i++) {
		const struct thread_state *t = &r->now->thread[i];

		if (t->state == 't')
			err = traced_find(r, t);
		else if (is_connecting(r, t))
			err = connecting_find(r, t);
		else if (is_blocked(r, t))
			err = blocked_find(r, t);
	}
	return err;
}
