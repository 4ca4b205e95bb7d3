// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Adds up what threads do, by the periods that the model of threads reports: when one ends, its time is known to be of
 * one use, as a sleep's sched_block has come by then.
 */

#include <errno.h>

#include "analyzers/sched/internal.h"
#include "base/error.h"
#include "base/order.h"
#include "event/handlers.h"
#include "event/records.h"
#include "syscalls.h"

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
	return t->loop ? SCHED_LOOP : SCHED_WORKER;
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

/* ---- what a thread does ---- */

static enum sched_use use_of_block(const struct sched *s, const struct model_thread *m)
{
	if (m->stopped)
		return SCHED_STOPPED;
	if (!m->block.known)
		return m->vcpu != RECORD_NO_VCPU && model_sleeps_halted(&s->model, m)
			       ? SCHED_HALTED
			       : SCHED_SLEEPS;
	if (m->block.syscall == -1)
		return SCHED_FAULT;
	if (syscall_polls((uint64_t)m->block.syscall))
		return SCHED_POLLS;
	if (syscall_is_futex((uint64_t)m->block.syscall))
		return m->block.is_global ? SCHED_MUTEX : SCHED_LOCK;
	return thread_left_in_kvm_run(m) ? SCHED_HALTED : SCHED_SYSCALL;
}

static enum sched_use use_of(const struct sched *s, const struct model_thread *m)
{
	switch (m->state) {
	case THREAD_RUNNING:
		return SCHED_RUNS;
	case THREAD_PREEMPTED:
		return SCHED_PREEMPTED;
	case THREAD_WOKEN:
		return SCHED_RUNQUEUE;
	case THREAD_ASLEEP:
		return use_of_block(s, m);
	default:
		return SCHED_UNKNOWN;
	}
}

static void value_add(struct sched *s, struct quantiles *q, uint64_t value)
{
	if (quantiles_add(q, value) && !s->err)
		s->err = fail(-ENOMEM, "out of memory");
}

static void busy_begins(struct sched_loop *l, uint64_t ns)
{
	l->is_busy = true;
	l->now = (struct sched_busy){.start_ns = ns, .syscall = -1};
}

static void busy_ends(struct sched *s, struct sched_loop *l, uint64_t ns)
{
	uint64_t took = ns - l->now.start_ns;

	if (!l->is_busy)
		return;
	l->is_busy = false;
	l->now.end_ns = ns;
	if (ns < s->since_ns)
		return;
	value_add(s, &l->busy, took);
	s->counts.cut += l->now.start_ns < s->since_ns;
	if (took > l->longest.end_ns - l->longest.start_ns)
		l->longest = l->now;
}

/* It polls. */
static void loop_learn(struct sched *s, struct follow *t)
{
	if (s->nr_loops < SCHED_LOOPS_MAX)
		t->t.loop = calloc(1, sizeof(*t->t.loop));
	if (t->t.loop)
		s->nr_loops++;
	else
		s->counts.refused++;
}

/* ---- periods ---- */

static void busy_account(struct sched_busy *b, const struct follow *t, enum sched_use use,
			 uint64_t took)
{
	b->time[use] += took;
	if (use == SCHED_SYSCALL && took > b->syscall_ns) {
		b->syscall_ns = took;
		b->syscall = t->model.block.syscall;
	}
}

static void account(const struct sched *s, struct follow *t, enum sched_use use, uint64_t ns)
{
	uint64_t took = sched_in_window(s, t->model.since_ns, ns);

	if (t->model.state != THREAD_ENDED)
		t->t.time[use] += took;
	if (t->t.loop && t->t.loop->is_busy)
		busy_account(&t->t.loop->now, t, use, ns - t->model.since_ns);
	if (t->handler && use >= SCHED_MUTEX && use < SCHED_UNKNOWN)
		t->handler->slept_ns += took;
}

static void wait_count(struct sched *s, struct follow *t, uint64_t ns)
{
	value_add(s, &t->t.waits, ns - t->model.since_ns);
	if (t->wakes_poll)
		value_add(s, &t->t.loop->wakeups, ns - t->model.since_ns);
	s->counts.cut += t->model.since_ns < s->since_ns;
}

/* NULL: the trace ends. */
static void wait_over(struct sched *s, struct follow *t, uint64_t ns, const struct event *ev)
{
	if (!thread_waits(&t->model)) {
		preemptors_forget(s, t);
		return;
	}
	if (ev && ev->type->id == EV_sched_switch && ns >= s->since_ns)
		wait_count(s, t, ns);
	preemptors_count(s, t);
}

