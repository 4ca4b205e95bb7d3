// SPDX-License-Identifier: GPL-2.0-or-later
/* The model's periods of each thread as a list of changes, in which a time is found by binary search. */
#include <errno.h>

#include "analyzers/path/threads.h"
#include "base/array.h"
#include "event/records.h"

const char *const path_run_names[PATH_RUNS] = {
	[PATH_RUN_UNKNOWN] = "unknown",
	[PATH_RUNNING] = "running",
	[PATH_RUNQUEUE] = "run queue",
	[PATH_ASLEEP] = "asleep",
};

struct thread_log *threads_find(const struct threads *t, uint16_t source, uint32_t tid)
{
	return (struct thread_log *)model_thread_find(&t->model, source, tid);
}

/* ---- changes ---- */

static enum path_run run_of(enum run_state state)
{
	static const uint8_t runs[THREAD_STATES] = {
		[THREAD_RUNNING] = PATH_RUNNING, [THREAD_PREEMPTED] = PATH_RUNQUEUE,
		[THREAD_WOKEN] = PATH_RUNQUEUE,	 [THREAD_ASLEEP] = PATH_ASLEEP,
		[THREAD_ENDED] = PATH_ASLEEP,
	};

	return runs[state];
}

static void change_add(struct threads *t, struct thread_log *log, struct thread_change change)
{
	if (t->nr_changes == THREAD_CHANGES_MAX) {
		if (!log->nr || log->change[log->nr - 1].run == PATH_RUN_UNKNOWN ||
		    array_room(log->change, log->nr)) {
			t->refused++;
			return;
		}
		change.run = PATH_RUN_UNKNOWN; /* once per thread: what follows is not known */
	} else if (array_room(log->change, log->nr)) {
		t->err = -ENOMEM;
		return;
	} else {
		t->nr_changes++;
	}
	log->change[log->nr++] = change;
}

/* The thread's period has had this state: it may be another one than was known when it began. */
static void period_log(void *arg, struct model_thread *m, uint64_t ns, enum run_state next,
		       const struct event *ev)
{
	struct thread_log *log = (struct thread_log *)m;
	struct threads *t = arg;

	for (size_t i = log->nr; i-- > 0 && log->change[i].ns >= m->since_ns;)
		if (log->change[i].run != PATH_RUN_UNKNOWN)
			log->change[i].run = (uint8_t)run_of(m->state);
	if (!ev)
		return;
	if (next == THREAD_UNKNOWN)
		log->woken_ns = 0;
	if (t->model.counts.switches) /* else nothing shows that a thread has left its CPU */
		change_add(t, log, (struct thread_change){.ns = ns, .cpu = ev->cpu,
							  .run = (uint8_t)run_of(next)});
}

/* Who has the CPU instead: of the change to the run queue, or from then on. */
static void other_log(void *arg, struct model_thread *m, uint64_t from_ns, uint64_t to_ns,
		      const struct runner *who)
{
	struct thread_log *log = (struct thread_log *)m;
	struct thread_change *last = log->nr ? &log->change[log->nr - 1] : NULL;
	struct thread_change new = {.ns = from_ns, .run = PATH_RUNQUEUE};
	struct threads *t = arg;

	(void)to_ns;
	if (!last || last->run != PATH_RUNQUEUE)
		return;
	new.cpu = (uint16_t)who->cpu;
	new.other_tid = who->known ? who->tid : 0;
	memcpy(new.other, who->comm, sizeof(new.other));
	if (last->ns == from_ns) {
		*last = new;
	} else if (new.other_tid != last->other_tid && t->nr_others < THREAD_OTHERS_MAX) {
		t->nr_others++;
		change_add(t, log, new);
	} else if (new.other_tid != last->other_tid) {
		t->refused++;
		new.other_tid = 0;
		new.other[0] = 0;
		if (last->other_tid) /* once per wait: from then on it is not known */
			change_add(t, log, new);
	}
}

/* ---- events ---- */

uint64_t thread_exit_ns(const struct threads *t, const struct thread_log *log,
			const struct event *ev)
{
	return model_place_known(&t->model, &log->model, ev->cpu, ev->time_ns)
		       ? log->model.place.exit_ns : 0;
}

static void on_wake(struct threads *t, const struct event *ev, uint32_t tid, uint32_t waker_tid)
{
	struct thread_log *log = threads_find(t, ev->source, tid);
	bool again = log && thread_waits(&log->model); /* by sched_woken, and now sched_wakeup */
	const struct thread_log *waker;

	t->wakes = true;
	model_event(&t->model, ev);
	log = log ? log : threads_find(t, ev->source, tid);
	if (!log || again || model_is_blind(&t->model, ev->time_ns))
		return;
	waker = threads_find(t, ev->source, waker_tid);
	log->woken_ns = ev->time_ns;
	log->waker_tid = waker_tid;
	log->woken_exit_ns = waker ? thread_exit_ns(t, waker, ev) : 0;
}

int threads_event(struct threads *t, const struct event *ev)
{
	t->last_ns = ev->time_ns;
	if (ev->type->id == EV_sched_woken) {
		RECORD(sched_woken, woken, ev);

		on_wake(t, ev, ev->tid, woken->waker_tid);
	} else if (ev->type->id == EV_sched_wakeup) { /* its thread is the waker's */
		RECORD(sched_wakeup, wakeup, ev);

		on_wake(t, ev, wakeup->wake_tid, ev->tid);
	} else {
		model_event(&t->model, ev);
	}
	return t->err;
}

void threads_end(struct threads *t)
{
	model_end(&t->model, t->last_ns);
}

/* ---- questions ---- */

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
		if (log->change[i].run == PATH_ASLEEP)
			return true;
	return false;
}

void threads_init(struct threads *t)
{
	*t = (struct threads){0};
	model_init(&t->model,
		   &(struct model_reader){.period = period_log,
					  .taken = other_log,
					  .arg = t,
					  .thread_size = sizeof(struct thread_log)},
		   0);
}

void threads_deinit(struct threads *t)
{
	struct model_thread *m;

	for (uint32_t at = 0; (m = model_thread_next(&t->model, &at));)
		free(((struct thread_log *)m)->change);
	model_deinit(&t->model);
}
