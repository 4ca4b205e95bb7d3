// SPDX-License-Identifier: GPL-2.0-or-later
/* The parts of an exit: what a state is attributed to, and the list of parts, which has no gaps. */
#include <linux/kvm.h>

#include "analyzers/blame/internal.h"
#include "base/array.h"
#include "event/region_names.h"

static void who_is(const struct thread *t, struct blame_who *who)
{
	who->tid = t->model.tid;
	memcpy(who->comm, t->model.comm, sizeof(who->comm));
}

/* The VMM handles no access of the guest's: another thread wants something of the vCPU. */
static bool is_signal(const struct cycle *c)
{
	return c->access.kind == BLAME_VMM && c->access.access == KVM_EXIT_INTR;
}

static void classify_running(const struct thread *t, struct blame_part *p)
{
	const struct cycle *c = t->cycle;

	if (c->misplaced)
		return;
	if (!c->user) {
		p->cause = c->inject ? BLAME_INJECT : c->fault ? BLAME_FAULT : BLAME_KERNEL;
		return;
	}
	p->cause = is_signal(c) ? BLAME_SIGNAL : BLAME_DEVICE;
	if (p->cause == BLAME_DEVICE)
		p->who = c->access;
}

static enum blame_kind holder_state(const struct thread *holder)
{
	static const enum blame_kind kinds[THREAD_STATES] = {
		[THREAD_RUNNING] = BLAME_RUNNING,	  [THREAD_PREEMPTED] = BLAME_NO_CPU,
		[THREAD_WOKEN] = BLAME_NO_CPU,	  [THREAD_ASLEEP] = BLAME_SLEEPING,
	};

	return kinds[holder->model.state];
}

static void classify_global(const struct thread *t, struct blame_part *p)
{
	const struct owner *o = &t->vm->owner;

	p->cause = BLAME_GLOBAL_MUTEX;
	if (o->thread == t || o->state == OWNER_UNKNOWN || t->is_crowded)
		return; /* it sleeps on it, so it cannot be the owner */
	if (o->state == OWNER_FREE && !o->thread) {
		p->who.kind = BLAME_RELEASED;
	} else if (o->state == OWNER_FREE) {
		p->cause = BLAME_HANDOVER;
		who_is(o->thread, &p->who);
	} else if (o->thread) {
		p->who.kind = holder_state(o->thread);
		p->who.stack = o->thread->stack;
		who_is(o->thread, &p->who);
		if (p->who.kind == BLAME_SLEEPING && o->thread->model.block.known)
			p->who.number = (uint64_t)o->thread->model.block.syscall;
	}
}

/* The VMM itself handles a halted vCPU (without KVM's interrupt controller). */
static bool halts_in_vmm(const struct cycle *c)
{
	return c->user && c->access.kind == BLAME_VMM && c->access.access == KVM_EXIT_HLT;
}

/*
 * Within KVM_RUN: a halted vCPU sleeps so that signals wake it; a page that is being fetched does not let them. Without
 * kvm_exit there may be no kvm_page_fault either: that the vCPU was halted is known when it continues, from
 * kvm_vcpu_wakeup. A page that comes from user space (userfaultfd) lets signals wake it, too.
 */
static void classify_kvm_run(const struct blame *b, const struct thread *t, struct blame_part *p)
{
	bool is_told = b->wakeups || !t->model.interruptible;

	if (t->cycle->fault || t->cycle->in_run)
		p->cause = t->cycle->fault || is_told ? BLAME_FAULT : BLAME_HALTED_OR_FAULT;
	else if (t->model.interruptible)
		p->cause = BLAME_HALTED;
}

/* What the VMM handled at that time is part of the answer. */
static bool names_access(enum blame_cause cause)
{
	return cause == BLAME_DEVICE || cause == BLAME_LOCK || cause == BLAME_SYSCALL ||
	       cause == BLAME_FAULT;
}

static void classify_asleep(const struct blame *b, const struct thread *t, struct blame_part *p)
{
	const struct thread_block *s = &t->model.block;

	if (t->model.stopped) {
		p->cause = BLAME_STOPPED;
	} else if (!s->known) {
		if (!t->cycle->in_run && model_sleeps_halted(&b->model, &t->model))
			p->cause = BLAME_HALTED;
	} else if (t->on_global) {
		classify_global(t, p);
	} else if (s->syscall >= 0 && halts_in_vmm(t->cycle)) {
		p->cause = BLAME_HALTED;
	} else if (t->waits) {
		p->cause = BLAME_LOCK;
		p->who.number = s->arg0;
	} else if (s->syscall < 0) {
		p->cause = BLAME_FAULT;
	} else {
		p->cause = BLAME_SYSCALL;
		p->who.number = (uint64_t)s->syscall;
		if (thread_left_in_kvm_run(&t->model))
			classify_kvm_run(b, t, p);
	}
	if (p->cause == BLAME_HALTED || p->cause == BLAME_FAULT ||
	    p->cause == BLAME_HALTED_OR_FAULT)
		p->who = (struct blame_who){0};
	if (t->cycle->user && names_access(p->cause)) {
		p->who.kind = t->cycle->access.kind;
		p->who.access = t->cycle->access.access;
	}
}

