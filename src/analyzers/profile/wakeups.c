// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyzers/profile/wakeups.h"
#include "base/error.h"

enum { WAITS_MAX = 1 << 20 };

/* A thread that waits, and the newest wake-up meant for it. */
struct wait {
	uint64_t thread, since_ns, wake_ns;
	uint32_t cpu;
	bool used, open, woken; /* woken: stays if the wait's end was not seen, as in OSv's tool */
};

struct waits {
	struct wait *wait; /* open-addressed by thread; a thread keeps its slot */
	uint32_t nr, mask;
};

static struct wait *wait_of(struct waits *w, uint64_t thread)
{
	uint32_t h = (uint32_t)((thread * 0x9e3779b97f4a7c15ull) >> 40);

	while (w->wait[h & w->mask].used && w->wait[h & w->mask].thread != thread)
		h++;
	return &w->wait[h & w->mask];
}

static int waits_room(struct waits *w)
{
	struct waits more = {.mask = w->mask ? w->mask * 2 + 1 : 1023, .nr = w->nr};

	if (w->mask && w->nr * 2 < w->mask)
		return 0;
	if (w->nr >= WAITS_MAX)
		return fail(-E2BIG, "more than %d threads", WAITS_MAX);
	more.wait = calloc(more.mask + 1u, sizeof(*more.wait));
	if (!more.wait)
		return fail(-ENOMEM, "out of memory");
	for (uint32_t i = 0; w->mask && i <= w->mask; i++)
		if (w->wait[i].used)
			*wait_of(&more, w->wait[i].thread) = w->wait[i];
	free(w->wait);
	*w = more;
	return 0;
}

static int wait_begin(struct waits *w, const struct sample *s)
{
	int err = waits_room(w);

	if (err)
		return err;
	struct wait *x = wait_of(w, s->thread);

	w->nr += !x->used;
	*x = (struct wait){.thread = s->thread,
			   .cpu = s->cpu,
			   .used = true,
			   .open = true,
			   .since_ns = s->time_ns,
			   .wake_ns = x->wake_ns,
			   .woken = x->woken};
	return 0;
}

struct wakeups {
	const struct time_range *range;
	int (*put)(void *arg, const struct wakeup *w);
	void *arg;
	struct waits waits;
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
	if (!w->waits.mask)
		return 0;
	if (!strcmp(name, "sched_wake")) {
		if (sample_args(s->tp, s->args, s->args_len, args, &len) < 1)
			return 0;
		x = wait_of(&w->waits, args[0].u);
		if (x->open) {
			x->woken = true;
			x->wake_ns = s->time_ns;
		}
	} else if (!strcmp(name, "sched_wait_ret")) {
		x = wait_of(&w->waits, s->thread);
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

	sample_rewind(t);
	while (!stop && (r = sample_next(t, &s)) != 0)
		stop = r < 0 ? r : wakeup_sample(&w, &s);
	free(w.waits.wait);
	return stop;
}