static void period_add(void *arg, struct model_thread *m, uint64_t ns, enum run_state next,
		       const struct event *ev)
{
	struct follow *t = (struct follow *)m;
	struct sched *s = arg;
	enum sched_use use = use_of(s, m);

	if (thread_slept_for_recorder(m, ev))
		use = SCHED_SLEEPS; /* the VM itself would not have slept in that */
	if (!model_sleep_is_open(&s->model, m))
		account(s, t, use, ns);
	wait_over(s, t, ns, ev);
	if (!ev)
		return;
	if (next == THREAD_RUNNING || use == SCHED_UNKNOWN || next == THREAD_UNKNOWN)
		t->handler = NULL;
	if (t->t.loop)
		t->t.loop->is_busy &= next != THREAD_UNKNOWN;
	t->wakes_poll = next == THREAD_WOKEN && use == SCHED_POLLS && t->t.loop;
	if (t->wakes_poll)
		busy_begins(t->t.loop, ns);
}

static void sleep_add(void *arg, struct model_thread *m, const struct thread_sleep *sleep,
		      bool halted)
{
	struct follow *t = (struct follow *)m;
	enum sched_use use = halted || sleep->in_kvm_run ? SCHED_HALTED : SCHED_SLEEPS;

	t->t.time[use] += sched_in_window(arg, sleep->from_ns, sleep->to_ns);
}

/* ---- events ---- */

static void vm_learn(struct sched *s, const struct event *ev)
{
	struct follow *t = (struct follow *)model_thread_get(&s->model, ev);

	if (!t || (t->in_vm && t->vm_pid == ev->pid))
		return;
	t->in_vm = true;
	t->vm_pid = ev->pid;
	if (!hash_add_u64(&s->vms, (uint64_t)ev->source << 32 | ev->pid, NULL))
		s->counts.refused++;
}

static void on_block(struct sched *s, const struct event *ev)
{
	struct follow *t = (struct follow *)model_thread_get(&s->model, ev);

	s->counts.blocks = true;
	if (!t || use_of(s, &t->model) != SCHED_POLLS)
		return;
	if (!t->t.loop)
		loop_learn(s, t);
	if (t->t.loop)
		busy_ends(s, t->t.loop, t->model.since_ns);
}

static void on_stack(struct sched *s, const struct event *ev)
{
	struct follow *t = (struct follow *)model_thread_get(&s->model, ev);

	s->counts.stacks = true;
	if (t && s->has_begun)
		handlers_event(s, t, ev);
}

void sched_set_foreign(struct sched *s)
{
	model_set_foreign(&s->model);
	s->counts.ran = true;
}

static void on_switch(struct sched *s, const struct event *ev)
{
	(void)ev;
	s->counts.switches++;
}

static void on_ran(struct sched *s, const struct event *ev)
{
	(void)ev;
	s->counts.ran = true;
}

static const HANDLERS(struct sched) always = {{
	[EV_sched_switch] = on_switch,
	[EV_sched_ran] = on_ran,
}};

/* Where nothing is lost, after the model. */
static const HANDLERS(struct sched) handlers = {{
	[EV_sched_block] = on_block,
	[EV_sched_stack] = on_stack,
}};

bool sched_wants(const char *event, void *arg)
{
	(void)arg;
	return handlers_want(&handlers, event) || model_wants(event, true, true);
}

static void window_begin(struct sched *s)
{
	s->has_begun = true;
	s->before = s->model.counts;
}

int sched_event(struct sched *s, const struct event *ev)
{
	unsigned int id = ev->type->id;
	bool blind = model_is_blind(&s->model, ev->time_ns);

	if (!id || ev->time_ns >= s->until_ns)
		return s->err;
	if (!s->has_begun && ev->time_ns >= s->since_ns)
		window_begin(s);
	handlers_call(&always, s, ev);
	model_event(&s->model, ev);
	if (!blind)
		handlers_call(&handlers, s, ev);
	if ((ev->vcpu != RECORD_NO_VCPU && id != EV_sched_wakeup) || id == EV_kvm_exit ||
	    id == EV_kvm_userspace_exit)
		vm_learn(s, ev);
	return s->err;
}

/* Its first event shows what the thread did before. */
static void first_move(const struct sched *s, struct follow *t)
{
	uint64_t took = sched_in_window(s, s->since_ns, t->model.first_ns);
	bool ran = t->model.first_state == THREAD_RUNNING;

	if (t->model.first_state == THREAD_UNKNOWN)
		return;
	t->t.time[SCHED_UNKNOWN] -= took;
	t->t.time[ran ? SCHED_RUNS : SCHED_SLEEPS] += took;
}

void sched_vcpu_learn(struct sched *s, uint16_t source, uint32_t tid, uint16_t vcpu)
{
	struct model_thread *m = model_thread_find(&s->model, source, tid);

	if (m && m->vcpu == RECORD_NO_VCPU)
		m->vcpu = vcpu;
}