static void who_ran(const struct runner *r, struct blame_who *who)
{
	if (!r)
		return;
	who->number = r->cpu;
	if (!r->known)
		return;
	who->tid = r->tid;
	memcpy(who->comm, r->comm, sizeof(who->comm));
}

static void part_classify(const struct blame *b, const struct thread *t, struct blame_part *p)
{
	p->cause = BLAME_UNKNOWN;
	memset(&p->who, 0, sizeof(p->who));
	if (t->cycle->unknown)
		return;
	switch (t->model.state) {
	default:
		break;
	case THREAD_RUNNING:
		classify_running(t, p);
		break;
	case THREAD_PREEMPTED:
	case THREAD_WOKEN:
		p->cause = t->model.state == THREAD_WOKEN ? BLAME_RUNQUEUE : BLAME_PREEMPTED;
		who_ran(t->preemptor ? t->preemptor : model_runner(&b->model, &t->model), &p->who);
		break;
	case THREAD_ASLEEP:
		classify_asleep(b, t, p);
		break;
	}
}

/* Another task has the CPU. */
static bool is_taken(enum blame_cause cause)
{
	return cause == BLAME_PREEMPTED || cause == BLAME_RUNQUEUE;
}

static bool part_continues(const struct blame_part *a, const struct blame_part *b)
{
	return a->cause == b->cause && a->who.kind == b->who.kind && a->who.tid == b->who.tid &&
	       a->who.number == b->who.number && a->who.access == b->who.access &&
	       a->who.stack == b->who.stack &&
	       !strcmp(a->who.comm, b->who.comm);
}

/* Tasks that ran instead are summed up by their names, which end in zeros (waits.c): this is the hot loop. */
static bool sum_matches(struct blame_part *sum, const struct blame_part *p)
{
	if (!is_taken(p->cause))
		return part_continues(sum, p);
	if (sum->cause != p->cause || !sum->who.tid != !p->who.tid ||
	    memcmp(sum->who.comm, p->who.comm, sizeof(p->who.comm)) != 0)
		return false;
	if (sum->who.tid != p->who.tid)
		sum->who.tid = BLAME_SEVERAL;
	return true;
}

/* The sum that the part belongs to, once the exit has too many parts; the last one is unknown time. NULL: none yet. */
static struct blame_part *sum_find(struct blame *b, struct cycle *c, struct blame_part *p)
{
	if (c->nr == c->detailed)
		b->counts.too_long++;
	for (unsigned int i = c->detailed; i < c->nr; i++)
		if (sum_matches(&c->part[i], p))
			return &c->part[i];
	if (c->nr < c->detailed + c->sums - 1)
		return NULL;
	p->cause = BLAME_UNKNOWN;
	memset(&p->who, 0, sizeof(p->who));
	if (c->nr == c->detailed + c->sums)
		return &c->part[c->nr - 1];
	b->counts.unnamed++;
	return NULL;
}

/* Makes room for one more part. */
static void part_room(struct blame *b, struct cycle *c)
{
	unsigned int before = c->max;

	if (c->nr < before)
		return;
	b->err = b->err ? b->err : array_room_kept(c->part, c->nr, c->max);
	b->nr_parts += c->max - before;
}

/* Each exit has room for so many, whatever others have. */
enum { PARTS_OF_EACH = 8 };

/* The details of all have so much room, and the sums as much again. */
static void parts_limit(const struct blame *b, struct cycle *c)
{
	if (c->nr < PARTS_OF_EACH || b->nr_parts + c->nr <= BLAME_OPEN_PARTS_MAX)
		return;
	if (c->nr == c->max && c->nr < c->detailed)
		c->detailed = c->nr;
	if (c->nr + 1 == c->max && c->nr > c->detailed &&
	    b->nr_parts > 2 * BLAME_OPEN_PARTS_MAX && c->nr < c->detailed + c->sums)
		c->sums = c->nr + 1 - c->detailed;
}

static void part_add(struct blame *b, struct cycle *c, struct blame_part *p)
{
	struct blame_part *same = NULL;

	parts_limit(b, c);
	if (c->nr && c->nr <= c->detailed && part_continues(&c->part[c->nr - 1], p))
		same = &c->part[c->nr - 1];
	else if (c->nr >= c->detailed)
		same = sum_find(b, c, p);
	if (same) {
		same->end_ns += p->end_ns - p->start_ns;
		return;
	}
	part_room(b, c);
	if (!b->err)
		c->part[c->nr++] = *p;
}

void part_cut(struct blame *b, struct thread *t, uint64_t ns)
{
	struct cycle *c = t->cycle;
	struct blame_part p;

	if (!c || !c->open || ns <= c->since_ns)
		return;
	p.start_ns = c->since_ns;
	p.end_ns = ns;
	part_classify(b, t, &p);
	part_add(b, c, &p);
	c->since_ns = ns;
}

