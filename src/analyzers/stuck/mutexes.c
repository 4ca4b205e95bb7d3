// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Threads that wait for a mutex, and who holds it. glibc waits for one by futex(FUTEX_WAIT) with the value 2, and keeps
 * its holder beside the word (nptl: lowlevellock.c, struct __pthread_mutex_s on x86-64); conditions, on which idle
 * threads of QEMU sleep, wait by FUTEX_WAIT_BITSET. So no symbol is needed to find them.
 */
#include <linux/futex.h>
#include <sys/syscall.h>

#include "analyzers/stuck/stuck.h"
#include "base/array.h"

enum { WORD_CONTENDED = 2 };

struct mutex_image {
	uint32_t word, count, owner;
};

static bool waits_for_mutex(const struct thread_state *t)
{
	return t->in_syscall && t->syscall == SYS_futex &&
	       (t->arg[1] & ~(uint64_t)FUTEX_PRIVATE_FLAG) == FUTEX_WAIT &&
	       t->arg[2] == WORD_CONTENDED;
}

void stuck_mutexes_read(const struct memory *m, struct stuck_look *l)
{
	for (unsigned int i = 0; i < l->nr_threads; i++) {
		struct thread_state *t = &l->thread[i];
		struct mutex_image image;

		t->mutex_owner = 0;
		if (waits_for_mutex(t) && !memory_read(m, t->arg[0], &image, sizeof(image)) &&
		    image.word == WORD_CONTENDED)
			t->mutex_owner = (pid_t)image.owner;
	}
}

/* It waits for the same mutex as at the first look, of the same thread, and did not run meanwhile. */
static bool stands(const struct stuck_report *r, const struct thread_state *t)
{
	const struct thread_state *b = stuck_thread_before(r, t->tid);

	return t->mutex_owner > 0 && b && b->mutex_owner == t->mutex_owner &&
	       b->arg[0] == t->arg[0] && b->cpu_ns == t->cpu_ns;
}

/* By its id in QEMU's own PID namespace; NULL: it has ended, or this memory is no mutex. */
static const struct thread_state *owner_of(const struct stuck_report *r,
					   const struct thread_state *t)
{
	const struct thread_state *owner = array_find(r->now->thread, r->now->nr_threads, i,
						      r->now->thread[i].ns_tid == t->mutex_owner);

	return owner != t ? owner : NULL;
}

/* Does the chain of holders end at a stopped thread? That it is stopped is the finding then, not what waits for it. */
static bool waits_for_stopped(const struct stuck_report *r, const struct thread_state *owner)
{
	for (unsigned int i = 0; owner && i < r->now->nr_threads; i++) {
		if (stuck_is_stopped(owner))
			return true;
		owner = owner_of(r, owner);
	}
	return false;
}

/* "; that one is in write of pipe:[5]"; "": it runs. */
static const char *does_print(const struct thread_state *t, char *buf, size_t size)
{
	const char *call = t->in_syscall ? syscall_name(t->syscall) : NULL;

	*buf = '\0';
	if (t->mutex_owner)
		snprintf(buf, size, "; that one waits for another mutex");
	else if (call)
		snprintf(buf, size, "; that one is in %s%s%s", call, t->file.name[0] ? " of " : "",
			 t->file.name);
	return buf;
}

static bool is_vcpu(const struct stuck_report *r, const struct thread_state *t)
{
	return array_any(r->nr_vcpus, i, r->vcpu[i].thread == t);
}

/* For the same mutex. vCPUs are apart from others: only these stop the guest. */
static bool waits_with(const struct stuck_report *r, const struct thread_state *t,
		       const struct thread_state *first)
{
	return stands(r, t) && t->arg[0] == first->arg[0] && is_vcpu(r, t) == is_vcpu(r, first);
}

static unsigned int waiting_with(const struct stuck_report *r, const struct thread_state *first)
{
	unsigned int nr = 0;

	for (unsigned int i = 0; i < r->now->nr_threads; i++)
		nr += waits_with(r, &r->now->thread[i], first);
	return nr;
}

/* It has the finding of all that wait with it. */
static bool is_first(const struct stuck_report *r, unsigned int at)
{
	const struct thread_state *t = r->now->thread;

	return !array_any(at, i, waits_with(r, &t[i], &t[at]));
}

/* Where its stack is known: the functions that take the global mutex, before and since QEMU 9.0. */
static bool is_global(const struct thread_state *t)
{
	return strstr(t->user_stack, "qemu_mutex_lock_iothread") ||
	       strstr(t->user_stack, "bql_lock");
}

static int mutex_find(struct stuck_report *r, const struct thread_state *t,
		      const struct thread_state *owner)
{
	char waits[96], holds[96], does[STUCK_TEXT], more[48] = "";
	unsigned int nr = waiting_with(r, t);

	if (nr > 1)
		snprintf(more, sizeof(more), ", and %u other thread%s", nr - 1, nr == 2 ? "" : "s");
	return stuck_find(r, is_global(t) ? "global-mutex" : "mutex", NULL, t->tid,
			  stuck_thread_age(r, t), "%s%s: waiting for %s, which %s holds%s",
			  stuck_thread_print(r, t, waits, sizeof(waits)), more,
			  is_global(t) ? "QEMU's global mutex" : "a mutex",
			  stuck_thread_print(r, owner, holds, sizeof(holds)),
			  does_print(owner, does, sizeof(does)));
}

int stuck_mutex_findings(struct stuck_report *r)
{
	int err = 0;

	for (unsigned int i = 0; i < r->now->nr_threads && !err; i++) {
		const struct thread_state *t = &r->now->thread[i];
		const struct thread_state *owner = stands(r, t) ? owner_of(r, t) : NULL;

		if (owner && !waits_for_stopped(r, owner) && is_first(r, i))
			err = mutex_find(r, t, owner);
	}
	return err;
}
