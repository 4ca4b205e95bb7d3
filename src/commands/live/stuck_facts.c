// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A read of a VM's memory, or of the files that it executes, may never return: a file system, a swap device or a
 * user-space pager does not answer. The work is therefore done in a child process, which this process ends after a
 * time.
 */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/process.h"
#include "base/read_full.h"
#include "base/units.h"
#include "collector/kvm_look.h"
#include "commands/live/stuck_facts.h"

enum { LOOK_MS = 100 /* for a signal */ };

static void facts_child(const struct vm *vm, int channel, pid_t parent);
static int stuck_facts_kvm(const struct stuck_facts *f, struct kvm_state *ret);

/* Waits until the child has closed its end. */
static int done_wait(int fd, uint64_t timeout_ns)
{
	uint64_t until_ns = monotonic_ns() + timeout_ns;
	struct pollfd p = {.fd = fd};
	char text[16];

	while (poll(&p, 1, LOOK_MS) <= 0) {
		if (stop_pending())
			return fail(-EINTR, "interrupted");
		if (monotonic_ns() >= until_ns)
			return fail(-ETIMEDOUT,
				    "the VM could not be read within %s: the host's CPUs are "
				    "busy, or a file system, a swap device or a user-space pager "
				    "does not answer; try a longer --timeout",
				    duration_print(timeout_ns, text, sizeof(text)));
	}
	return 0;
}

/* A child that ignores SIGKILL, being in an uninterruptible wait, is left behind: init reaps it. */
static int parent_wait(pid_t child, int fd, uint64_t timeout_ns, int *ret_status)
{
	int err = done_wait(fd, timeout_ns), status;

	close(fd);
	if (err) {
		kill(child, SIGKILL);
		return err;
	}
	while (waitpid(child, &status, 0) < 0)
		if (errno != EINTR)
			return fail(-errno, "waitpid: %s", strerror(errno));
	if (!WIFEXITED(status))
		return fail(-ECHILD, "the process that read the VM was ended by signal %d",
			    WTERMSIG(status));
	*ret_status = WEXITSTATUS(status);
	return 0;
}

int stuck_guard_begin(struct stuck_guard *g, uint64_t timeout_ns, int *ret_status)
{
	int ends[2];
	pid_t parent = getpid();

	if (pipe2(ends, O_CLOEXEC))
		return fail(-errno, "pipe: %s", strerror(errno));
	pid_t child = fork();

	if (child < 0) {
		close(ends[0]);
		close(ends[1]);
		return fail(-errno, "fork: %s", strerror(errno));
	}
	if (child) {
		close(ends[1]);
		return parent_wait(child, ends[0], timeout_ns, ret_status);
	}
	close(ends[0]);
	g->done = ends[1];
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	return 1;
}

void stuck_guard_done(struct stuck_guard *g)
{
	close(g->done);
}

/* KVM's state of the VM between the two looks of `stuck`. */

static void failed(struct stuck_kvm *k)
{
	free(k->error);
	k->error = strdup(error_text());
	k->facts = NULL;
	kvm_state_free(&k->state);
}

void stuck_kvm_open(struct stuck_kvm *k, const struct vm *vm, const struct stuck_facts *f)
{
	*k = (struct stuck_kvm){.facts = f};
	if (!vm->has_kvm)
		k->facts = NULL;
	else if (stuck_facts_kvm(f, &k->state))
		failed(k);
}

void stuck_kvm_close(struct stuck_kvm *k)
{
	kvm_state_free(&k->state);
	free(k->error);
}

const struct kvm_vm *stuck_kvm_state(const struct stuck_kvm *k)
{
	return k->state.nr ? k->state.vm : NULL;
}

