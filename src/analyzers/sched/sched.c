// SPDX-License-Identifier: GPL-2.0-or-later
/* Follows the threads through the events: before a thread's state changes, account() adds the time that it lasted. */
#include "analyzers/sched/sched.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyzers/sched/internal.h"
#include "base/error.h"
#include "base/order.h"
#include "syscalls.h"

enum {
	EARLY_WAKE_NS = 20000, /* a wake-up of a thread that is about to sleep comes at most so long before */
	TASK_DEAD = 0x80,
	IOCTL_KVM_RUN = 0xae80,
	SYSCALL_IOCTL = 16,
	SYSCALL_FUTEX = 202,
};

const char *const sched_kind_names[] = {"vcpu", "main-loop", "event-loop", "worker"};

const struct sched_counts *sched_counts(const struct sched *s)
{
	return &s->counts;
}

enum sched_kind sched_kind(const struct sched_thread *t)
{
	if (t->vcpu != RECORD_NO_VCPU)
		return SCHED_VCPU;
	if (t->tid == t->pid)
		return SCHED_MAIN_LOOP;
	return t->polled ? SCHED_LOOP : SCHED_WORKER;
}

uint64_t sched_ready_ns(const struct sched_thread *t)
{
	return t->time[SCHED_PREEMPTED] + t->time[SCHED_RUNQUEUE];
}

uint64_t sched_known_ns(const struct sched_thread *t)
{
	uint64_t sum = 0;

	for (unsigned int i = 0; i < SCHED_UNKNOWN; i++)
		sum += t->time[i];
	return sum;
}

/* ---- threads ---- */

static uint64_t key_of(const struct event *ev, uint32_t tid)
{
	return (uint64_t)ev->source << 32 | tid;
}

static struct follow *thread_find(const struct sched *s, const struct event *ev, uint32_t tid)
{
	const struct follow_entry *e = hash_find_u64(&s->threads, key_of(ev, tid));

	return e ? e->thread : NULL;
}

static struct follow *thread_touch(struct sched *s, struct follow *t)
{
	if (t->is_touched)
		return t;
	t->is_touched = true;
	t->next_touched = s->touched;
	s->touched = t;
	return t;
}

/* NULL: thread 0, or there are too many. */
static struct follow *thread_get(struct sched *s, const struct event *ev, uint32_t tid)
{
	struct follow *t = tid ? thread_find(s, ev, tid) : NULL;
	struct follow_entry *e;

	if (t && tid == ev->tid && s->foreign)
		t->t.pid = ev->pid;
	if (t || !tid)
		return t ? thread_touch(s, t) : NULL;
	t = calloc(1, sizeof(*t));
	e = t ? hash_add_u64(&s->threads, key_of(ev, tid), NULL) : NULL;
	if (!e) {
		s->counts.refused++;
		free(t);
		return NULL;
	}
	e->thread = t;
	t->t.number = s->threads.nr - 1;
	t->t.tid = tid;
	t->t.pid = tid == ev->tid || !s->foreign ? ev->pid : 0;
	t->t.source = ev->source;
	t->t.vcpu = RECORD_NO_VCPU;
	t->use = SCHED_UNKNOWN;
	t->since_ns = s->start_ns;
	return thread_touch(s, t);
}

static void comm_learn(struct follow *t, const struct event *ev, const char *field)
{
	const struct field *f = event_field(ev->type, field);

	if (!f)
		return;
	event_text(ev, f, t->t.comm, sizeof(t->t.comm));
	text_neutralise(t->t.comm);
}

/* The event is of a process that has vCPUs. */
static void vm_learn(struct sched *s, const struct event *ev)
{
	if (!hash_add_u64(&s->vms, key_of(ev, ev->pid), NULL))
		s->counts.refused++;
}

static void vcpu_learn(struct sched *s, struct follow *t, const struct event *ev)
{
	if (t->t.tid != ev->tid || ev->vcpu == RECORD_NO_VCPU || t->t.vcpu == ev->vcpu)
		return;
	t->t.vcpu = ev->vcpu;
	vm_learn(s, ev);
}

static bool is_waiting(const struct follow *t)
{
	return t->use == SCHED_PREEMPTED || t->use == SCHED_RUNQUEUE;
}

/* ---- time ---- */

static void account(struct follow *t, uint64_t ns)
{
	uint64_t took = ns > t->since_ns ? ns - t->since_ns : 0;

	if (!t->over)
		t->t.time[t->use] += took;
	if (t->is_busy)
		t->busy.time[t->use] += took;
	if (t->is_busy && t->use == SCHED_SYSCALL && took > t->busy.syscall_ns) {
		t->busy.syscall_ns = took;
		t->busy.syscall = t->syscall;
	}
	if (t->handler && t->use >= SCHED_LOCK && t->use < SCHED_UNKNOWN)
		t->handler->slept_ns += took;
	t->since_ns += took;
	t->over = false;
}

