// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <string.h>

#include "analyzers/profile/wakeups.h"
#include "base/error.h"
#include "base/hash.h"

enum { WAITS_MAX = 1 << 20 };

/* A thread that waits, and its latest wakeup. */
struct wait {
	uint64_t thread, since_ns, wake_ns;
	uint32_t cpu;
	bool open, woken; /* woken: kept if the wait's end was not seen, as in OSv's tool */
};

static int wait_begin(struct hash_table *waits, const struct sample *s)
{
	struct wait *x = hash_add_u64(waits, s->thread, NULL);

	if (!x)
		return fail(-E2BIG, "more than %d threads", WAITS_MAX);
	x->cpu = s->cpu;
	x->since_ns = s->time_ns;
	x->open = true;
	return 0;
}

struct wakeups {
	const struct time_range *range;
	int (*put)(void *arg, const struct wakeup *w);
	void *arg;
	struct hash_table waits;
};

static int wakeup_sample(struct wakeups *w, const struct sample *s)
{
	const char *name = s->tp->name;
	struct sample_arg args[SAMPLE_ARGS_MAX];
	struct wait *x;
	size_t len;

	if (strncmp(name, "sched_wa", 8))
		return 0;
	if (!strcmp(name, "sched_wait"))
		return wait_begin(&w->waits, s);
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
	struct wakeups w = {.range = range, .put = put, .arg = arg};
	struct sample s;
	int r, stop = 0;

	w.waits = HASH_TABLE(struct wait, 1, WAITS_MAX);
	sample_rewind(t);
	while (!stop && (r = sample_next(t, &s)) != 0)
		stop = r < 0 ? r : wakeup_sample(&w, &s);
	hash_deinit(&w.waits);
	return stop;
}
