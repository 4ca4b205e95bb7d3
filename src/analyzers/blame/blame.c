// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Follows the threads of the VMs through the events: who runs, who sleeps in what, who is in an exit. Before a state
 * changes, part_cut() accounts for the time that it lasted.
 */
#include <errno.h>
#include <linux/kvm.h>
#include <stdlib.h>
#include <string.h>

#include "analyzers/blame/internal.h"
#include "base/error.h"

enum { SYSCALL_FUTEX = 202, FUTEX_CMD = 0x7f }; /* without FUTEX_PRIVATE_FLAG and FUTEX_CLOCK_REALTIME */
enum { TASK_INTERRUPTIBLE = 1 };

const struct blame_counts *blame_counts(const struct blame *b)
{
	return &b->counts;
}

/* ---- threads and VMs ---- */

static uint64_t key_of(const struct event *ev, uint32_t id)
{
	return (uint64_t)ev->source << 32 | id;
}

static struct machine *machine_get(struct blame *b, const struct event *ev)
{
	struct machine_entry *e = hash_find_u64(&b->machines, key_of(ev, ev->pid));

	if (e)
		return e->vm;
	e = hash_add_u64(&b->machines, key_of(ev, ev->pid), NULL);
	if (!e)
		return NULL;
	e->vm = calloc(1, sizeof(*e->vm));
	if (!e->vm)
		hash_remove(&b->machines, e);
	return e ? e->vm : NULL;
}

static struct thread *thread_find(struct blame *b, const struct event *ev, uint32_t tid)
{
	const struct thread_entry *e = hash_find_u64(&b->threads, key_of(ev, tid));

	if (e)
		losses_touch(b, e->thread);
	return e ? e->thread : NULL;
}

/* NULL: there are too many. */
static struct thread *thread_get(struct blame *b, const struct event *ev, uint32_t tid)
{
	struct thread *t = tid ? thread_find(b, ev, tid) : NULL;
	struct machine *vm;
	struct thread_entry *e;

	if (t || !tid)
		return t;
	vm = b->foreign ? NULL : machine_get(b, ev);
	t = vm || b->foreign ? calloc(1, sizeof(*t)) : NULL;
	e = t ? hash_add_u64(&b->threads, key_of(ev, tid), NULL) : NULL;
	if (!e) {
		b->counts.refused++;
		free(t);
		return NULL;
	}
	e->thread = t;
	t->tid = tid;
	t->pid = ev->pid;
	t->vm = vm;
	losses_touch(b, t);
	return t;
}

/* The thread of a VM; NULL: there are too many. */
static struct thread *vm_thread_get(struct blame *b, const struct event *ev)
{
	struct thread *t = thread_get(b, ev, ev->tid);

	if (!t || t->vm)
		return t;
	t->vm = machine_get(b, ev);
	b->counts.refused += !t->vm;
	return t->vm ? t : NULL;
}

static void comm_learn(struct thread *t, const struct event *ev, const char *field)
{
	const struct field *f = event_field(ev->type, field);

	if (!f || *t->comm)
		return;
	event_text(ev, f, t->comm, sizeof(t->comm));
	text_sanitize(t->comm);
}

/* ---- exits ---- */

static void on_exit_event(struct blame *b, struct thread *t, const struct event *ev)
{
	struct cycle *c;

	if (!b->exits_seen)
		exits_restart(b);
	c = exit_begin(b, t, ev);
	if (!c)
		return;
	c->reason = (uint32_t)event_value(ev, "reason");
	c->isa = (uint32_t)event_value(ev, "isa");
	c->rip = event_value(ev, "rip");
	c->user = false;
	c->access = (struct blame_who){0};
}

static bool access_known(const struct cycle *c)
{
	return c->access.kind == BLAME_PORT || c->access.kind == BLAME_MMIO;
}

/* What the VMM is asked to handle for this KVM_EXIT_*. */
static enum blame_kind access_kind(uint64_t reason)
{
	return reason == KVM_EXIT_IO	 ? BLAME_PORT
	       : reason == KVM_EXIT_MMIO ? BLAME_MMIO
					 : BLAME_VMM;
}

