// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * For how long a VM was stopped: by a signal or a debugger, as the scheduler has it of its threads, or by QEMU
 * (vm_state); and for how long one of its threads that are no vCPUs, which serve its devices, was ready to run and had
 * no CPU, or waited for the recorder. Nothing is lost to a device meanwhile: the time of slow requests is that for
 * which their VM ran.
 */
#include "analyzers/virtqueue/queues_private.h"
#include "base/array.h"
#include "base/error.h"
#include "event/handlers.h"
#include "event/records.h"

enum { TASK_STOPPED = 4, TASK_TRACED = 8 }; /* linux/sched.h */

struct vm_stop_time {
	uint64_t start_ns, end_ns, before_ns; /* before_ns: how long all earlier ones took */
};

struct vm_stops {
	uint64_t pid;
	struct vm_stop_time *stop; /* array.h; the newest has no end yet if it is stopped */
	unsigned int nr, max;
	bool by_signal, by_vmm;
	unsigned int nr_waiting; /* threads that wait for a CPU */
	uint32_t tid;		 /* the last thread that was stopped by a signal */
};

struct server_thread {
	struct model_thread model;
	bool waits; /* it is one of nr_waiting */
};

static struct vm_stops *stops_get(struct queues *q, uint32_t pid)
{
	struct vm_stops *s = hash_add_u64(&q->stops, pid, NULL);

	if (s)
		s->pid = pid;
	return s;
}

static bool is_stopped(const struct vm_stops *s)
{
	return s->by_signal || s->by_vmm || s->nr_waiting;
}

static void stop_begin(struct queues *q, struct vm_stops *s, uint64_t ns)
{
	const struct vm_stop_time *last = s->nr ? &s->stop[s->nr - 1] : NULL;
	uint64_t before = last ? last->before_ns + last->end_ns - last->start_ns : 0,
		 start = last && last->end_ns > ns ? last->end_ns : ns;

	if (s->nr == STOPS_MAX)
		return;
	if (array_reserve(s->stop, s->nr + 1, s->max)) {
		q->err = error_code();
		return;
	}
	s->stop[s->nr++] = (struct vm_stop_time){start, UINT64_MAX, before};
}

/* Threads wait for a CPU often, and mostly for a few microseconds, which do not matter. */
static void stop_end(struct vm_stops *s, uint64_t ns)
{
	struct vm_stop_time *last = s->nr ? &s->stop[s->nr - 1] : NULL;

	if (!last || last->end_ns != UINT64_MAX)
		return;
	last->end_ns = ns > last->start_ns ? ns : last->start_ns;
	s->nr -= last->end_ns - last->start_ns < STOP_MIN_NS;
}

/* After a reason has changed. */
static void stops_change(struct queues *q, struct vm_stops *s, bool was, uint64_t ns)
{
	if (is_stopped(s) && !was)
		stop_begin(q, s, ns);
	if (!is_stopped(s) && was)
		stop_end(s, ns);
}

static void stops_set(struct queues *q, struct vm_stops *s, bool *reason, bool on, uint64_t ns)
{
	bool was = is_stopped(s);

	*reason = on;
	stops_change(q, s, was, ns);
}

/* Afterwards: until it is woken, it is not known for what it sleeps. */
static void slept_for_recorder_add(struct queues *q, const struct model_thread *t, uint64_t ns)
{
	struct vm_stops *s = t->pid ? stops_get(q, t->pid) : NULL;

	if (!s || is_stopped(s))
		return;
	stop_begin(q, s, t->since_ns);
	stop_end(s, ns);
}

static void server_period(void *arg, struct model_thread *t, uint64_t ns, enum run_state next,
			  const struct event *ev)
{
	struct server_thread *server = (struct server_thread *)t;
	bool waits = (next == THREAD_WOKEN || next == THREAD_PREEMPTED) && t->pid &&
		     t->vcpu == RECORD_NO_VCPU,
	     was;
	struct queues *q = arg;
	struct vm_stops *s = waits == server->waits ? NULL : stops_get(q, t->pid);

	if (thread_slept_for_recorder(t, ev) && t->vcpu == RECORD_NO_VCPU)
		slept_for_recorder_add(q, t, ns);
	if (!s)
		return;
	was = is_stopped(s);
	server->waits = waits;
	s->nr_waiting += waits ? 1 : (unsigned int)-1;
	stops_change(q, s, was, ns);
}

/* A stop ends with the first thread that runs again: the last that was stopped, or one of which that is known later. */
static void on_switch(struct queues *q, const struct event *ev)
{
	RECORD(sched_switch, sw, ev);
	bool stopped = sw->prev_state & (TASK_STOPPED | TASK_TRACED);
	struct vm_stops *s = hash_find_u64(&q->stops, ev->pid);

	model_event(&q->threads, ev);
	if (!record_has(ev, sched_switch, prev_state))
		return;
	if (stopped && sw->prev_tid == ev->tid && (s || (s = stops_get(q, ev->pid)))) {
		s->tid = sw->prev_tid;
		stops_set(q, s, &s->by_signal, true, ev->time_ns);
	} else if (s && s->by_signal && (sw->next_tid == s->tid || sw->prev_tid == ev->tid)) {
		stops_set(q, s, &s->by_signal, false, ev->time_ns);
	}
}

static void on_state(struct queues *q, const struct event *ev)
{
	RECORD(vm_state, state, ev);
	struct vm_stops *s = record_has(ev, vm_state, running) ? stops_get(q, ev->pid) : NULL;

	if (s)
		stops_set(q, s, &s->by_vmm, !state->running, ev->time_ns);
}

static void on_thread(struct queues *q, const struct event *ev)
{
	model_event(&q->threads, ev);
}

static const HANDLERS(struct queues) handlers = {{
	[EV_sched_switch] = on_switch,
	[EV_sched_wakeup] = on_thread,
	[EV_sched_woken] = on_thread,
	[EV_thread] = on_thread,
	[EV_lost] = on_thread,
	[EV_gap] = on_thread,
	[EV_vm_state] = on_state,
}};

bool queues_stops_show(const char *event)
{
	return handlers_want(&handlers, event);
}

void queues_stops_event(struct queues *q, const struct event *ev)
{
	handlers_call(&handlers, q, ev);
}

uint64_t queues_ran_ns(const struct queues *q, uint32_t pid, uint64_t ns)
{
	const struct vm_stops *s = hash_find_u64(&q->stops, pid);
	unsigned int nr = s ? (unsigned int)array_prefix(s->nr, i, s->stop[i].start_ns < ns) : 0;
	const struct vm_stop_time *last = nr ? &s->stop[nr - 1] : NULL;

	return last ? ns - last->before_ns -
			       ((last->end_ns < ns ? last->end_ns : ns) - last->start_ns)
		    : ns;
}

void queues_stops_free(struct queues *q)
{
	struct vm_stops *s;

	for (uint32_t at = 0; (s = hash_next(&q->stops, &at));)
		free(s->stop);
	hash_deinit(&q->stops);
	model_deinit(&q->threads);
}

void queues_stops_init(struct queues *q)
{
	q->stops = HASH_TABLE(struct vm_stops, 1, STOPS_VMS_MAX);
	model_init(&q->threads,
		   &(struct model_reader){.period = server_period,
					  .arg = q,
					  .thread_size = sizeof(struct server_thread)},
		   0);
}
