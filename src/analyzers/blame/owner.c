// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The owners of QEMU's global mutex over time, as far as events show them:
 *
 *	a thread leaves the CPU	the mutex's own word, in sched_block: its owner, or that it is free
 *	a sleeper is woken	by a thread of the VM: the mutex was released, and is free until the sleeper runs
 *	the sleeper runs	it takes the mutex, unless its owner has left the CPU with it
 *
 * With record --exact the lock's functions are probed, and who is woken does not count as the owner until it has it.
 *
 * A mutex that somebody sleeps on is always released with a wake-up (glibc's word is 2 then), so the second one shows
 * every release that matters. That another thread takes it before the woken one runs is seen when the latter sleeps
 * again.
 */
#include "analyzers/blame/internal.h"

/*
 * Those who sleep on the mutex account for the time until now; `reader` does not, see owner_read(). Each event of an
 * owner costs time for each of them: of those beyond a limit it is only known that they wait.
 */
static void waiters_cut(struct blame *b, const struct machine *vm, const struct thread *reader,
			uint64_t ns)
{
	unsigned int nr = 0;

	for (unsigned int i = 0; i < vm->nr_vcpus; i++) {
		struct thread *t = vm->vcpu[i];

		if (t == reader || t->is_crowded || !sleeps_on_global(t))
			continue;
		if (nr++ < BLAME_WAITERS_MAX) {
			part_cut(b, t, ns);
			continue;
		}
		t->is_crowded = true;
		b->counts.crowded++;
	}
}

static bool owner_is(const struct owner *a, const struct owner *b)
{
	return a->state == b->state && a->thread == b->thread;
}

/* A new hold: what the thread did in an earlier one says nothing. */
static void owner_becomes(struct machine *vm, struct owner owner)
{
	if (owner.thread && !owner_is(&vm->owner, &owner))
		owner.thread->stack = 0;
	vm->owner = owner;
}

void owner_set(struct blame *b, struct machine *vm, struct owner owner, uint64_t ns)
{
	if (!owner_is(&vm->owner, &owner))
		waiters_cut(b, vm, NULL, ns);
	owner_becomes(vm, owner);
}

/* A thread that does not run releases nothing: it took the mutex again before the woken one ran. */
static bool owner_has_left(const struct owner *o)
{
	return o->state == OWNER_HELD && o->thread &&
	       o->thread->model.state != THREAD_RUNNING && o->thread->model.state != THREAD_UNKNOWN;
}

void owner_woken_runs(struct blame *b, struct thread *t, uint64_t ns)
{
	if (!b->exact && !owner_has_left(&t->vm->owner))
		owner_set(b, t->vm, (struct owner){OWNER_HELD, t, t->ns_tid}, ns);
}

void owner_changes(struct blame *b, struct thread *t, uint64_t ns)
{
	if (t->vm && t->vm->owner.thread == t)
		waiters_cut(b, t->vm, NULL, ns);
}

void owner_learn(struct blame *b, struct thread *t, uint64_t pid_key, uint32_t ns_tid)
{
	struct ns_entry *e;

	if (!ns_tid || t->ns_tid == ns_tid)
		return;
	t->ns_tid = ns_tid;
	t->vm->namespaced |= ns_tid != t->model.tid;
	e = hash_add_words(&b->ns_tids, (uint64_t[]){pid_key, ns_tid}, NULL);
	if (e)
		e->thread = t;
}

static struct thread *owner_thread(const struct blame *b, const struct machine *vm,
				   uint64_t pid_key, uint32_t ns_tid)
{
	const struct ns_entry *e = hash_find_words(&b->ns_tids, (uint64_t[]){pid_key, ns_tid});
	struct thread *same;

	if (e)
		return e->thread;
	same = vm->namespaced
		       ? NULL
		       : (struct thread *)model_thread_find(&b->model, (uint16_t)(pid_key >> 32),
							    ns_tid);
	return same && same->vm == vm ? same : NULL;
}

void owner_read(struct blame *b, struct thread *t, uint64_t pid_key, uint32_t word, uint32_t owner,
		uint64_t ns)
{
	struct owner now = {.state = OWNER_FREE};

	if (word == UINT32_MAX)
		return; /* not read */
	if (owner) {
		now.state = OWNER_HELD;
		now.thread = owner_thread(b, t->vm, pid_key, owner);
		now.ns_tid = owner;
	} else if (t->vm->owner.state == OWNER_FREE) {
		return; /* still: who was woken for it is known */
	}
	if (!owner_is(&t->vm->owner, &now))
		waiters_cut(b, t->vm, t, ns); /* for the thread itself it was so when it left the CPU */
	owner_becomes(t->vm, now);
}

/* record --exact: the mutex was taken, or is released now. */
void owner_event(struct blame *b, struct thread *t, const struct event *ev)
{
	struct owner now = {.state = OWNER_FREE};

	b->exact = true;
	if (ev->type->id == EV_bql_locked)
		now = (struct owner){OWNER_HELD, t, t->ns_tid};
	else if (t->vm->owner.state == OWNER_FREE)
		return; /* still: who was woken for it is known */
	owner_set(b, t->vm, now, ev->time_ns);
}
