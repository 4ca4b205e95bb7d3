// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyzers/path/threads.h"
#include "base/array.h"
#include "base/error.h"
#include "pairing/loss_state.h"

const char *const thread_run_names[THREAD_RUNS] = {
	[THREAD_UNKNOWN] = "unknown",
	[THREAD_RUNNING] = "running",
	[THREAD_RUNQUEUE] = "run queue",
	[THREAD_ASLEEP] = "asleep",
};

struct thread_entry {
	uint64_t key;
	struct thread_log *log;
};

static uint64_t key_of(uint16_t source, uint32_t tid)
{
	return (uint64_t)source << 32 | tid;
}

struct thread_log *threads_find(const struct threads *t, uint16_t source, uint32_t tid)
{
	const struct thread_entry *e = hash_find_u64(&t->logs, key_of(source, tid));

	return e ? e->log : NULL;
}

static struct thread_log *thread_touch(struct threads *t, struct thread_log *log)
{
	if (!log || log->is_touched)
		return log;
	log->is_touched = true;
	log->next_touched = t->touched;
	t->touched = log;
	return log;
}

static struct thread_log *threads_get(struct threads *t, const struct event *ev, uint32_t tid)
{
	struct thread_log *log = tid ? threads_find(t, ev->source, tid) : NULL;
	struct thread_entry *e;

	if (log || !tid)
		return thread_touch(t, log);
	log = calloc(1, sizeof(*log));
	e = log ? hash_add_u64(&t->logs, key_of(ev->source, tid), NULL) : NULL;
	if (!e) {
		t->refused++;
		free(log);
		return NULL;
	}
	log->tid = tid;
	log->pid = ev->pid;
	return e->log = thread_touch(t, log);
}

static void change_add(struct threads *t, struct thread_log *log, struct thread_change change)
{
	if (log->nr && change.ns < log->change[log->nr - 1].ns) /* events may be out of order */
		change.ns = log->change[log->nr - 1].ns;
	if (t->nr_changes == THREAD_CHANGES_MAX) {
		if (!log->nr || log->change[log->nr - 1].run == THREAD_UNKNOWN ||
		    array_room(log->change, log->nr)) {
			t->refused++;
			return;
		}
		change.run = THREAD_UNKNOWN; /* once per thread: what follows is not known */
	} else if (array_room(log->change, log->nr)) {
		t->err = -ENOMEM;
		return;
	} else {
		t->nr_changes++;
	}
	log->change[log->nr++] = change;
}

static enum thread_run run_of(const struct thread_log *log)
{
	return log->nr ? log->change[log->nr - 1].run : THREAD_UNKNOWN;
}

/* ---- the scheduler ---- */

static struct thread_change change_of(const struct event *ev, enum thread_run run, const char *tid,
				      const char *comm)
{
	struct thread_change c = {.ns = ev->time_ns, .cpu = ev->cpu, .run = (uint8_t)run};
	const struct field *f = comm ? event_field(ev->type, comm) : NULL;

	if (run != THREAD_RUNQUEUE || !f)
		return c;
	c.other_tid = (uint32_t)event_value(ev, tid);
	event_text(ev, f, c.other, sizeof(c.other));
	text_neutralise(c.other);
	return c;
}

static void thread_leaves(struct threads *t, struct thread_log *log, const struct event *ev)
{
	bool early = log->woken_early_ns &&
		     ev->time_ns - log->woken_early_ns <= THREAD_EARLY_WAKE_NS;
	enum thread_run run = !event_value(ev, "prev_state") || early ? THREAD_RUNQUEUE
								       : THREAD_ASLEEP;

	log->woken_early_ns = 0;
	change_add(t, log, change_of(ev, run, "next_tid", "next_comm"));
}

/* Who ran until now had the CPU that it waited for. */
static void thread_comes(struct threads *t, struct thread_log *log, const struct event *ev)
{
	struct thread_change *last = log->nr ? &log->change[log->nr - 1] : NULL;

	log->woken_early_ns = 0;
	if (last && last->run == THREAD_RUNQUEUE && !last->other_tid) {
		uint64_t since_ns = last->ns;

		*last = change_of(ev, THREAD_RUNQUEUE, "prev_tid", "prev_comm");
		last->ns = since_ns;
	}
	change_add(t, log, change_of(ev, THREAD_RUNNING, NULL, NULL));
}