int sched_end(struct sched *s, uint64_t ns)
{
	struct model_thread *m;

	if (!s->has_begun)
		window_begin(s);
	model_end(&s->model, ns);
	for (uint32_t at = 0; (m = model_thread_next(&s->model, &at));) {
		struct follow *t = (struct follow *)m;

		if (t->t.loop)
			busy_ends(s, t->t.loop, m->since_ns);
		first_move(s, t);
		t->t.pid = m->pid;
		t->t.tid = m->tid;
		t->t.number = m->number;
		t->t.source = m->source;
		t->t.vcpu = m->vcpu;
		t->t.is_stateless = m->is_stateless;
		memcpy(t->t.comm, m->comm, sizeof(t->t.comm));
	}
	hash_deinit(&s->charges); /* the report needs memory, too */
	s->counts.missing = s->model.counts.missing - s->before.missing;
	s->counts.nameless = s->model.counts.nameless - s->before.nameless;
	s->counts.cpuless = s->model.counts.cpuless - s->before.cpuless;
	s->counts.stateless = s->model.counts.stateless - s->before.stateless;
	s->counts.losses = s->model.counts.losses - s->before.losses;
	s->counts.refused += s->model.counts.refused;
	s->counts.unnamed += s->model.counts.unnamed;
	return s->err;
}

/* ---- results ---- */

static int by_number(const void *a, const void *b)
{
	const struct sched_thread *const *x = a, *const *y = b;

	return order_u64((*x)->number, (*y)->number);
}

/* Had it not ended before the window? */
static bool was_there(const struct sched *s, const struct follow *t)
{
	return sched_known_ns(&t->t) || t->t.time[SCHED_UNKNOWN] ||
	       t->model.first_ns >= s->since_ns;
}

struct sched_thread **sched_threads(const struct sched *s, size_t *ret_nr)
{
	struct sched_thread **all = malloc((s->model.threads.nr + 1) * sizeof(*all));
	struct model_thread *m;
	size_t nr = 0;

	for (uint32_t at = 0; all && (m = model_thread_next(&s->model, &at));)
		if (m->is_seen && s->counts.switches && was_there(s, (struct follow *)m))
			all[nr++] = &((struct follow *)m)->t;
	if (nr)
		qsort(all, nr, sizeof(*all), by_number);
	*ret_nr = nr;
	return all;
}

bool sched_is_of_vm(const struct sched *s, const struct sched_thread *t)
{
	return !s->model.foreign || !s->vms.nr ||
	       hash_find_u64(&s->vms, (uint64_t)t->source << 32 | t->pid);
}

unsigned int sched_nr_vms(const struct sched *s)
{
	return s->vms.nr;
}

static int by_time(const void *a, const void *b)
{
	const struct sched_preemptor *const *x = a, *const *y = b;

	return order_u64((*y)->time_ns, (*x)->time_ns) ?: order_u64((*x)->key, (*y)->key);
}

const struct sched_preemptor **sched_preemptors(const struct sched *s, size_t *ret_nr)
{
	return hash_sorted(&s->preemptors, by_time, ret_nr);
}

struct sched *sched_new(uint64_t since_ns, uint64_t until_ns)
{
	struct sched *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	model_init(&s->model,
		   &(struct model_reader){.period = period_add,
				       .slept = sleep_add,
				       .taken = preemptors_charge,
				       .arg = s,
				       .thread_size = sizeof(struct follow)}, 0);
	s->since_ns = since_ns;
	s->until_ns = until_ns;
	s->vms = HASH_TABLE(struct vm_entry, 1, SCHED_VMS_MAX);
	handlers_init(s);
	s->preemptors = HASH_TABLE(struct sched_preemptor, 1, SCHED_PREEMPTORS_MAX);
	s->charges = HASH_TABLE(struct charge, 1, SCHED_CHARGES_MAX);
	return s;
}

static void thread_clear(struct follow *t)
{
	quantiles_free(&t->t.waits);
	if (t->t.loop) {
		quantiles_free(&t->t.loop->wakeups);
		quantiles_free(&t->t.loop->busy);
	}
	free(t->t.loop);
}

void sched_free(struct sched *s)
{
	struct model_thread *m;

	if (!s)
		return;
	for (uint32_t at = 0; (m = model_thread_next(&s->model, &at));)
		thread_clear((struct follow *)m);
	handlers_deinit(s);
	model_deinit(&s->model);
	hash_deinit(&s->vms);
	hash_deinit(&s->preemptors);
	hash_deinit(&s->charges);
	free(s);
}