/* Its first event shows what it did before, since all switches were recorded: a new thread's first one is to come. */
static void before_first(struct follow *t, enum sched_use use)
{
	if (!t->seen)
		t->use = use;
	t->seen = true;
}

static void value_add(struct sched *s, struct quantiles *q, uint64_t value)
{
	if (quantiles_add(q, value) && !s->err)
		s->err = fail(-ENOMEM, "out of memory");
}

static void busy_begins(struct follow *t, uint64_t ns)
{
	t->is_busy = true;
	t->busy = (struct sched_busy){.start_ns = ns, .syscall = -1};
}

static void busy_ends(struct sched *s, struct follow *t, uint64_t ns)
{
	struct sched_busy *longest = &t->t.longest;

	t->t.polled = true;
	if (!t->is_busy)
		return;
	t->is_busy = false;
	t->busy.end_ns = ns;
	value_add(s, &t->t.busy, ns - t->busy.start_ns);
	if (ns - t->busy.start_ns > longest->end_ns - longest->start_ns)
		*longest = t->busy;
}

/* ---- the scheduler's events ---- */

/* It leaves its CPU without having come, or comes without having left: what it did since its last event is unknown. */
static void switch_is_missing(struct sched *s, struct follow *t)
{
	s->counts.missing++;
	wait_forget(s, t);
	t->use = SCHED_UNKNOWN;
	t->handler = NULL;
}

static void becomes_ready(struct sched *s, struct follow *t, enum sched_use use,
			  struct waited_cpu *cpu, uint64_t ns)
{
	account(t, ns);
	t->wakes_poll = t->use == SCHED_POLLS;
	if (t->wakes_poll)
		busy_begins(t, ns);
	t->use = use;
	t->wait_ns = ns;
	t->woken_early_ns = 0;
	wait_forget(s, t);
	wait_begins(s, t, cpu, ns);
}

static void leaves(struct sched *s, struct follow *t, const struct event *ev)
{
	uint64_t state = event_value(ev, "prev_state"), woken = t->woken_early_ns;

	before_first(t, SCHED_RUNS);
	comm_learn(t, ev, "prev_comm");
	t->woken_early_ns = 0;
	if (!state || (woken && ev->time_ns - woken <= EARLY_WAKE_NS)) {
		becomes_ready(s, t, state ? SCHED_RUNQUEUE : SCHED_PREEMPTED,
			      waited_cpu_get(s, ev, ev->cpu), ev->time_ns);
		return;
	}
	account(t, ev->time_ns);
	t->over = state & TASK_DEAD;
	t->use = SCHED_SLEEPS;
	t->syscall = -1;
}

static void comes(struct sched *s, struct follow *t, const struct event *ev)
{
	bool waited = is_waiting(t);

	if (t->use == SCHED_RUNS)
		switch_is_missing(s, t);
	account(t, ev->time_ns);
	t->seen = true;
	comm_learn(t, ev, "next_comm");
	if (waited) {
		value_add(s, &t->t.waits, ev->time_ns - t->wait_ns);
		wait_ends(s, t, ev);
	}
	if (waited && t->wakes_poll)
		value_add(s, &t->t.wakeups, ev->time_ns - t->wait_ns);
	t->use = SCHED_RUNS;
	t->handler = NULL;
	t->wakes_poll = false;
	t->woken_early_ns = 0;
}

/* The header's thread is the one that leaves if it is the VM's, else the one that comes. */
static void on_switch(struct sched *s, const struct event *ev)
{
	uint32_t prev = (uint32_t)event_value(ev, "prev_tid");
	uint32_t next = (uint32_t)event_value(ev, "next_tid");
	struct follow *t;

	s->counts.switches++;
	t = prev && prev == ev->tid ? thread_get(s, ev, prev) : NULL;
	if (t && t->use != SCHED_RUNS && t->use != SCHED_UNKNOWN)
		switch_is_missing(s, t);
	cpu_switches(s, ev);
	if (t) {
		vcpu_learn(s, t, ev);
		leaves(s, t, ev);
	}
	t = next == ev->tid || s->foreign ? thread_get(s, ev, next) : thread_find(s, ev, next);
	if (t && (t->t.pid == ev->pid || s->foreign)) {
		vcpu_learn(s, thread_touch(s, t), ev);
		comes(s, t, ev);
	}
}

