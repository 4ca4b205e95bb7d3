// SPDX-License-Identifier: GPL-2.0-or-later
/* The state machine that threads.h describes: one function for each kind of event. */

#include "base/array.h"
#include "event/exit_reason.h"
#include "event/handlers.h"
#include "event/records.h"
#include "model/waits.h"

enum { TASK_INTERRUPTIBLE = 1, TASK_STOPPED = 4, TASK_TRACED = 8, TASK_DEAD = 0x80 };

struct thread_entry {
	uint64_t key;
	struct model_thread *thread;
};

/* ---- threads ---- */

struct model_thread *model_thread_find(const struct model *m, uint16_t source, uint32_t tid)
{
	const struct thread_entry *e = hash_find_u64(&m->threads, model_thread_key(source, tid));

	return e ? e->thread : NULL;
}

static struct model_thread *thread_touch(struct model *m, struct model_thread *t)
{
	if (t->is_touched)
		return t;
	t->is_touched = true;
	t->next_touched = m->touched;
	m->touched = t;
	return t;
}

static struct model_thread *thread_new(struct model *m, const struct event *ev, uint32_t tid)
{
	struct model_thread *t = calloc(1, m->reader.thread_size);
	struct thread_entry *e = NULL;

	if (t && !array_room(m->thread, m->threads.nr))
		e = hash_add_u64(&m->threads, model_thread_key(ev->source, tid), NULL);
	if (!e) {
		m->counts.refused++;
		free(t);
		return NULL;
	}
	e->thread = t;
	t->key = e->key;
	t->number = m->threads.nr - 1;
	m->thread[t->number] = t;
	t->tid = tid;
	t->pid = tid == ev->tid || !m->foreign ? ev->pid : 0;
	t->source = ev->source;
	t->vcpu = RECORD_NO_VCPU;
	t->since_ns = m->start_ns;
	return t;
}

/* It may be another thread than the event's. NULL: thread 0, or there are too many. */
static struct model_thread *thread_get(struct model *m, const struct event *ev, uint32_t tid)
{
	struct model_thread *t = tid ? model_thread_find(m, ev->source, tid) : NULL;

	if (!t && tid)
		t = thread_new(m, ev, tid);
	return t ? thread_touch(m, t) : NULL;
}

struct model_thread *model_thread_next(const struct model *m, uint32_t *at)
{
	return *at < m->threads.nr ? m->thread[(*at)++] : NULL;
}

/* "": the event does not have it. */
static void comm_learn(struct model_thread *t, const char comm[16])
{
	if (!*comm || !strncmp(t->comm, comm, sizeof(t->comm)))
		return;
	record_text(comm, sizeof(t->comm), t->comm, sizeof(t->comm));
}

/* ---- sleeps in exits ---- */

/* The vCPU has waited halted since then (UINT64_MAX: it has not): timestamps may be truncated to microseconds. */
static void sleeps_decide(struct model *m, struct model_thread *t, uint64_t halted_since_ns)
{
	for (unsigned int i = 0; i < t->nr_sleeps; i++)
		m->reader.slept(m->reader.arg, t, &t->sleep[i],
				t->sleep[i].to_ns > halted_since_ns);
	t->nr_sleeps = 0;
}

/* Of too many in one exit the oldest are none; without memory, each. */
static void sleep_keep(struct model *m, struct model_thread *t, uint64_t ns)
{
	struct thread_sleep s = {
		.from_ns = t->since_ns, .to_ns = ns, .in_kvm_run = thread_left_in_kvm_run(t)};

	if (t->nr_sleeps == SLEEPS_OPEN_MAX)
		sleeps_decide(m, t, UINT64_MAX);
	t->sleep = t->sleep ?: calloc(SLEEPS_OPEN_MAX, sizeof(*t->sleep));
	if (t->sleep)
		t->sleep[t->nr_sleeps++] = s;
	else
		m->reader.slept(m->reader.arg, t, &s, false);
}

static void period_end(struct model *m, struct model_thread *t, uint64_t ns, enum run_state next,
		       const struct event *ev)
{
	m->reader.period(m->reader.arg, t, ns, next, ev);
	if (model_sleep_is_open(m, t))
		sleep_keep(m, t, ns);
}

/* ---- states ---- */