/* KVM_RUN of a vCPU that another one has not started yet. */
static bool waited_for_start(const struct cycle *c, const struct event *ev)
{
	return c && c->done && c->in_run && (int32_t)event_value(ev, "error") == -EAGAIN;
}

/* An error of KVM_RUN comes with the reason of an earlier exit, or none. After these two QEMU handles no access. */
static uint32_t userspace_reason(const struct event *ev)
{
	int32_t error = (int32_t)event_value(ev, "error");

	return error == -EINTR || error == -EAGAIN ? KVM_EXIT_INTR
						   : (uint32_t)event_value(ev, "reason");
}

/* KVM_EXIT_IO and KVM_EXIT_MMIO are named by their port or address, which may come later. */
static void on_userspace(struct blame *b, struct thread *t, const struct event *ev)
{
	uint32_t reason = userspace_reason(ev);
	struct cycle *c = t->cycle;

	b->counts.user_exits = true;
	if (!b->exits_seen) {
		b->counts.userspace = true;
		if (waited_for_start(c, ev))
			parts_slept_halted(t);
		c = exit_begin(b, t, ev);
		if (c)
			c->reason = (uint32_t)event_value(ev, "reason"), c->isa = 0;
	}
	if (!c || !c->open)
		return;
	part_cut(b, t, ev->time_ns);
	c->user = true;
	c->fault = c->inject = false;
	if (!access_known(c) || access_kind(reason) != c->access.kind)
		c->access = (struct blame_who){.kind = BLAME_VMM, .access = reason};
}

static void on_run(struct blame *b, struct thread *t, const struct event *ev)
{
	struct cycle *c = t->cycle;

	b->counts.runs = true;
	if (!c)
		return;
	part_cut(b, t, ev->time_ns);
	if (!b->exits_seen)
		exit_end(b, t, ev->time_ns);
	c->user = false;
	if (!b->exits_seen && access_known(c)) {
		exit_deliver(b, t);
		c->access = (struct blame_who){0};
	}
}

/*
 * A write's event comes before KVM_RUN returns for it. A read's comes when it is complete: after KVM_RUN was called
 * again, so it may belong to an exit that has ended, and never to the next one.
 */
static void on_access(struct blame *b, struct thread *t, struct blame_who access, bool complete)
{
	struct cycle *c = exit_cycle(b, t);

	if (!c)
		return;
	if (c->done) {
		if (complete && !access_known(c) && access_kind(c->access.access) == access.kind)
			c->access = access;
		exit_deliver(b, t);
		c->access = (struct blame_who){0};
	}
	if (!complete || (b->exits_seen && c->open && !access_known(c) &&
			  access_kind(c->access.access) == access.kind))
		c->access = access;
}

static void on_pio(struct blame *b, struct thread *t, const struct event *ev)
{
	on_access(b, t,
		  (struct blame_who){.kind = BLAME_PORT, .access = event_value(ev, "port")},
		  !event_value(ev, "write"));
}

static void on_mmio(struct blame *b, struct thread *t, const struct event *ev)
{
	enum { MMIO_READ = 1 }; /* the event before its userspace exit is 0 */

	on_access(b, t, (struct blame_who){.kind = BLAME_MMIO, .access = event_value(ev, "gpa")},
		  event_value(ev, "type") == MMIO_READ);
}

/* An event in the thread itself: it runs. */
static void thread_runs(struct blame *b, struct thread *t, uint64_t ns)
{
	t->woken_early_ns = 0;
	if (t->run == RUN_ON_CPU)
		return;
	part_cut(b, t, ns);
	owner_changes(b, t, ns);
	t->run = RUN_ON_CPU;
	exit_return_run(b, t, ns);
}