void parts_correct(struct thread *t)
{
	uint64_t since_ns = t->model.since_ns;
	struct cycle *c = t->cycle;

	if (!c || !c->open || c->nr > c->detailed || since_ns >= c->since_ns)
		return;
	if (since_ns < c->start_ns)
		since_ns = c->start_ns;
	while (c->nr && c->part[c->nr - 1].start_ns >= since_ns)
		c->nr--;
	if (c->nr && c->part[c->nr - 1].end_ns > since_ns)
		c->part[c->nr - 1].end_ns = since_ns;
	c->since_ns = since_ns;
}

bool sleeps_on_global(const struct thread *t)
{
	return t->model.state == THREAD_ASLEEP && t->model.block.known && t->on_global;
}

/* Splits the part that contains `ns`, so that a part begins there. */
static void part_split(struct blame *b, struct cycle *c, uint64_t ns)
{
	part_room(b, c);
	if (b->err || c->nr + 1 >= c->detailed)
		return;
	for (unsigned int i = 0; i < c->nr; i++) {
		struct blame_part *p = &c->part[i];

		if (ns <= p->start_ns || ns >= p->end_ns)
			continue;
		memmove(p + 1, p, (c->nr - i) * sizeof(*p));
		p[0].end_ns = p[1].start_ns = ns;
		c->nr++;
		return;
	}
}

void parts_halted(struct blame *b, struct thread *t, uint64_t start_ns, uint64_t end_ns, bool slept)
{
	struct cycle *c = t->cycle;
	bool whole = slept && !b->counts.switches; /* no telling the sleep from the poll before it */

	if (!c || !c->open || c->unknown)
		return;
	c->halt_known = true;
	part_cut(b, t, end_ns);
	part_split(b, c, start_ns);
	for (unsigned int i = 0; i < c->nr; i++)
		if (c->part[i].start_ns >= start_ns && c->part[i].cause == BLAME_KERNEL)
			c->part[i].cause = whole ? BLAME_HALTED : BLAME_HALT_POLL;
		else if (c->part[i].start_ns >= start_ns && slept &&
			 c->part[i].cause == BLAME_UNKNOWN && !b->counts.blocks)
			c->part[i].cause = BLAME_HALTED; /* it slept, and this is why */
}

void parts_slept_halted(struct thread *t)
{
	for (unsigned int i = 0; i < t->cycle->nr; i++)
		if (t->cycle->part[i].cause == BLAME_FAULT ||
		    t->cycle->part[i].cause == BLAME_HALTED_OR_FAULT)
			t->cycle->part[i].cause = BLAME_HALTED;
}

int parts_deliver(struct blame *b, struct thread *t)
{
	struct cycle *c = t->cycle;
	struct blame_exit x = {.start_ns = c->start_ns,
			       .end_ns = c->end_ns,
			       .pid = t->model.pid,
			       .tid = t->model.tid,
			       .rip = c->rip,
			       .reason = c->reason,
			       .isa = c->isa,
			       .nested = c->nested,
			       .vcpu = c->vcpu,
			       .nr_parts = c->nr,
			       .part = c->part};
	int err;

	c->done = false;
	for (unsigned int i = 0; i < c->nr; i++) {
		struct blame_part *p = &c->part[i];

		if (i >= c->detailed) { /* a sum: adjacent to the one before, as all parts */
			p->end_ns = p[-1].end_ns + (p->end_ns - p->start_ns);
			p->start_ns = p[-1].end_ns;
		}

		/* The event that names the port of a read comes when it is complete: after one that was coalesced. */
		if (names_access(p->cause) && c->access.kind &&
		    (p->who.kind == BLAME_VMM || (!p->who.kind && p->cause == BLAME_DEVICE) ||
		     (p->who.kind == BLAME_PORT && c->access.kind == BLAME_PORT))) {
			p->who.kind = c->access.kind;
			p->who.access = c->access.access;
		}
		if (p->who.kind == BLAME_PORT || p->who.kind == BLAME_MMIO)
			p->who.region = region_name(b->regions, x.pid,
						    p->who.kind == BLAME_PORT, p->who.access);
		if (is_taken(p->cause) && p->who.tid && p->who.tid != BLAME_SEVERAL)
			p->who.vm = vm_of_other(b->vms, p->who.tid, x.pid);
		x.causes[p->cause] += p->end_ns - p->start_ns;
	}
	b->counts.open_sleeps += x.causes[BLAME_HALTED_OR_FAULT] > 0;
	b->counts.exits++;
	b->counts.cut += x.start_ns < b->since_ns;
	err = b->has_begun ? b->sink.ended(b->sink.arg, &x) : 0;
	if (c->max > PARTS_OF_EACH) { /* others may need it */
		b->nr_parts -= c->max;
		free(c->part);
		c->part = NULL;
		c->nr = c->max = 0;
	}
	return err;
}