static void state_change(struct model *m, struct model_thread *t, enum run_state next,
			 const struct event *ev)
{
	uint64_t ns = ev->time_ns > t->since_ns ? ev->time_ns : t->since_ns;

	wait_ends(m, t, ns, ev);
	period_end(m, t, ns, next, ev);
	t->state = next;
	t->since_ns = ns;
	if (thread_waits(t))
		wait_begins(m, t, ns, ev);
	t->cpu = ev->cpu;
	t->woken_early_ns = 0;
	t->is_assumed = false;
}

/* Its first event, before which it was in this state: a new thread's first event is that it comes. */
static void first_seen(const struct model *m, struct model_thread *t, enum run_state before,
		       uint64_t ns)
{
	if (t->is_seen)
		return;
	t->is_seen = true;
	t->first_ns = ns;
	t->first_state = m->counts.losses ? THREAD_UNKNOWN : before;
}

/* The thread of this event is new; a switch in another one may have given it its CPU. */
static void unseen_comes(struct model *m, struct model_thread *t, const struct event *ev)
{
	const struct unseen_thread *u = &m->unseen[ev->cpu % RECENT_CPUS];

	if (u->tid != t->tid || u->cpu != ev->cpu || u->source != ev->source ||
	    u->losses != m->counts.losses || ev->cpu == RECORD_CPU_UNKNOWN)
		return;
	first_seen(m, t, THREAD_UNKNOWN, u->ns);
	period_end(m, t, u->ns, THREAD_RUNNING, ev);
	t->state = THREAD_RUNNING;
	t->since_ns = u->ns;
	t->cpu = ev->cpu;
}

struct model_thread *model_thread_search(struct model *m, const struct event *ev)
{
	uint32_t nr = m->threads.nr;
	struct model_thread *t = thread_get(m, ev, ev->tid);

	m->recent[ev->cpu % RECENT_CPUS] = t;
	if (t && m->threads.nr > nr)
		unseen_comes(m, t, ev);
	return t ? model_thread_get(m, ev) : NULL;
}

/* The wake-up of a thread that was unknown came early: it had its CPU all the time. */
static void assumption_correct(struct model_thread *t)
{
	if (t->first_state == THREAD_ASLEEP && t->first_ns == t->since_ns)
		t->first_state = THREAD_RUNNING;
	t->state = THREAD_RUNNING;
}

/* An event that comes of a thread that is in none of these two states. */
static void switch_is_missing(struct model *m, struct model_thread *t, uint64_t ns)
{
	m->counts.missing += ns > t->since_ns;
	t->state = THREAD_UNKNOWN;
}

/* The thread has a CPU until now: if that is not known, a switch is missing. */
static void had_cpu(struct model *m, struct model_thread *t, uint64_t ns)
{
	if (t->is_assumed)
		assumption_correct(t);
	else if (t->state != THREAD_RUNNING && t->state != THREAD_UNKNOWN)
		switch_is_missing(m, t, ns);
	first_seen(m, t, THREAD_RUNNING, ns);
}

/* ---- events ---- */

static void sched_out(struct model *m, struct model_thread *t, const struct event *ev,
			  const struct rec_sched_switch *sw)
{
	uint64_t state = sw->prev_state;
	bool early = t->woken_early_ns && ev->time_ns - t->woken_early_ns <= EARLY_WAKE_NS;

	bool known = record_has(ev, sched_switch, prev_state);

	m->counts.stateless += !known;
	t->is_stateless |= !known;
	comm_learn(t, sw->prev_comm);
	had_cpu(m, t, ev->time_ns);
	state_change(m, t,
		     !known		? THREAD_UNKNOWN
		     : !state		? THREAD_PREEMPTED
		     : early		? THREAD_WOKEN
		     : state & TASK_DEAD ? THREAD_ENDED
					 : THREAD_ASLEEP,
		     ev);
	t->interruptible = state & TASK_INTERRUPTIBLE;
	t->stopped = state & (TASK_STOPPED | TASK_TRACED);
	t->block = (struct thread_block){0};
}

static void sched_in(struct model *m, struct model_thread *t, const struct event *ev,
			 const struct rec_sched_switch *sw)
{
	comm_learn(t, sw->next_comm);
	if (t->state == THREAD_RUNNING)
		switch_is_missing(m, t, ev->time_ns);
	first_seen(m, t, THREAD_UNKNOWN, ev->time_ns);
	state_change(m, t, THREAD_RUNNING, ev);
}

