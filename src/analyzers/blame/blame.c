// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Follows the exits of vCPUs through the events. What threads do is known from the model: when a thread's state
 * changes, part_cut() accounts for the time that it lasted, before anything else is known to have changed.
 */
#include <errno.h>
#include <linux/kvm.h>

#include "analyzers/blame/internal.h"
#include "base/error.h"
#include "event/handlers.h"
#include "event/records.h"

enum { FUTEX_CMD = 0x7f }; /* without FUTEX_PRIVATE_FLAG and FUTEX_CLOCK_REALTIME */

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

/* NULL: there are too many. In a foreign trace a thread has no VM as long as it has scheduler events alone. */
static struct thread *thread_get(struct blame *b, const struct event *ev, bool in_vm)
{
	struct thread *t = (struct thread *)model_thread_get(&b->model, ev);

	if (!t)
		return NULL;
	losses_touch(b, t);
	if (t->vm || (b->model.foreign && !in_vm))
		return t;
	t->vm = machine_get(b, ev);
	b->counts.refused += !t->vm;
	return t->vm ? t : NULL;
}

/* ---- exits ---- */

static void on_exit_event(struct blame *b, struct thread *t, const struct event *ev)
{
	RECORD(kvm_exit, exit, ev);
	struct cycle *c;

	if (!b->exits_seen)
		exits_restart(b);
	c = exit_begin(b, t, ev);
	if (!c)
		return;
	c->reason = record_has(ev, kvm_exit, reason) ? exit->reason : BLAME_NO_REASON;
	c->isa = record_has(ev, kvm_exit, isa) ? exit->isa : BLAME_NO_ISA;
	c->rip = exit->rip;
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
static bool waited_for_start(const struct cycle *c, const struct rec_kvm_userspace_exit *user)
{
	return c && c->done && c->in_run && user->error == -EAGAIN;
}

/* An error of KVM_RUN comes with the reason of an earlier exit, or none. After these two QEMU handles no access. */
static uint32_t userspace_reason(const struct event *ev, const struct rec_kvm_userspace_exit *user)
{
	if (user->error == -EINTR || user->error == -EAGAIN)
		return KVM_EXIT_INTR;
	return record_has(ev, kvm_userspace_exit, reason) ? user->reason : BLAME_NO_REASON;
}

/* KVM_EXIT_IO and KVM_EXIT_MMIO are named by their port or address, which may come later. */
static void on_userspace(struct blame *b, struct thread *t, const struct event *ev)
{
	RECORD(kvm_userspace_exit, user, ev);
	uint32_t reason = userspace_reason(ev, user);
	struct cycle *c = t->cycle;

	b->counts.user_exits = true;
	if (!b->exits_seen) {
		b->counts.userspace = true;
		if (waited_for_start(c, user))
			parts_slept_halted(t);
		c = exit_begin(b, t, ev);
		if (c)
			c->reason = record_has(ev, kvm_userspace_exit, reason) ? user->reason
									      : BLAME_NO_REASON,
			c->isa = 0;
	}
	if (!c || !c->open)
		return;
	part_cut(b, t, ev->time_ns);
	c->user = true;
	c->misplaced = losses_cover(&b->model.losses, LOST_PLACES, ev->time_ns);
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
		exit_ends(b, t, ev);
	c->user = false;
	c->misplaced = losses_cover(&b->model.losses, LOST_PLACES, ev->time_ns);
}

/* Ports of the interrupt controllers and the timer that KVM has itself: their reads end no exit to the VMM. */
static bool is_kvms_own(uint64_t port)
{
	return (port >= 0x40 && port <= 0x43) || port == 0x61 || (port & ~0x81ULL) == 0x20 ||
	       (port & ~1ULL) == 0x4d0;
}

/*
 * Does this read, which is complete, name the exit that has ended? A write before the exit is not what it was for then:
 * that one was coalesced, as those to ports 0x70 and 0xcf8 are, whose data port is read next.
 */
static bool completes(const struct blame *b, const struct cycle *c, const struct blame_who *read)
{
	if (!access_known(c))
		return access_kind(c->access.access) == read->kind;
	return !b->exits_seen && !c->in_run && read->kind == BLAME_PORT &&
	       access_kind(c->reason) == BLAME_PORT && !is_kvms_own(read->access);
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
		if (complete && completes(b, c, &access))
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
	RECORD(kvm_pio, pio, ev);

	on_access(b, t, (struct blame_who){.kind = BLAME_PORT, .access = pio->port}, !pio->write);
}

static void on_mmio(struct blame *b, struct thread *t, const struct event *ev)
{
	enum { MMIO_READ = 1 }; /* the event before its userspace exit is 0 */
	RECORD(kvm_mmio, mmio, ev);

	on_access(b, t, (struct blame_who){.kind = BLAME_MMIO, .access = mmio->gpa},
		  mmio->type == MMIO_READ);
}

static void on_vcpu_wakeup(struct blame *b, struct thread *t, const struct event *ev)
{
	RECORD(kvm_vcpu_wakeup, wakeup, ev);

	b->wakeups = true;
	if (!record_has(ev, kvm_vcpu_wakeup, ns)) {
		b->counts.untimed_halts++;
		return;
	}
	if (t->cycle && t->cycle->done && t->cycle->in_run)
		parts_slept_halted(t);
	parts_halted(b, t, wakeup->ns < ev->time_ns ? ev->time_ns - wakeup->ns : 0, ev->time_ns,
		     wakeup->waited);
}

static void on_entry(struct blame *b, struct thread *t, const struct event *ev)
{
	if (!b->exits_seen)
		return;
	exit_ends(b, t, ev);
	exit_deliver(b, t);
}

static void on_nested(struct blame *b, struct thread *t, const struct event *ev)
{
	(void)b;
	(void)ev;
	if (t->cycle && t->cycle->open)
		t->cycle->nested = true;
}

/* KVM resolves a fault, or has injected an interrupt. */
static void on_step(struct blame *b, struct thread *t, const struct event *ev)
{
	struct cycle *c = t->cycle;

	if (!c || !c->open || c->user)
		return;
	part_cut(b, t, ev->time_ns);
	c->fault = ev->type->id == EV_kvm_page_fault;
	c->inject = ev->type->id == EV_kvm_inj_virq;
}

/* ---- the scheduler ---- */

static void part_taken(void *arg, struct model_thread *m, uint64_t from_ns, uint64_t to_ns,
		       const struct runner *who)
{
	struct thread *t = (struct thread *)m;

	(void)from_ns;
	t->preemptor = who;
	part_cut(arg, t, to_ns);
	t->preemptor = NULL;
}

static void waker_releases(struct blame *b, struct thread *t, const struct event *ev)
{
	RECORD(sched_woken, woken, ev);

	if (woken->waker_pid == ev->pid)
		owner_set(b, t->vm, (struct owner){OWNER_FREE, t, 0}, ev->time_ns);
}

/* The thread changes its state: the part that lasted until now is of the old one. */
static void period_cut(void *arg, struct model_thread *m, uint64_t ns, enum run_state next,
		       const struct event *ev)
{
	struct thread *t = (struct thread *)m;
	bool on_global = m->block.known && t->on_global;
	bool by_switch = ev->type->id == EV_sched_switch;
	struct blame *b = arg;

	losses_touch(b, t);
	if (t->shown != m->state)
		parts_correct(t);
	if (t->shown != m->state && m->state == THREAD_UNKNOWN)
		exit_drop_run(b, t, ns);
	t->shown = next;
	part_cut(b, t, ns);
	owner_changes(b, t, ns);
	if (next == THREAD_RUNNING)
		exit_return_run(b, t, ns);
	if (by_switch && m->state == THREAD_WOKEN && next == THREAD_RUNNING && on_global)
		owner_woken_runs(b, t, ns); /* it was woken to take it */
	if (m->state == THREAD_ASLEEP && on_global && ev->type->id == EV_sched_woken)
		waker_releases(b, t, ev);
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

/* What the thread left its CPU in, unless a switch is missing. */
static void on_block(struct blame *b, struct thread *t, const struct event *ev)
{
	uint64_t pid_key = key_of(ev, ev->pid);
	RECORD(sched_block, block, ev);

	b->counts.blocks = true;
	owner_learn(b, t, pid_key, block->ns_tid);
	t->waits = syscall_is_futex((uint64_t)block->syscall) && futex_waits(block->arg1);
	t->on_global = t->waits && block->is_global;
	t->is_crowded = false;
	owner_read(b, t, pid_key, block->global_word, block->global_owner, ev->time_ns);
	if (thread_left_in_kvm_run(&t->model))
		exit_leave_run(b, t, ev);
	else if (is_kvm_run(block->syscall, block->arg1) && model_is_blind(&b->model, ev->time_ns))
		b->counts.lost += !b->exits_seen;
}

/* ---- all events ---- */

/* What the model has understood shows that there is such a thread, and of a VM. */
static void on_known(struct blame *b, struct thread *t, const struct event *ev)
{
	(void)b;
	(void)t;
	(void)ev;
}

static void on_switch(struct blame *b, struct thread *t, const struct event *ev)
{
	(void)t;
	(void)ev;
	b->counts.switches = true;
}

/* Of events in the thread of their header. */
static const HANDLERS_OF(struct blame, struct thread) handlers = {{
	[EV_kvm_exit] = on_exit_event,
	[EV_kvm_entry] = on_entry,
	[EV_kvm_userspace_exit] = on_userspace,
	[EV_kvm_run] = on_run,
	[EV_kvm_pio] = on_pio,
	[EV_kvm_mmio] = on_mmio,
	[EV_kvm_inj_virq] = on_step,
	[EV_kvm_vcpu_wakeup] = on_vcpu_wakeup,
	[EV_kvm_page_fault] = on_step,
	[EV_kvm_nested_vmexit] = on_nested,
	[EV_sched_switch] = on_switch,
	[EV_sched_block] = on_block,
	[EV_sched_woken] = on_known,
	[EV_sched_holder] = holder_event,
	[EV_thread] = on_known,
	[EV_bql_locked] = owner_event,
	[EV_bql_unlock] = owner_event,
}};

bool blame_wants(const char *event, void *arg)
{
	(void)arg;
	return handlers_want(&handlers, event) || model_wants(event, true, false);
}

/* What was counted until now is not in the window. */
static void window_begin(struct blame *b)
{
	struct blame_counts before = b->counts;
	struct model_thread *m;

	for (uint32_t at = 0; (m = model_thread_next(&b->model, &at));)
		exit_deliver(b, (struct thread *)m);
	b->has_begun = true;
	b->counts = (struct blame_counts){.refused = before.refused,
					  .ready = 0 - b->model.counts.unnamed,
					  .cpuless = 0 - b->model.counts.cpuless,
					  .switches = before.switches,
					  .blocks = before.blocks,
					  .user_exits = before.user_exits,
					  .runs = before.runs,
					  .userspace = before.userspace};
}

int blame_event(struct blame *b, const struct event *ev)
{
	unsigned int id = ev->type->id;
	struct thread *t;

	if (ev->time_ns >= b->until_ns)
		return b->err;
	if (!b->has_begun && ev->time_ns >= b->since_ns)
		window_begin(b);
	model_event(&b->model, ev);
	if (!handlers_have(&handlers, ev))
		return b->err;
	t = thread_get(b, ev, id != EV_thread && id != EV_sched_switch);
	if (t)
		handlers.on[id](b, t, ev);
	return b->err;
}

void blame_end_open(struct blame *b, uint32_t tid, uint64_t now_ns)
{
	struct model_thread *m;

	for (uint32_t at = 0; (m = model_thread_next(&b->model, &at));)
		if (m->tid == tid && !exit_open_is_lost(b, (struct thread *)m))
			exit_end(b, (struct thread *)m, now_ns);
}

int blame_end(struct blame *b)
{
	struct model_thread *m;

	if (!b->has_begun)
		window_begin(b);
	for (uint32_t at = 0; (m = model_thread_next(&b->model, &at));) {
		struct thread *t = (struct thread *)m;

		exit_deliver(b, t);
		if (t->cycle && t->cycle->open)
			++*(exit_open_is_lost(b, t) ? &b->counts.lost : &b->counts.open);
	}
	b->counts.refused += b->model.counts.refused;
	b->counts.ready += b->model.counts.unnamed;
	b->counts.cpuless += b->model.counts.cpuless;
	return b->err;
}

struct blame *blame_new(const struct blame_sink *sink)
{
	struct blame *b = calloc(1, sizeof(*b));

	if (!b)
		return NULL;
	b->sink = *sink;
	b->until_ns = UINT64_MAX;
	model_init(&b->model,
		   &(struct model_reader){.period = period_cut,
					  .taken = part_taken,
					  .lost = losses_found,
					  .arg = b,
					  .thread_size = sizeof(struct thread)},
		   0);
	b->machines = HASH_TABLE(struct machine_entry, 1, VMS_MAX_SEEN);
	b->ns_tids = HASH_TABLE(struct ns_entry, 2, NS_TIDS_MAX);
	holder_init(b);
	return b;
}

void blame_window(struct blame *b, uint64_t since_ns, uint64_t until_ns)
{
	b->since_ns = since_ns;
	b->until_ns = until_ns;
}

void blame_set_foreign(struct blame *b)
{
	model_set_foreign(&b->model);
}

void blame_set_wakeups(struct blame *b)
{
	b->wakeups = true;
}

void blame_set_regions(struct blame *b, struct region_names *regions)
{
	b->regions = regions;
}

void blame_set_vms(struct blame *b, const struct vm_names *vms)
{
	b->vms = vms;
}

void blame_free(struct blame *b)
{
	const struct machine_entry *vm;
	struct model_thread *m;

	if (!b)
		return;
	for (uint32_t at = 0; (m = model_thread_next(&b->model, &at));) {
		struct cycle *c = ((struct thread *)m)->cycle;

		if (c)
			free(c->part);
		free(c);
	}
	for (uint32_t at = 0; (vm = hash_next(&b->machines, &at));)
		free(vm->vm);
	model_deinit(&b->model);
	hash_deinit(&b->machines);
	hash_deinit(&b->ns_tids);
	holder_deinit(b);
	free(b);
}