static void on_vcpu(struct blame *b, struct thread *t, const struct event *ev)
{
	struct cycle *c = t->cycle;
	uint64_t ns;

	thread_runs(b, t, ev->time_ns);
	switch (ev->type->id) {
	case EV_kvm_exit:
		on_exit_event(b, t, ev);
		break;
	case EV_kvm_entry:
		if (b->exits_seen) {
			exit_end(b, t, ev->time_ns);
			exit_deliver(b, t);
		}
		break;
	case EV_kvm_nested_vmexit:
		if (c && c->open)
			c->nested = true;
		break;
	case EV_kvm_userspace_exit:
		on_userspace(b, t, ev);
		break;
	case EV_kvm_run:
		on_run(b, t, ev);
		break;
	case EV_kvm_pio:
		on_pio(b, t, ev);
		break;
	case EV_kvm_mmio:
		on_mmio(b, t, ev);
		break;
	case EV_kvm_page_fault:
	case EV_kvm_inj_virq:
		if (!c || !c->open || c->user)
			break;
		part_cut(b, t, ev->time_ns);
		c->fault = ev->type->id == EV_kvm_page_fault;
		c->inject = ev->type->id == EV_kvm_inj_virq;
		break;
	case EV_kvm_vcpu_wakeup:
		ns = event_value(ev, "ns");
		if (c && c->done && c->in_run)
			parts_slept_halted(t);
		parts_halted(b, t, ns < ev->time_ns ? ev->time_ns - ns : 0, ev->time_ns,
			     event_value(ev, "waited"));
		break;
	}
}

/* ---- the scheduler ---- */

static void other_set(struct blame *b, struct thread *t, const struct event *ev, const char *tid,
		      const char *comm)
{
	const struct field *f = event_field(ev->type, comm);

	t->other = (struct blame_who){.number = ev->cpu};
	if (losses_cover(b, LOST_TASKS, ev->time_ns))
		return; /* another one may have followed */
	t->other.tid = (uint32_t)event_value(ev, tid);
	if (f)
		event_text(ev, f, t->other.comm, sizeof(t->other.comm));
	text_sanitize(t->other.comm);
}

/* It leaves the CPU again, and when it got that is not known. */
static void switch_is_missing(struct blame *b, struct thread *t)
{
	struct cycle *c = t->cycle;

	t->run = RUN_UNKNOWN;
	if (!c || !c->open || !c->in_run)
		return;
	exit_drop(t);
	if (losses_cover(b, LOST_RUNS, c->start_ns))
		b->counts.lost++;
	else
		b->counts.unseen++;
}

static void thread_leaves(struct blame *b, struct thread *t, const struct event *ev)
{
	uint64_t state = event_value(ev, "prev_state"), woken = t->woken_early_ns;

	part_cut(b, t, ev->time_ns);
	owner_changes(b, t, ev->time_ns);
	comm_learn(t, ev, "prev_comm");
	other_set(b, t, ev, "next_tid", "next_comm");
	t->run = !state ? RUN_PREEMPTED : RUN_ASLEEP;
	if (state && woken && ev->time_ns - woken <= EARLY_WAKE_NS)
		t->run = RUN_WOKEN;
	t->woken_early_ns = 0;
	t->block = (struct block){.interruptible = state & TASK_INTERRUPTIBLE,
				  .since_ns = ev->time_ns};
}

/*
 * Without sched_ran only two of the tasks that ran while the thread waited are known: the first, which is often a
 * short-lived kernel thread, and the last. On another CPU the last one had nothing to do with it.
 */
static bool last_counts(const struct blame *b, const struct thread *t, const struct event *ev)
{
	if (t->run == RUN_PREEMPTED)
		return !b->ran && t->other.number == ev->cpu && event_value(ev, "prev_tid");
	return t->run == RUN_WOKEN;
}

/* Who sleeps on the mutex is woken to take it. */
static void thread_comes(struct blame *b, struct thread *t, const struct event *ev)
{
	bool takes = t->run == RUN_WOKEN && t->block.on_global;

	if (last_counts(b, t, ev))
		other_set(b, t, ev, "prev_tid", "prev_comm");
	part_cut(b, t, ev->time_ns);
	owner_changes(b, t, ev->time_ns);
	comm_learn(t, ev, "next_comm");
	t->run = RUN_ON_CPU;
	t->woken_early_ns = 0;
	exit_return_run(b, t, ev->time_ns);
	if (takes)
		owner_woken_runs(b, t, ev->time_ns);
}