/* Of the threads that had no event since the previous loss nothing more is lost. */
static void threads_forget(struct model *m, const struct event *ev)
{
	struct model_thread *t;

	while ((t = m->touched)) {
		m->touched = t->next_touched;
		t->is_touched = false;
		if (t->state != THREAD_UNKNOWN)
			state_change(m, t, THREAD_UNKNOWN, ev);
		t->block = (struct thread_block){0};
	}
}

/* It does not say which thread it is about. */
static void nameless_take(struct model *m, const struct event *ev)
{
	m->counts.nameless++;
	threads_forget(m, ev);
}

/* The header's thread is the one that leaves if it is the VM's, else the one that comes. */
static void on_switch(struct model *m, const struct event *ev)
{
	RECORD(sched_switch, sw, ev);
	struct model_thread *t;

	if (model_is_blind(m, ev->time_ns))
		return;
	if (!record_has(ev, sched_switch, prev_tid) || !record_has(ev, sched_switch, next_tid)) {
		nameless_take(m, ev);
		return;
	}
	cpu_switches(m, ev);
	m->counts.switches = true;
	m->counts.cpuless += ev->cpu == RECORD_CPU_UNKNOWN;
	if (sw->prev_tid && sw->prev_tid == ev->tid && (t = model_thread_get(m, ev)))
		sched_out(m, t, ev, sw);
	if (sw->next_tid == ev->tid)
		t = model_thread_get(m, ev);
	else
		t = m->foreign ? thread_get(m, ev, sw->next_tid)
			       : model_thread_find(m, ev->source, sw->next_tid);
	m->unseen[ev->cpu % RECENT_CPUS] =
		(struct unseen_thread){.tid = t ? 0 : sw->next_tid,
				       .cpu = ev->cpu,
				       .source = ev->source,
				       .ns = ev->time_ns,
				       .losses = m->counts.losses};
	if (t && (t->pid == ev->pid || m->foreign))
		sched_in(m, thread_touch(m, t), ev, sw);
}

static void on_wake(struct model *m, struct model_thread *t, const struct event *ev)
{
	bool before = ev->type->id == EV_sched_woken; /* it may find the thread on its CPU */
	bool assumed = t->state == THREAD_UNKNOWN;

	if (assumed)
		first_seen(m, t, THREAD_ASLEEP, ev->time_ns);
	if (assumed || t->state == THREAD_ASLEEP || t->state == THREAD_ENDED) {
		state_change(m, t, THREAD_WOKEN, ev);
		t->is_assumed = assumed;
		before &= assumed;
	}
	if (before && t->state != THREAD_PREEMPTED)
		t->woken_early_ns = ev->time_ns;
}

static void on_block(struct model *m, struct model_thread *t, const struct event *ev)
{
	RECORD(sched_block, block, ev);

	m->counts.blocks = true;
	if (t->state == THREAD_RUNNING || t->state == THREAD_UNKNOWN || t->block.known)
		return;
	t->block = (struct thread_block){.known = true,
					 .syscall = block->syscall,
					 .is_global = block->is_global,
					 .arg0 = block->arg0,
					 .arg1 = block->arg1};
}

static bool is_halt(const struct event *ev)
{
	RECORD(kvm_exit, exit, ev);

	return exit_is_halt(exit->reason, exit->isa);
}

static inline bool phase_is_lost(const struct model *m, const struct phase *p,
				 const struct loss_state *of, uint16_t end_cpu, uint64_t end_ns)
{
	return !p->has_begun || lost_since(of, &p->mark) ||
	       gap_since(&m->losses.exits, &p->mark, end_cpu, end_ns);
}

static inline void phase_next(struct model *m, struct phase *p, const struct loss_state *of,
			      const struct event *ev)
{
	p->is_lost = phase_is_lost(m, p, of, ev->cpu, ev->time_ns);
	p->mark = loss_mark_in(of, &m->losses.exits, ev);
	p->has_begun = true;
}

bool model_exit_lost(const struct model *m, const struct model_thread *t)
{
	const struct phase *p = &t->place.exit;

	return phase_is_lost(m, p, &m->losses.exits, p->mark.cpu, UINT64_MAX);
}

