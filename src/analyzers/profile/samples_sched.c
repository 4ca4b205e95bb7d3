// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Wakeups: sched_wait, sched_wake and sched_wait_ret of a thread, where the wait ends on the CPU where it began. Loads:
 * sched_load has the length of its CPU's run queue.
 */
#include "analyzers/profile/samples_sched.h"

#include <errno.h>
#include <inttypes.h>

#include "base/error.h"
#include "base/hash.h"

enum { WAITS_MAX = 1 << 20 };

/* A thread that waits, and its latest wakeup. */
struct wait {
	uint64_t thread, since_ns, wake_ns;
	uint32_t cpu;
	bool open, woken; /* woken: kept if the wait's end was not seen, as in OSv's tool */
};

struct wakeups {
	struct sample_trace *trace;
	const struct time_range *range;
	int (*put)(void *arg, const struct wakeup *w);
	void *arg;
	struct hash_table waits;
};

static int wait_begin(struct wakeups *w, const struct sample *s)
{
	struct wait *x = hash_add_u64(&w->waits, s->thread, NULL);

	if (!x) {
		w->trace->refused++;
		return 0;
	}
	x->cpu = s->cpu;
	x->since_ns = s->time_ns;
	x->open = true;
	return 0;
}

static int wakeup_sample(void *wakeups, const struct sample *s)
{
	struct wakeups *w = wakeups;
	const char *name = s->tp->name;
	struct sample_arg args[SAMPLE_ARGS_MAX];
	struct wait *x;
	size_t len;

	if (strncmp(name, "sched_wa", 8))
		return 0;
	if (!strcmp(name, "sched_wait"))
		return wait_begin(w, s);
	if (!strcmp(name, "sched_wake")) {
		if (sample_args(s->tp, s->args, s->args_len, args, &len) < 1)
			return 0;
		x = hash_find_u64(&w->waits, args[0].u);
		if (x && x->open) {
			x->woken = true;
			x->wake_ns = s->time_ns;
		}
	} else if (!strcmp(name, "sched_wait_ret")) {
		x = hash_find_u64(&w->waits, s->thread);
		if (!x)
			return 0;
		bool row = x->open && x->woken && x->cpu == s->cpu &&
			   time_range_has(w->range, s->time_ns);

		x->open = x->woken = false;
		if (row)
			return w->put(w->arg, &(struct wakeup){s, x->since_ns, x->wake_ns});
	}
	return 0;
}

int wakeups_find(struct sample_trace *t, const struct time_range *range,
		 int (*put)(void *arg, const struct wakeup *w), void *arg)
{
	struct wakeups w = {.trace = t, .range = range, .put = put, .arg = arg};

	t->refused = 0;
	w.waits = HASH_TABLE(struct wait, 1, WAITS_MAX);
	int stop = sample_each(t, wakeup_sample, &w);

	hash_deinit(&w.waits);
	return stop;
}

/* ---- loads ---- */

struct loading {
	const struct cpu_load_options *opt;
	int (*put)(void *arg, uint64_t time_ns, const struct cpu_loads *loads);
	void *arg;
	struct cpu_loads loads;
};

static int load_sample(void *loading, const struct sample *s)
{
	struct loading *x = loading;
	struct cpu_loads *l = &x->loads;
	const struct cpu_load_options *o = x->opt;
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
	return time_range_has(&o->range, s->time_ns) ? x->put(x->arg, s->time_ns, l) : 0;
}

int cpu_loads_find(struct sample_trace *t, const struct cpu_load_options *opt,
		   int (*put)(void *arg, uint64_t time_ns, const struct cpu_loads *loads),
		   void *arg)
{
	_cleanup_free_ struct loading *x = calloc(1, sizeof(*x));

	if (!x)
		return fail(-ENOMEM, "out of memory");
	x->opt = opt;
	x->put = put;
	x->arg = arg;
	return sample_each(t, load_sample, x);
}