/* The header's thread is the one that leaves if it is the VM's, else the one that comes. */
static void on_switch(struct threads *t, const struct event *ev)
{
	uint32_t prev = (uint32_t)event_value(ev, "prev_tid");
	uint32_t next = (uint32_t)event_value(ev, "next_tid");
	struct thread_log *log;

	t->switches = true;
	log = prev && prev == ev->tid ? threads_get(t, ev, prev) : NULL;
	if (log)
		thread_leaves(t, log, ev);
	log = next == ev->tid ? threads_get(t, ev, next) : threads_find(t, ev->source, next);
	if (log && log->pid == ev->pid)
		thread_comes(t, thread_touch(t, log), ev);
}

static void woken(struct threads *t, struct thread_log *log, const struct event *ev,
		  uint32_t waker_tid)
{
	enum thread_run run = log ? run_of(log) : THREAD_UNKNOWN;
	const struct thread_log *waker;

	t->wakes = true;
	if (!log)
		return;
	if (run == THREAD_RUNNING)
		log->woken_early_ns = ev->time_ns;
	if (run == THREAD_RUNQUEUE) /* by sched_woken, and now sched_wakeup */
		return;
	waker = threads_find(t, ev->source, waker_tid);
	log->woken_ns = ev->time_ns;
	log->waker_tid = waker_tid;
	log->woken_exit_ns = waker ? waker->exit_ns : 0;
	if (run == THREAD_ASLEEP || (run == THREAD_UNKNOWN && t->switches))
		change_add(t, log, change_of(ev, THREAD_RUNQUEUE, NULL, NULL));
}

/* ---- all events ---- */

static void all_unknown(struct threads *t, const struct event *ev)
{
	const struct event_type *type = ev->type->id == EV_lost ? loss_event_type(ev) : NULL;
	struct thread_log *log;

	if (type && !threads_wants(type->name))
		return;
	while ((log = t->touched)) { /* the others are unknown since the previous loss */
		t->touched = log->next_touched;
		log->is_touched = false;
		if (run_of(log) != THREAD_UNKNOWN)
			change_add(t, log, change_of(ev, THREAD_UNKNOWN, NULL, NULL));
		log->exit_ns = log->woken_ns = log->woken_early_ns = 0;
	}
}

static void on_vcpu(struct threads *t, const struct event *ev)
{
	struct thread_log *log = threads_get(t, ev, ev->tid);
	bool begins = ev->type->id == EV_kvm_exit || ev->type->id == EV_kvm_userspace_exit;

	if (!log)
		return;
	log->is_vcpu = true;
	if (!begins || !log->exit_ns)
		log->exit_ns = begins ? ev->time_ns : 0;
}

bool threads_wants(const char *event)
{
	static const char *const wanted[] = {"sched_switch", "sched_woken",	    "sched_wakeup",
					     "kvm_exit",     "kvm_entry",	    "kvm_run",
					     "lost",	     "kvm_userspace_exit", "gap"};

	for (unsigned int i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++)
		if (!strcmp(wanted[i], event))
			return true;
	return false;
}

int threads_event(struct threads *t, const struct event *ev)
{
	switch (ev->type->id) {
	case EV_sched_switch:
		on_switch(t, ev);
		break;
	case EV_sched_woken:
		woken(t, threads_get(t, ev, ev->tid), ev, (uint32_t)event_value(ev, "waker_tid"));
		break;
	case EV_sched_wakeup: /* its thread is the waker's */
		woken(t, threads_get(t, ev, (uint32_t)event_value(ev, "wake_tid")), ev, ev->tid);
		break;
	case EV_kvm_exit:
	case EV_kvm_userspace_exit:
	case EV_kvm_entry:
	case EV_kvm_run:
		on_vcpu(t, ev);
		break;
	case EV_lost:
	case EV_gap:
		all_unknown(t, ev);
		break;
	}
	return t->err;
}

ptrdiff_t thread_at(const struct thread_log *log, uint64_t ns)
{
	size_t lo = 0, hi = log->nr;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (log->change[mid].ns <= ns)
			lo = mid + 1;
		else
			hi = mid;
	}
	return (ptrdiff_t)lo - 1;
}

bool thread_slept(const struct thread_log *log, uint64_t from_ns, uint64_t to_ns)
{
	ptrdiff_t first = thread_at(log, from_ns);

	for (size_t i = first < 0 ? 0 : (size_t)first; i < log->nr && log->change[i].ns < to_ns;
	     i++)
		if (log->change[i].run == THREAD_ASLEEP)
			return true;
	return false;
}

void threads_init(struct threads *t)
{
	*t = (struct threads){.logs = HASH_TABLE(struct thread_entry, 1, THREADS_SEEN_MAX)};
}

void threads_deinit(struct threads *t)
{
	const struct thread_entry *e;

	for (uint32_t at = 0; (e = hash_next(&t->logs, &at));) {
		free(e->log->change);
		free(e->log);
	}
	hash_deinit(&t->logs);
}