static void waiters_switch(struct blame *b, const struct machine *vm, const struct event *ev)
{
	for (unsigned int i = 0; i < vm->nr_vcpus; i++) {
		struct thread *t = vm->vcpu[i];

		if (t->run != RUN_PREEMPTED || t->other.number != ev->cpu)
			continue;
		part_cut(b, t, ev->time_ns);
		other_set(b, t, ev, "next_tid", "next_comm");
	}
}

/* A CPU switches: threads that wait for it account for the task that leaves, then wait for the next one. */
static void on_ran(struct blame *b, const struct event *ev)
{
	const struct machine_entry *e = hash_find_u64(&b->machines, key_of(ev, ev->pid));

	if (e && !b->foreign)
		waiters_switch(b, e->vm, ev);
	for (uint32_t at = 0; b->foreign && (e = hash_next(&b->machines, &at));)
		waiters_switch(b, e->vm, ev);
}

/* The header's thread is the one that leaves if it is the VM's, else the one that comes. */
static void on_switch(struct blame *b, const struct event *ev)
{
	uint32_t prev = (uint32_t)event_value(ev, "prev_tid");
	uint32_t next = (uint32_t)event_value(ev, "next_tid");
	struct thread *t = prev && prev == ev->tid ? thread_get(b, ev, prev) : NULL;

	b->counts.switches = true;
	if (t && t->run != RUN_ON_CPU)
		switch_is_missing(b, t);
	if (b->ran)
		on_ran(b, ev);
	if (t)
		thread_leaves(b, t, ev);
	t = next == ev->tid ? thread_get(b, ev, next) : thread_find(b, ev, next);
	if (t && (t->pid == ev->pid || b->foreign))
		thread_comes(b, t, ev);
}

static bool futex_waits(uint64_t op)
{
	switch (op & FUTEX_CMD) {
	case 0:	 /* FUTEX_WAIT */
	case 6:	 /* FUTEX_LOCK_PI */
	case 9:	 /* FUTEX_WAIT_BITSET */
	case 11: /* FUTEX_WAIT_REQUEUE_PI */
	case 13: /* FUTEX_LOCK_PI2 */
		return true;
	}
	return false;
}

/* Immediately follows its sched_switch. */
static void on_block(struct blame *b, struct thread *t, const struct event *ev)
{
	uint64_t pid_key = key_of(ev, ev->pid);
	struct block *s = &t->block;

	b->counts.blocks = true;
	owner_learn(b, t, pid_key, (uint32_t)event_value(ev, "ns_tid"));
	s->known = true;
	s->syscall = (int32_t)event_value(ev, "syscall");
	s->arg0 = event_value(ev, "arg0");
	s->arg1 = event_value(ev, "arg1");
	s->waits = s->syscall == SYSCALL_FUTEX && futex_waits(s->arg1);
	s->on_global = s->waits && event_value(ev, "is_global");
	owner_read(b, t, pid_key, (uint32_t)event_value(ev, "global_word"),
		   (uint32_t)event_value(ev, "global_owner"), ev->time_ns);
	if (s->syscall == SYSCALL_IOCTL && s->arg1 == KVM_RUN_REQUEST)
		exit_leave_run(b, t, ev);
}

static void on_woken(struct blame *b, struct thread *t, const struct event *ev)
{
	/* Woken again: it has run, but the switch is missing. */
	if (t->run == RUN_ON_CPU || t->run == RUN_WOKEN)
		t->woken_early_ns = ev->time_ns;
	if (t->run != RUN_ASLEEP)
		return;
	part_cut(b, t, ev->time_ns);
	owner_changes(b, t, ev->time_ns);
	t->run = RUN_WOKEN;
	if (t->block.on_global && event_value(ev, "waker_pid") == ev->pid)
		owner_set(b, t->vm, (struct owner){OWNER_FREE, t, 0}, ev->time_ns);
}

/* In the thread that wakes it. */
static void on_wakeup(struct blame *b, const struct event *ev)
{
	struct thread *t = thread_find(b, ev, (uint32_t)event_value(ev, "wake_tid"));

	if (!t || t->run != RUN_ASLEEP)
		return;
	part_cut(b, t, ev->time_ns);
	t->run = RUN_WOKEN;
}