/* Other tasks switch on a CPU that a thread of the VM waits for. */
static void on_ran(struct sched *s, const struct event *ev)
{
	s->counts.ran = true;
	if (ev->time_ns > s->lost_until_ns)
		cpu_switches(s, ev);
}

static void on_wakeup(struct sched *s, struct follow *t, const struct event *ev, bool has_cpu)
{
	struct waited_cpu *cpu = NULL;

	before_first(t, SCHED_SLEEPS);
	if (t->use == SCHED_RUNS)
		t->woken_early_ns = ev->time_ns;
	if (has_cpu && (t->use == SCHED_RUNQUEUE || t->use >= SCHED_POLLS))
		cpu = waited_cpu_get(s, ev, (uint32_t)event_value(ev, "target_cpu"));
	if (cpu && !cpu->waiters)
		cpu->known = false; /* nobody watched it */
	if (t->use >= SCHED_POLLS && t->use < SCHED_UNKNOWN)
		becomes_ready(s, t, SCHED_RUNQUEUE, cpu, ev->time_ns);
	else if (t->use == SCHED_RUNQUEUE && !t->cpu && cpu) /* sched_woken did not know it */
		wait_begins(s, t, cpu, t->taken_ns);
}

static enum sched_use use_of_syscall(int32_t number, uint64_t arg1)
{
	if (number == -1)
		return SCHED_FAULT;
	if (syscall_polls((uint64_t)number))
		return SCHED_POLLS;
	if (number == SYSCALL_FUTEX)
		return SCHED_LOCK;
	return number == SYSCALL_IOCTL && arg1 == IOCTL_KVM_RUN ? SCHED_HALTED : SCHED_SYSCALL;
}

/* Comes right behind the switch that it explains. */
static void on_block(struct sched *s, struct follow *t, const struct event *ev)
{
	s->counts.blocks = true;
	if (t->use != SCHED_SLEEPS)
		return;
	account(t, ev->time_ns);
	t->syscall = (int32_t)event_value(ev, "syscall");
	t->use = use_of_syscall(t->syscall, event_value(ev, "arg1"));
	if (t->use == SCHED_POLLS)
		busy_ends(s, t, ev->time_ns);
}

/* ---- losses ---- */

static bool loses_switches(const struct event *ev)
{
	uint64_t id = event_value(ev, "lost_event");

	return ev->type->id == EV_gap || !id || id == EV_sched_switch || id == EV_sched_wakeup ||
	       id == EV_sched_block || id == EV_sched_woken;
}

static void on_lost(struct sched *s, const struct event *ev)
{
	uint64_t until = event_value(ev, "until");
	struct follow *t;

	if (!loses_switches(ev))
		return;
	s->counts.losses++;
	if (until < ev->time_ns)
		until = ev->time_ns;
	if (until > s->lost_until_ns)
		s->lost_until_ns = until;
	while ((t = s->touched)) { /* of the others nothing is known since the previous loss */
		s->touched = t->next_touched;
		t->is_touched = false;
		account(t, ev->time_ns);
		if (is_waiting(t))
			wait_breaks_off(s, t, ev->time_ns);
		t->use = SCHED_UNKNOWN;
		t->handler = NULL;
		t->seen = true;
		t->is_busy = false;
	}
}

/* ---- all events ---- */

static const char *const wanted[] = {
	"sched_switch", "sched_wakeup", "sched_woken", "sched_block", "sched_ran",
	"sched_stack",	"thread",	"lost",	       "gap",
	"kvm_exit",	"kvm_userspace_exit",
};

bool sched_wants(const char *event, void *arg)
{
	(void)arg;
	for (unsigned int i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++)
		if (!strcmp(wanted[i], event))
			return true;
	return false;
}

static void on_thread_event(struct sched *s, const struct event *ev)
{
	unsigned int id = ev->type->id;
	uint32_t tid = (uint32_t)(id == EV_sched_wakeup ? event_value(ev, "wake_tid") : ev->tid);
	struct follow *t = thread_get(s, ev, tid);

	if (!t)
		return;
	if (id == EV_thread)
		comm_learn(t, ev, "comm");
	vcpu_learn(s, t, ev);
	if (ev->time_ns <= s->lost_until_ns)
		return;
	s->counts.stacks |= id == EV_sched_stack;
	if (id == EV_sched_block)
		on_block(s, t, ev);
	else if (id == EV_sched_stack)
		handlers_event(s, t, ev);
	else if (id != EV_thread)
		on_wakeup(s, t, ev, id == EV_sched_wakeup);
}

