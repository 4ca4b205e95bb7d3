/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Lost events, as all that matches begins and ends looks at them: what spans a report of lost events (EV_lost) is
 * unknown, as its end may be among them, whichever CPU its thread has moved to; what began and ended on a CPU whose
 * events may be missing in between (EV_gap) is in doubt. So is what ended on another CPU than it began on, if events of
 * any CPU may be missing: its thread may have been there in between. A thread that moves between CPUs may also have
 * been there if it is back on its CPU, unless the time is too short for that. As a trace may be full of losses, only
 * the number of reports is kept, and compared at the end.
 */
#ifndef HOSTRACE_LOSS_STATE_H
#define HOSTRACE_LOSS_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/hash.h"
#include "event/event.h"

enum {
	MOVING_THREADS_MAX = 1 << 15,
	ROUND_TRIP_NS_MIN = 20000, /* sleep, run and sleep on another CPU, and be back */
};

struct loss_state {
	uint64_t nr;		 /* reports so far */
	uint64_t blind_until_ns; /* end of the newest window of loss */
	uint64_t *gap_ns;	 /* by CPU: end of its newest gap; NULL: there was none */
	uint32_t nr_gap_cpus;	 /* CPUs from this one on have none */
	uint64_t newest_gap_ns;	 /* of all CPUs */
	struct hash_table threads; /* since the first gap: on which CPUs they were */
};

/* Where something began. */
struct loss_mark {
	uint64_t nr, ns;
	uint16_t cpu;
	bool moves; /* its thread was seen on several CPUs */
};

void loss_state_deinit(struct loss_state *l);

/* Of an EV_lost: may it be events that are wanted? */
bool loss_matters(const struct event *ev, bool (*wants)(const char *event, void *arg));

/*
 * An EV_gap, or an EV_lost if what is lost `matters`. Without memory for the CPUs'
 * gaps a gap is one of any CPU.
 */
void loss_state_add(struct loss_state *l, const struct event *ev, bool matters);

/* Has the event's thread been on several CPUs since the first gap? */
bool loss_thread_moves(struct loss_state *l, const struct event *ev);

/* Within a window of loss, the end that follows may be another one's. `gaps`: the state that has them. */
static inline struct loss_mark loss_mark_in(const struct loss_state *l, struct loss_state *gaps,
					    const struct event *begin)
{
	return (struct loss_mark){.nr = l->nr - (begin->time_ns < l->blind_until_ns),
				  .ns = begin->time_ns,
				  .cpu = begin->cpu,
				  .moves = gaps->gap_ns && loss_thread_moves(gaps, begin)};
}

static inline struct loss_mark loss_mark_of(struct loss_state *l, const struct event *begin)
{
	return loss_mark_in(l, l, begin);
}

static inline bool lost_since(const struct loss_state *l, const struct loss_mark *m)
{
	return m->nr != l->nr;
}

bool gap_since_any(const struct loss_state *l, uint64_t ns);

/* Of what happened on this CPU; on any, if it is not known on which. */
static inline bool gap_since_on(const struct loss_state *l, uint64_t ns, uint16_t cpu)
{
	return cpu == RECORD_CPU_UNKNOWN ? gap_since_any(l, ns) : l->gap_ns[cpu] > ns;
}

/* May the thread have been on another CPU before it ended on this one? */
static inline bool mark_was_elsewhere(const struct loss_mark *m, uint16_t end_cpu, uint64_t end_ns)
{
	return m->cpu != end_cpu ||
	       (m->moves && end_ns > m->ns && end_ns - m->ns >= ROUND_TRIP_NS_MIN);
}

static inline bool gap_since(const struct loss_state *l, const struct loss_mark *m,
			     uint16_t end_cpu, uint64_t end_ns)
{
	return l->gap_ns && (mark_was_elsewhere(m, end_cpu, end_ns)
				     ? gap_since_any(l, m->ns)
				     : gap_since_on(l, m->ns, end_cpu));
}

/* Is what this event ended unknown? */
static inline bool end_is_unknown(const struct loss_state *l, const struct loss_mark *m,
				  const struct event *end)
{
	return lost_since(l, m) || gap_since(l, m, end->cpu, end->time_ns);
}

/* And what has no end yet? It may have ended on any CPU. */
static inline bool end_may_be_missing(const struct loss_state *l, const struct loss_mark *m)
{
	return lost_since(l, m) || l->newest_gap_ns > m->ns;
}

#endif