/* ---- all events ---- */

static const char *const wanted[] = {
	"sched_wakeup", "kvm_nested_vmexit",
	"kvm_exit",    "kvm_entry",	 "kvm_userspace_exit", "kvm_run",	  "kvm_pio",
	"kvm_mmio",    "kvm_page_fault", "kvm_inj_virq",       "kvm_vcpu_wakeup", "sched_switch",
	"sched_block", "sched_ran",	 "sched_woken",	       "thread",	  "lost",
	"sched_holder", "gap",	 "bql_locked",	       "bql_unlock", "probe_dropped",
};

bool blame_wants(const char *event, void *arg)
{
	(void)arg;
	for (unsigned int i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++)
		if (!strcmp(wanted[i], event))
			return true;
	return false;
}

int blame_event(struct blame *b, const struct event *ev)
{
	unsigned int id = ev->type->id;
	struct thread *t;

	if (id == EV_sched_switch)
		on_switch(b, ev);
	if (id == EV_sched_ran) {
		b->ran = true;
		on_ran(b, ev);
	}
	if (id == EV_lost || id == EV_gap || id == EV_probe_dropped) {
		losses_event(b, ev);
		return b->err;
	}
	if (id == EV_sched_wakeup && b->foreign)
		on_wakeup(b, ev);
	if (id == EV_sched_switch || id == EV_sched_ran || id == EV_sched_wakeup || !id ||
	    !blame_wants(ev->type->name, NULL))
		return b->err;
	t = id == EV_thread ? thread_get(b, ev, ev->tid) : vm_thread_get(b, ev);
	if (!t)
		return b->err;
	if (id == EV_thread)
		comm_learn(t, ev, "comm");
	else if (id == EV_sched_block)
		on_block(b, t, ev);
	else if (id == EV_sched_woken)
		on_woken(b, t, ev);
	else if (id == EV_sched_holder)
		holder_event(b, t, ev);
	else if (id == EV_bql_locked || id == EV_bql_unlock)
		owner_event(b, t, ev);
	else
		on_vcpu(b, t, ev);
	return b->err;
}

void blame_end_open(struct blame *b, uint32_t tid, uint64_t now_ns)
{
	const struct thread_entry *e;

	for (uint32_t at = 0; (e = hash_next(&b->threads, &at));)
		if (e->thread->tid == tid)
			exit_end(b, e->thread, now_ns);
}

int blame_end(struct blame *b)
{
	const struct thread_entry *e;

	for (uint32_t at = 0; (e = hash_next(&b->threads, &at));) {
		exit_deliver(b, e->thread);
		b->counts.open += e->thread->cycle && e->thread->cycle->open;
	}
	return b->err;
}

struct blame *blame_new(const struct blame_sink *sink)
{
	struct blame *b = calloc(1, sizeof(*b));

	if (!b)
		return NULL;
	b->sink = *sink;
	b->threads = HASH_TABLE(struct thread_entry, 1, THREADS_MAX);
	b->machines = HASH_TABLE(struct machine_entry, 1, VMS_MAX_SEEN);
	b->ns_tids = HASH_TABLE(struct ns_entry, 2, THREADS_MAX);
	holder_init(b);
	return b;
}

void blame_set_foreign(struct blame *b)
{
	b->foreign = b->ran = true;
}

void blame_set_regions(struct blame *b, struct region_names *regions)
{
	b->regions = regions;
}

void blame_free(struct blame *b)
{
	const struct thread_entry *t;
	const struct machine_entry *m;

	if (!b)
		return;
	for (uint32_t at = 0; (t = hash_next(&b->threads, &at));) {
		if (t->thread->cycle)
			free(t->thread->cycle->part);
		free(t->thread->cycle);
		free(t->thread);
	}
	for (uint32_t at = 0; (m = hash_next(&b->machines, &at));)
		free(m->vm);
	hash_deinit(&b->threads);
	hash_deinit(&b->machines);
	hash_deinit(&b->ns_tids);
	holder_deinit(b);
	free(b);
}