void stuck_kvm_look(struct stuck_kvm *k)
{
	const struct kvm_vm *before = stuck_kvm_state(k);
	struct kvm_state state;

	if (!k->facts)
		return;
	if (stuck_facts_kvm(k->facts, &state)) {
		failed(k);
		return;
	}
	if (before && state.nr && state.vm->id == before->id)
		kvm_still_pending(state.vm, before);
	kvm_state_free(&k->state);
	k->state = state;
}

/* Call stacks of the VM's threads in user mode, for `hostrace stuck`. */

enum { PIECE = 512 };

/* As much of the stack as can be read: it may end before the copy does. */
static void stack_copy_read(const struct memory *m, const struct thread_state *t,
			    struct stack_copy *copy)
{
	*copy = (struct stack_copy){.rip = t->pc, .rsp = t->sp};
	while (copy->bytes + PIECE <= sizeof(copy->stack) &&
	       !memory_read(m, t->sp + copy->bytes, copy->stack + copy->bytes, PIECE))
		copy->bytes += PIECE;
}

void stuck_stacks_read(struct unwinder *u, const struct memory *m, struct stuck_look *l)
{
	_cleanup_free_ struct stack_copy *copy = malloc(sizeof(*copy));

	for (unsigned int i = 0; copy && i < l->nr_threads; i++) {
		struct thread_state *t = &l->thread[i];

		if (!t->sp || !t->pc)
			continue;
		stack_copy_read(m, t, copy);
		unwinder_print(u, copy, t->user_stack, sizeof(t->user_stack));
	}
}

enum { CHANNEL = 3 };

enum request { ASK_THREADS = 'T', ASK_KVM = 'K', ASK_PEERS = 'P' };

/* What precedes the `nr` structures of an answer. */
struct answer {
	int err;
	char error[256];
	uint32_t nr;
	uint64_t time_ns;  /* ASK_THREADS */
	int stacks_err;	   /* ASK_THREADS */
	struct kvm_vm kvm; /* ASK_KVM: without its arrays, of which the vCPUs follow; pid 0: KVM does not know the VM */
};

/* ---- the process that has privileges ---- */

struct reader {
	const struct vm *vm;
	struct kvm_looker *looker;
};

static void bytes_send(const void *bytes, size_t size)
{
	const char *at = bytes;

	while (size) {
		ssize_t n = send(CHANNEL, at, size, MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			_exit(0); /* nobody asks any more */
		at += n;
		size -= (size_t)n;
	}
}

static void answer_send(struct answer *a, const void *list, size_t size)
{
	if (a->err)
		snprintf(a->error, sizeof(a->error), "%s", error_text());
	bytes_send(a, sizeof(*a));
	if (!a->err)
		bytes_send(list, a->nr * size);
}

static void threads_answer(const struct reader *r)
{
	_cleanup_free_ struct thread_state *list = NULL;
	struct answer a = {.time_ns = monotonic_ns()};

	a.err = threads_read(r->vm->pid, a.time_ns, &list, &a.nr, &a.stacks_err);
	answer_send(&a, list, sizeof(*list));
}

static void peers_answer(const struct reader *r)
{
	_cleanup_free_ struct socket_peer *list = NULL;
	struct answer a = {0};

	a.err = socket_peers_read(r->vm->pid, &list, &a.nr);
	answer_send(&a, list, sizeof(*list));
}

static void kvm_answer(struct reader *r)
{
	struct kvm_state state = {0};
	struct answer a = {0};
	const struct kvm_vm *kvm;

	a.err = r->looker ? 0 : kvm_looker_open(&r->looker);
	if (!a.err)
		a.err = kvm_looker_look(r->looker, &state);
	kvm = a.err ? NULL : kvm_state_of(&state, r->vm->pid, NULL);
	if (kvm) {
		a.kvm = *kvm;
		a.nr = (uint32_t)kvm->nr_vcpus;
	}
	answer_send(&a, kvm ? kvm->vcpu : NULL, sizeof(*kvm->vcpu));
	kvm_state_free(&state);
}

static void serve(struct reader *r)
{
	char request;

	while (read_full(CHANNEL, &request, 1) == 1)
		switch (request) {
		case ASK_THREADS:
			threads_answer(r);
			break;
		case ASK_KVM:
			kvm_answer(r);
			break;
		case ASK_PEERS:
			peers_answer(r);
			break;
		default:
			return;
		}
}

/* Descriptors of the other that somebody waits for to be closed are closed. */
static void facts_child(const struct vm *vm, int channel, pid_t parent)
{
	struct reader r = {.vm = vm};

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() == parent && (channel == CHANNEL || dup2(channel, CHANNEL) >= 0)) {
		close_range(CHANNEL + 1, ~0u, 0);
		serve(&r);
	}
	_exit(0);
}