void sched_set_foreign(struct sched *s)
{
	s->foreign = s->counts.ran = true;
}

int sched_event(struct sched *s, const struct event *ev)
{
	unsigned int id = ev->type->id;

	if (!id)
		return s->err;
	if (id == EV_lost || id == EV_gap)
		on_lost(s, ev);
	else if (id == EV_sched_ran)
		on_ran(s, ev);
	else if (id == EV_sched_switch && ev->time_ns > s->lost_until_ns)
		on_switch(s, ev);
	else if (id == EV_sched_wakeup || id == EV_sched_woken || id == EV_sched_block ||
		 id == EV_sched_stack || id == EV_thread)
		on_thread_event(s, ev);
	else if (s->foreign && (id == EV_kvm_exit || id == EV_kvm_userspace_exit))
		vm_learn(s, ev);
	return s->err;
}

int sched_end(struct sched *s, uint64_t ns)
{
	const struct follow_entry *e;

	for (uint32_t at = 0; (e = hash_next(&s->threads, &at));) {
		struct follow *t = e->thread;

		if (is_waiting(t))
			wait_breaks_off(s, t, ns);
		account(t, ns);
		if (t->is_busy)
			busy_ends(s, t, ns);
	}
	return s->err;
}

/* ---- results ---- */

static int by_number(const void *a, const void *b)
{
	const struct sched_thread *const *x = a, *const *y = b;

	return order_u64((*x)->number, (*y)->number);
}

struct sched_thread **sched_threads(const struct sched *s, size_t *ret_nr)
{
	struct sched_thread **all = malloc((s->threads.nr + 1) * sizeof(*all));
	const struct follow_entry *e;
	size_t nr = 0;

	for (uint32_t at = 0; all && (e = hash_next(&s->threads, &at));)
		if (e->thread->seen && s->counts.switches)
			all[nr++] = &e->thread->t;
	if (nr)
		qsort(all, nr, sizeof(*all), by_number);
	*ret_nr = nr;
	return all;
}

bool sched_is_of_vm(const struct sched *s, const struct sched_thread *t)
{
	return !s->foreign || !s->vms.nr ||
	       hash_find_u64(&s->vms, (uint64_t)t->source << 32 | t->pid);
}

unsigned int sched_nr_vms(const struct sched *s)
{
	return s->vms.nr;
}

static int by_time(const void *a, const void *b)
{
	const struct sched_taker *const *x = a, *const *y = b;

	if ((*x)->time_ns != (*y)->time_ns)
		return (*x)->time_ns > (*y)->time_ns ? -1 : 1;
	return order_u64((*x)->key, (*y)->key);
}

const struct sched_taker **sched_takers(const struct sched *s, size_t *ret_nr)
{
	const struct sched_taker **all = malloc((s->takers.nr + 1) * sizeof(*all));
	const struct sched_taker *e;
	size_t nr = 0;

	for (uint32_t at = 0; all && (e = hash_next(&s->takers, &at));)
		all[nr++] = e;
	if (nr)
		qsort(all, nr, sizeof(*all), by_time);
	*ret_nr = nr;
	return all;
}

struct sched *sched_new(uint64_t start_ns)
{
	struct sched *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->start_ns = start_ns;
	s->threads = HASH_TABLE(struct follow_entry, 1, SCHED_THREADS_MAX);
	s->cpus = HASH_TABLE(struct cpu_entry, 1, SCHED_CPUS_MAX);
	s->vms = HASH_TABLE(struct vm_entry, 1, SCHED_THREADS_MAX);
	handlers_init(s);
	s->takers = HASH_TABLE(struct sched_taker, 1, SCHED_TAKERS_MAX);
	s->charges = HASH_TABLE(struct charge, 1, SCHED_CHARGES_MAX);
	return s;
}

static void thread_free(struct follow *t)
{
	quantiles_free(&t->t.waits);
	quantiles_free(&t->t.wakeups);
	quantiles_free(&t->t.busy);
	free(t);
}

void sched_free(struct sched *s)
{
	const struct follow_entry *t;
	const struct cpu_entry *c;

	if (!s)
		return;
	for (uint32_t at = 0; (t = hash_next(&s->threads, &at));)
		thread_free(t->thread);
	for (uint32_t at = 0; (c = hash_next(&s->cpus, &at));)
		free(c->cpu);
	handlers_deinit(s);
	hash_deinit(&s->threads);
	hash_deinit(&s->cpus);
	hash_deinit(&s->vms);
	hash_deinit(&s->takers);
	hash_deinit(&s->charges);
	free(s);
}