bool model_vmm_lost(const struct model *m, const struct model_thread *t)
{
	const struct phase *p = &t->place.vmm;

	return phase_is_lost(m, p, &m->losses.places, p->mark.cpu, UINT64_MAX);
}

/* `id`: the event's, a constant. */
static inline __attribute__((always_inline)) void
place_set(struct model *m, struct model_thread *t, const struct event *ev, unsigned int id)
{
	struct vcpu_place *p = &t->place;

	m->counts.exits |= id == EV_kvm_exit;
	if (id == EV_kvm_exit || id == EV_kvm_entry)
		phase_next(m, &p->exit, &m->losses.exits, ev);
	if (id != EV_kvm_exit)
		phase_next(m, &p->vmm, &m->losses.places, ev);
	if (losses_hide_place(&m->losses, ev))
		return;
	if (!model_place_known(m, t, ev->cpu, ev->time_ns)) {
		/* within KVM_RUN, or the VMM: before an entry, if there are any */
		p->nr_losses = m->counts.exit_losses;
		p->in_exit = m->counts.exits;
		p->in_vmm = p->halts = false;
		p->exit_ns = 0;
	}
	p->mark = loss_mark_in(&m->losses.places, &m->losses.exits, ev);
	p->is_seen = true;
	if (id == EV_kvm_entry || id == EV_kvm_run)
		p->exit_ns = 0;
	else if (!p->exit_ns && (id == EV_kvm_exit || !m->counts.exits)) /* else it is missing */
		p->exit_ns = ev->time_ns;
	switch (id) {
	case EV_kvm_exit:
		p->in_exit = true;
		p->halts = is_halt(ev);
		break;
	case EV_kvm_entry:
		p->in_exit = p->in_vmm = p->halts = false;
		break;
	case EV_kvm_userspace_exit:
		p->in_vmm = true;
		break;
	case EV_kvm_run:
		p->in_vmm = false;
		break;
	}
}

/* An event of KVM, in the vCPU's own thread. */
static inline __attribute__((always_inline)) void
vcpu_event(struct model *m, const struct event *ev, unsigned int id)
{
	struct model_thread *t = model_thread_get(m, ev);

	if (!t)
		return;
	sleeps_decide(m, t, UINT64_MAX);
	place_set(m, t, ev, id);
	if (model_is_blind(m, ev->time_ns))
		return;
	t->woken_early_ns = 0;
	if (t->state == THREAD_RUNNING)
		return;
	had_cpu(m, t, ev->time_ns);
	state_change(m, t, THREAD_RUNNING, ev);
}

static void on_exit_event(struct model *m, const struct event *ev)
{
	vcpu_event(m, ev, EV_kvm_exit);
}

static void on_entry(struct model *m, const struct event *ev)
{
	vcpu_event(m, ev, EV_kvm_entry);
}

static void on_userspace(struct model *m, const struct event *ev)
{
	vcpu_event(m, ev, EV_kvm_userspace_exit);
}

static void on_run(struct model *m, const struct event *ev)
{
	vcpu_event(m, ev, EV_kvm_run);
}

/* Without a duration it has halted all the same. */
static void on_vcpu_wakeup(struct model *m, const struct event *ev)
{
	struct model_thread *t = model_thread_get(m, ev);
	RECORD(kvm_vcpu_wakeup, wakeup, ev);

	if (t && t->nr_sleeps && wakeup->waited)
		sleeps_decide(m, t, !record_has(ev, kvm_vcpu_wakeup, ns) || wakeup->ns > ev->time_ns
					    ? 0 : ev->time_ns - wakeup->ns);
}

static void on_loss(struct model *m, const struct event *ev)
{
	unsigned int what = loss_kinds(ev);

	m->counts.losses += (what & LOST_RUNS) != 0;
	if (what & LOST_RUNS) /* periods end with what was known in them */
		threads_forget(m, ev);
	losses_note(&m->losses, ev);
	m->counts.exit_losses += what & LOST_PLACES && !losses_of_one_cpu(&m->losses, ev);
	if (what && m->reader.lost)
		m->reader.lost(m->reader.arg, what, ev->time_ns);
	m->counts.task_losses += (what & LOST_TASKS) != 0;
}