int stuck_facts_start(struct stuck_facts *f, const struct vm *vm)
{
	int ends[2];
	pid_t parent = getpid(), pid;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
		return fail(-errno, "socketpair: %s", strerror(errno));
	pid = fork();
	if (!pid)
		facts_child(vm, ends[1], parent);
	close(ends[1]);
	if (pid < 0) {
		close(ends[0]);
		return fail(-errno, "fork: %s", strerror(errno));
	}
	f->channel = ends[0];
	return 0;
}

void stuck_facts_stop(struct stuck_facts *f)
{
	close(f->channel);
}

/* ---- the process that asks ---- */

/* *ret is allocated; *ret_nr of its elements are of this size. */
static int facts_ask(const struct stuck_facts *f, enum request request, size_t size,
		     struct answer *a, void **ret)
{
	const char byte = (char)request;

	*ret = NULL;
	if (write(f->channel, &byte, 1) != 1 ||
	    read_full(f->channel, a, sizeof(*a)) != (ssize_t)sizeof(*a))
		return fail(-EPIPE, "the process that reads /proc and KVM's state has ended");
	if (a->err)
		return fail(a->err, "%s", a->error);
	*ret = calloc(a->nr + 1, size);
	if (!*ret)
		return fail(-ENOMEM, "out of memory");
	if (read_full(f->channel, *ret, a->nr * size) == (ssize_t)(a->nr * size))
		return 0;
	free(*ret);
	*ret = NULL;
	return fail(-EPIPE, "the process that reads /proc and KVM's state has ended");
}

int stuck_facts_threads(const struct stuck_facts *f, struct stuck_look *l)
{
	struct answer a;
	void *list;
	int err = facts_ask(f, ASK_THREADS, sizeof(*l->thread), &a, &list);

	if (err)
		return err;
	l->thread = list;
	l->nr_threads = a.nr;
	l->time_ns = a.time_ns;
	l->stacks_err = a.stacks_err;
	return 0;
}

/* KVM's state of this VM, without its memory slots. Free it in any case. */
static int stuck_facts_kvm(const struct stuck_facts *f, struct kvm_state *ret)
{
	struct answer a;
	void *list;
	int err = facts_ask(f, ASK_KVM, sizeof(*ret->vm->vcpu), &a, &list);

	*ret = (struct kvm_state){0};
	if (!err && a.kvm.pid)
		ret->vm = malloc(sizeof(*ret->vm));
	if (!ret->vm) {
		free(list);
		return err || !a.kvm.pid ? err : fail(-ENOMEM, "out of memory");
	}
	ret->nr = 1;
	*ret->vm = a.kvm;
	ret->vm->slot = NULL;
	ret->vm->nr_slots = 0;
	ret->vm->vcpu = list;
	ret->vm->nr_vcpus = a.nr;
	return 0;
}

int stuck_facts_peers(const struct stuck_facts *f, struct socket_peer **ret, unsigned int *ret_nr)
{
	struct answer a;
	void *list;
	int err = facts_ask(f, ASK_PEERS, sizeof(**ret), &a, &list);

	*ret = list;
	*ret_nr = err ? 0 : a.nr;
	return err;
}
