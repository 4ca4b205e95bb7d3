// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analyzers/profile/cpu_loads.h"
#include "base/error.h"

/* 1: the loads have changed, and a row is due. */
static int load_sample(struct cpu_loads *l, const struct sample *s,
		       const struct cpu_load_options *o)
{
	struct sample_arg args[SAMPLE_ARGS_MAX];
	size_t len;

	if (strcmp(s->tp->name, "sched_load") ||
	    sample_args(s->tp, s->args, s->args_len, args, &len) < 1)
		return 0;
	if (s->cpu >= CPU_LOADS_MAX)
		return fail(-E2BIG, "CPU %u: more than %d CPUs", s->cpu, CPU_LOADS_MAX);
	l->nr_known += !l->known[s->cpu];
	l->known[s->cpu] = true;
	l->load[s->cpu] = args[0].i;
	if (l->nr <= s->cpu)
		l->nr = s->cpu + 1;
	if (o->cpus && l->nr_known < o->cpus)
		return 0;
	if (o->cpus && l->nr > o->cpus)
		return fail(-EINVAL,
			    "Encountered CPU with id=%u but user claimed there are %" PRIu64
			    " CPUs",
			    l->nr - 1, o->cpus);
	return time_range_has(&o->range, s->time_ns);
}

int cpu_loads_find(struct sample_trace *t, const struct cpu_load_options *opt,
		   int (*put)(void *arg, uint64_t time_ns, const struct cpu_loads *loads),
		   void *arg)
{
	_cleanup_free_ struct cpu_loads *l = calloc(1, sizeof(*l));
	struct sample s;
	int r = 0, stop = l ? 0 : fail(-ENOMEM, "out of memory");

	sample_rewind(t);
	while (!stop && (r = sample_next(t, &s)) != 0) {
		stop = r < 0 ? r : load_sample(l, &s, opt);
		if (stop > 0)
			stop = put(arg, s.time_ns, l);
	}
	return stop;
}