static void on_own_event(struct model *m, const struct event *ev)
{
	struct model_thread *t = model_thread_get(m, ev);

	if (!t || model_is_blind(m, ev->time_ns))
		return;
	if (ev->type->id == EV_sched_block)
		on_block(m, t, ev);
	else
		on_wake(m, t, ev);
}

/* In the thread that wakes the other. */
static void on_wakeup(struct model *m, const struct event *ev)
{
	RECORD(sched_wakeup, wakeup, ev);
	struct model_thread *t;

	if (model_is_blind(m, ev->time_ns))
		return;
	if (!record_has(ev, sched_wakeup, wake_tid)) {
		nameless_take(m, ev);
		return;
	}
	t = thread_get(m, ev, wakeup->wake_tid);
	if (!t)
		return;
	on_wake(m, t, ev);
	wait_finds_cpu(m, t, ev, wakeup->target_cpu);
}

static void on_ran(struct model *m, const struct event *ev)
{
	if (!model_is_blind(m, ev->time_ns))
		cpu_switches(m, ev);
}

static void on_name(struct model *m, const struct event *ev)
{
	struct model_thread *t = model_thread_get(m, ev);
	RECORD(thread, named, ev);

	if (t)
		comm_learn(t, named->comm);
}

static const HANDLERS(struct model) handlers = {{
	[EV_kvm_exit] = on_exit_event,
	[EV_kvm_entry] = on_entry,
	[EV_kvm_userspace_exit] = on_userspace,
	[EV_kvm_run] = on_run,
	[EV_kvm_vcpu_wakeup] = on_vcpu_wakeup,
	[EV_sched_switch] = on_switch,
	[EV_sched_wakeup] = on_wakeup,
	[EV_sched_block] = on_own_event,
	[EV_sched_woken] = on_own_event,
	[EV_probe_dropped] = on_loss,
	[EV_lost] = on_loss,
	[EV_thread] = on_name,
	[EV_gap] = on_loss,
	[EV_sched_ran] = on_ran,
}};

void model_event(struct model *m, const struct event *ev)
{
	handlers_call(&handlers, m, ev);
}

bool thread_slept_for_recorder(const struct model_thread *t, const struct event *ev)
{
	static const char name[] = "hostrace";

	if (!ev || ev->type->id != EV_sched_woken || t->state != THREAD_ASLEEP ||
	    t->interruptible || t->stopped)
		return false;
	RECORD(sched_woken, woken, ev);
	return record_has(ev, sched_woken, waker_comm) &&
	       !strncmp(woken->waker_comm, name, sizeof(name) - 1);
}

bool model_wants(const char *event, bool taken, bool slept)
{
	return handlers_want(&handlers, event) && (taken || strcmp(event, "sched_ran") != 0) &&
	       (slept || strcmp(event, "kvm_vcpu_wakeup") != 0);
}

/* ---- begin and end ---- */

void model_end(struct model *m, uint64_t ns)
{
	struct model_thread *t;

	for (uint32_t at = 0; (t = model_thread_next(m, &at));) {
		uint64_t end_ns = ns > t->since_ns ? ns : t->since_ns;

		wait_ends(m, t, end_ns, NULL);
		if (t->state == THREAD_WOKEN && !m->counts.switches)
			t->state = THREAD_UNKNOWN; /* nothing would show that it got a CPU */
		period_end(m, t, end_ns, t->state, NULL);
		sleeps_decide(m, t, UINT64_MAX);
		t->since_ns = end_ns;
	}
}

void model_set_foreign(struct model *m)
{
	m->foreign = true;
}

void model_init(struct model *m, const struct model_reader *reader, uint64_t start_ns)
{
	*m = (struct model){.reader = *reader,
			    .start_ns = start_ns,
			    .threads = HASH_TABLE(struct thread_entry, 1, MODEL_THREADS_MAX)};
	waits_init(m);
}

void model_deinit(struct model *m)
{
	struct model_thread *t;

	for (uint32_t at = 0; (t = model_thread_next(m, &at));) {
		free(t->sleep);
		free(t);
	}
	free(m->thread);
	losses_deinit(&m->losses);
	waits_deinit(m);
	hash_deinit(&m->threads);
}
