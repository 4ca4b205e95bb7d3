/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Lost events, as all that matches begins and ends looks at them: what spans a report of lost events (EV_lost) is
 * unknown, as its end may be among them, whichever CPU its thread has moved to; what began and ended on a CPU whose
 * events may be missing in between (EV_gap) is in doubt. So is what ended on another CPU than it began on, if events of
 * any CPU may be missing: its thread may have been there in between. As a trace may be full of losses, only the number
 * of reports is kept, and compared at the end.
 */
#ifndef HOSTRACE_LOSS_STATE_H
#define HOSTRACE_LOSS_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "event/event.h"

struct loss_state {
	uint64_t nr;		 /* reports so far */
	uint64_t blind_until_ns; /* end of the newest window of loss */
	uint64_t *gap_ns;	 /* by CPU: end of its newest gap; NULL: there was none */
	uint32_t nr_gap_cpus;	 /* CPUs from this one on have none */
	uint64_t newest_gap_ns;	 /* of all CPUs */
};

/* Where something began. */
struct loss_mark {
	uint64_t nr, ns;
	uint16_t cpu;
};

void loss_state_deinit(struct loss_state *l);

/* Of an EV_lost: may it be events that are wanted? */
bool loss_matters(const struct event *ev, bool (*wants)(const char *event, void *arg));

/*
 * An EV_gap, or an EV_lost if what is lost `matters`. Without memory for the CPUs'
 * gaps a gap is one of any CPU.
 */
void loss_state_add(struct loss_state *l, const struct event *ev, bool matters);

/* Within a window of loss, the end that follows may be another one's. */
static inline struct loss_mark loss_mark_of(const struct loss_state *l, const struct event *begin)
{
	return (struct loss_mark){.nr = l->nr - (begin->time_ns < l->blind_until_ns),
				  .ns = begin->time_ns,
				  .cpu = begin->cpu};
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

static inline bool gap_since(const struct loss_state *l, const struct loss_mark *m,
				    uint16_t end_cpu)
{
	return l->gap_ns && (m->cpu == end_cpu ? gap_since_on(l, m->ns, end_cpu)
					      : gap_since_any(l, m->ns));
}

/* Is what ended on this CPU unknown? */
static inline bool end_is_unknown(const struct loss_state *l, const struct loss_mark *m,
				  uint16_t end_cpu)
{
	return lost_since(l, m) || gap_since(l, m, end_cpu);
}

/* And what has no end yet? It may have ended on any CPU. */
static inline bool end_may_be_missing(const struct loss_state *l, const struct loss_mark *m)
{
	return lost_since(l, m) || l->newest_gap_ns > m->ns;
}

#endif
