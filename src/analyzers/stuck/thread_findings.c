// SPDX-License-Identifier: GPL-2.0-or-later
/* What is wrong with QEMU's threads: stopped, traced, blocked in a system call, or without a server to connect to. */

#include "analyzers/stuck/stuck.h"
#include "base/array.h"
#include "base/options.h"

/* A stop of the process stops all its threads: one finding. */
static int stopped_find(struct stuck_report *r)
{
	const struct stuck_look *l = r->now;
	unsigned int stopped = 0;

	for (unsigned int i = 0; i < l->nr_threads; i++)
		stopped += l->thread[i].state == 'T';
	return stopped ? stuck_find(r, "stopped", NULL, r->vm->pid,
				    stuck_thread_age(r, &l->thread[0]),
				    "%u of %u threads of QEMU are stopped by a signal (SIGSTOP); "
				    "SIGCONT continues them",
				    stopped, l->nr_threads)
		       : 0;
}

/* Threads that slept are not woken to be frozen: one of them shows it for all. */
static const struct thread_state *frozen_first(const struct stuck_report *r)
{
	return array_find(r->now->thread, r->now->nr_threads, i,
			  stuck_is_frozen(&r->now->thread[i]));
}

static int frozen_find(struct stuck_report *r, const struct thread_state *t)
{
	return stuck_find(
		r, "frozen", NULL, t->tid, stuck_thread_age(r, t),
		"QEMU's threads are frozen, by the freezer of its cgroup or as the host is "
		"suspended; 0 in the cgroup's cgroup.freeze, or THAWED in freezer.state "
		"(version 1), continues them");
}

static int traced_find(struct stuck_report *r, const struct thread_state *t)
{
	char name[96];

	return stuck_find(r, "traced", NULL, t->tid, stuck_thread_age(r, t),
			  "%s is stopped by a debugger: process %d (%s) traces it",
			  stuck_thread_print(r, t, name, sizeof(name)), (int)t->tracer,
			  t->tracer_comm);
}

/* System calls in which an idle thread of QEMU waits; one that is not known may be another. */
static bool call_is_idle(const struct thread_state *t)
{
	const char *name = syscall_name(t->syscall);

	return !name || word_is_listed("poll ppoll select pselect6 epoll_wait epoll_pwait futex "
				       "nanosleep clock_nanosleep rt_sigtimedwait wait4 "
				       "restart_syscall",
				       name);
}

/* It sleeps as at the first look, and has not run meanwhile. */
static bool sleeps_on(const struct stuck_report *r, const struct thread_state *t)
{
	const struct thread_state *b = stuck_thread_before(r, t->tid);

	return (t->state == 'S' || t->state == 'D') && b && b->cpu_ns == t->cpu_ns &&
	       b->state == t->state && b->in_syscall == t->in_syscall && b->syscall == t->syscall;
}

/* Reading a socket or a pipe, a thread may be idle, too. So may a vCPU in KVM_RUN, if what it sleeps in is unknown. */
static bool is_blocked(const struct thread_state *t)
{
	if (stuck_in_kvm_run(t))
		return (*t->stack || *t->wchan) && !stuck_is_halted(t);
	if (t->state == 'D')
		return true;
	if (!t->in_syscall || call_is_idle(t))
		return false;
	return syscall_fd(t) < 0 || t->file.name[0] == '/';
}

/* In a page fault, in user mode or in a system call: KVM_RUN resolves those of the guest. */
static bool is_faulting(const struct thread_state *t)
{
	return strstr(t->stack, "handle_mm_fault");
}

static int fault_find(struct stuck_report *r, const struct thread_state *t)
{
	char name[96];

	return stuck_find(r, "page-fault", NULL, t->tid, stuck_thread_age(r, t),
			  "%s waits for a page of memory that the host does not provide%s%s%s",
			  stuck_thread_print(r, t, name, sizeof(name)),
			  t->wchan[0] ? ", in " : "", t->wchan,
			  strstr(t->stack, "userfault") ? " (a process serves these pages: "
							  "userfaultfd)"
							: "");
}

static int blocked_find(struct stuck_report *r, const struct thread_state *t)
{
	const char *call = stuck_in_kvm_run(t) ? "KVM_RUN"
			   : t->in_syscall     ? syscall_name(t->syscall)
					       : NULL;
	const struct thread_file *file = &t->file;
	char name[96];

	return stuck_find(r, "blocked", NULL, t->tid, stuck_thread_age(r, t),
			  "%s is blocked in %s%s%s%s%s%s%s%s%s",
			  stuck_thread_print(r, t, name, sizeof(name)), call ? call : "the kernel",
			  file->name[0] ? " of " : "", file->name,
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
	const struct thread_state *frozen = frozen_first(r);
	int err = frozen ? frozen_find(r, frozen) : stopped_find(r);

	for (unsigned int i = 0; i < r->now->nr_threads && !err; i++) {
		const struct thread_state *t = &r->now->thread[i];

		if (t->state == 't')
			err = traced_find(r, t);
		else if (is_connecting(r, t))
			err = connecting_find(r, t);
		else if (!frozen && sleeps_on(r, t) && is_faulting(t))
			err = fault_find(r, t);
		else if (!frozen && sleeps_on(r, t) && is_blocked(t))
			err = blocked_find(r, t);
	}
	return err;
}
