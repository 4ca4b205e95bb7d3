// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Which handlers of an event loop its time goes into, from call stacks (sched_stack): while it runs, by samples; while
 * it sleeps in a handler, by the time until it runs again.
 */

#include "analyzers/sched/internal.h"
#include "base/array.h"
#include "event/records.h"

enum { STACK_BYTES = 1024, HANDLERS_MAX = 1 << 16, NAMES = 3 };

struct handler_entry {
	const char *key; /* number of the thread, name: sched_handler.name is a part of it */
	struct sched_handler *handler;
};

/* They call handlers, or are called by nobody: a coroutine's stack ends in its first function. */
static bool is_dispatcher(const char *name, size_t len)
{
	static const char *const names[] = {
		"main",		    "qemu_main_loop",	    "qemu_default_main",
		"main_loop_wait",   "aio_poll",		    "aio_dispatch",
		"aio_bh_poll",	    "aio_bh_call",	    "timerlist_run_timers",
		"g_main_loop_run",  "g_main_context_dispatch", "g_main_context_iteration",
		"start_thread",	    "clone3",		    "clone",
		"_start",	    "__libc_start_main",    "coroutine_trampoline",
		"__libc_start_call_main", "qemu_clock_run_timers", "qemu_clock_run_all_timers",
	};

	return array_any(sizeof(names) / sizeof(names[0]), i,
			 strlen(names[i]) == len && !memcmp(names[i], name, len));
}

/*
 * The outermost three functions within the innermost dispatcher, innermost first, without those that have no name: the
 * handler, and enough of what it calls to tell a monitor's commands or a bus's devices apart.
 */
static void handler_name(const char *stack, char *buf, size_t size)
{
	const char *end = stack + strlen(stack), *name[NAMES] = {NULL};
	size_t len = 0;

	for (const char *at = stack; at < end; at += strcspn(at, ";") + 1) {
		size_t here = strcspn(at, ";");

		if (memchr(at, '+', here)) /* FILE+0xOFFSET: a static function in a stripped file */
			continue;
		if (is_dispatcher(at, here))
			break;
		memmove(name + 1, name, sizeof(name) - sizeof(*name));
		name[0] = at;
	}
	snprintf(buf, size, "unknown");
	for (unsigned int i = NAMES; i-- > 0 && len < size;)
		if (name[i])
			len += (size_t)snprintf(buf + len, size - len, "%s%.*s", len ? ";" : "",
						(int)strcspn(name[i], ";"), name[i]);
}

static struct sched_handler *handler_get(struct sched *s, struct follow *t, const char *stack)
{
	char name[256], key[sizeof(name) + 16];
	struct handler_entry *e;

	handler_name(stack, name, sizeof(name));
	snprintf(key, sizeof(key), "%u %s", t->model.number, name);
	e = hash_find_text(&s->handlers, key);
	if (e)
		return e->handler;

	struct sched_handler *h = calloc(1, sizeof(*h));
	char *copy = strdup(key), *example = strdup(stack);

	e = h && copy && example ? hash_add_text(&s->handlers, copy, NULL) : NULL;
	if (!e) {
		s->counts.refused++;
		free(h);
		free(copy);
		free(example);
		return NULL;
	}
	e->handler = h;
	h->thread = &t->t;
	h->name = strchr(copy, ' ') + 1;
	h->stack = example;
	return h;
}

void handlers_event(struct sched *s, struct follow *t, const struct event *ev)
{
	RECORD(sched_stack, r, ev);
	char text[STACK_BYTES];
	struct sched_handler *h;

	RECORD_TEXT(r, stack, text);
	h = handler_get(s, t, text);
	if (!h)
		return;
	if (r->sampled) {
		h->samples++;
		t->t.samples++;
		return;
	}
	t->handler = h;
}

static int by_time(const void *a, const void *b)
{
	const struct sched_handler *const *x = a, *const *y = b;
	uint64_t p = sched_handler_ns(*x), q = sched_handler_ns(*y);

	if (p != q)
		return p > q ? -1 : 1;
	if ((*x)->thread != (*y)->thread)
		return (*x)->thread->number < (*y)->thread->number ? -1 : 1;
	return strcmp((*x)->name, (*y)->name);
}

const struct sched_handler **sched_handlers(const struct sched *s, size_t *ret_nr)
{
	const struct sched_handler **all = malloc((s->handlers.nr + 1) * sizeof(*all));
	const struct handler_entry *e;
	size_t nr = 0;

	for (uint32_t at = 0; all && (e = hash_next(&s->handlers, &at));)
		all[nr++] = e->handler;
	if (nr)
		qsort(all, nr, sizeof(*all), by_time);
	*ret_nr = nr;
	return all;
}

uint64_t sched_handler_run_ns(const struct sched_handler *h)
{
	uint64_t all = h->thread->samples;

	return all ? (uint64_t)((unsigned __int128)h->thread->time[SCHED_RUNS] * h->samples / all)
		   : 0;
}

uint64_t sched_handler_ns(const struct sched_handler *h)
{
	return sched_handler_run_ns(h) + h->slept_ns;
}

void handlers_init(struct sched *s)
{
	s->handlers = HASH_TABLE_OF_TEXTS(struct handler_entry, HANDLERS_MAX);
}

void handlers_deinit(struct sched *s)
{
	const struct handler_entry *e;

	for (uint32_t at = 0; (e = hash_next(&s->handlers, &at));) {
		free((char *)e->key);
		free((char *)e->handler->stack);
		free(e->handler);
	}
	hash_deinit(&s->handlers);
}
