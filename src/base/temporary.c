// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Files with a temporary name, and directories made for them, which are deleted if SIGINT, SIGTERM, SIGHUP or SIGQUIT
 * ends the process. A signal that the process ignores, blocks or handles itself when the first file is added deletes
 * nothing.
 *
 * A thread that waits for a file system which does not answer runs no handler: the kernel ends such a wait at most for
 * a signal whose action is the default one. So another thread takes the signals. It has the main thread stand still and
 * a third one delete the files; after PATIENCE_S it ends the process in any case.
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/temporary.h"

enum {
	NR_PATHS = 8,
	PATIENCE_S = 2,
	STACK_BYTES = 256 << 10,
	TO_THREAD = SIGURG, /* ends the watch, or has the main thread stand still; by default without effect */
};

/* Signals belong to the process. */
struct temporaries {
	_Atomic(const char *) path[NR_PATHS];
	_Atomic(void (*)(void)) before_end;
	pid_t pid, watched; /* watched: where the thread is, which a child of fork() lacks */
	pthread_t main, watch;
	sigset_t taken;
	sem_t stands, deleted;
};

static struct temporaries *temporaries(void)
{
	static struct temporaries process_wide;

	return &process_wide;
}

void temporary_delete_all(void)
{
	struct temporaries *t = temporaries();

	for (int i = 0; i < 2 * NR_PATHS && getpid() == t->pid; i++) { /* not in a child */
		const char *path = atomic_load(&t->path[i % NR_PATHS]);

		if (path)
			i < NR_PATHS ? unlink(path) : rmdir(path);
	}
}

static void end_prepare(void)
{
	void (*act)(void) = atomic_load(&temporaries()->before_end);

	if (act)
		act();
	temporary_delete_all();
}

static void delete_and_end(int nr)
{
	end_prepare();
	signal(nr, SIG_DFL);
	raise(nr); /* once the handler has returned */
}

static const int ending[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};

#define NR_ENDING (sizeof(ending) / sizeof(*ending))

static void signals_handle(void)
{
	for (size_t i = 0; i < NR_ENDING; i++) {
		struct sigaction sa = {.sa_flags = SA_RESTART}, old;

		sa.sa_handler = delete_and_end;
		if (!sigaction(ending[i], NULL, &old) && old.sa_handler == SIG_DFL)
			sigaction(ending[i], &sa, NULL);
	}
}

void temporary_before_end(void (*act)(void))
{
	atomic_store(&temporaries()->before_end, act);
	if (act)
		signals_handle();
}

/* ---- the thread that takes the signals ---- */

/* The paths do not change any more. */
static void stand_still(int nr)
{
	(void)nr;
	sem_post(&temporaries()->stands);
	for (;;)
		poll(NULL, 0, -1);
}

static void *files_delete(void *arg)
{
	struct temporaries *t = arg;

	pthread_kill(t->main, TO_THREAD);
	while (sem_wait(&t->stands))
		;
	end_prepare();
	sem_post(&t->deleted);
	return NULL;
}

static int thread_start(void *(*run)(void *), struct temporaries *t, pthread_t *ret)
{
	pthread_attr_t attr;
	sigset_t all, before;
	int err;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK_BYTES);
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &before);
	err = pthread_create(ret, &attr, run, t);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attr);
	return err;
}

static bool are_deleted(struct temporaries *t)
{
	struct timespec until;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += PATIENCE_S;
	while (sem_clockwait(&t->deleted, CLOCK_MONOTONIC, &until))
		if (errno != EINTR)
			return false;
	return true;
}

static void no_answer_print(const struct temporaries *t)
{
	const char *path = NULL;

	for (size_t i = 0; i < NR_PATHS && !path; i++)
		path = atomic_load(&t->path[i]);
	dprintf(STDERR_FILENO,
		"hostrace: interrupted: the file system of %s does not answer; that file may be "
		"left, and this process cannot end before, if the kernel waits: then end the file "
		"system's server or use 'umount -f'\n",
		path ? path : "an output");
}

/* By the signal's default action: no thread has to return from the kernel for it. */
static void end_by(struct temporaries *t, int nr)
{
	struct sigaction still = {.sa_handler = stand_still};
	pthread_t deleting;
	sigset_t only;

	sigaction(TO_THREAD, &still, NULL);
	if (thread_start(files_delete, t, &deleting))
		end_prepare();
	else if (!are_deleted(t))
		no_answer_print(t);
	sigemptyset(&only);
	sigaddset(&only, nr);
	signal(nr, SIG_DFL);
	pthread_sigmask(SIG_UNBLOCK, &only, NULL);
	raise(nr);
}

static void *signals_take(void *arg)
{
	struct temporaries *t = arg;
	sigset_t set = t->taken;
	int nr;

	sigaddset(&set, TO_THREAD);
	while (sigwait(&set, &nr))
		;
	if (nr != TO_THREAD)
		end_by(t, nr);
	return NULL;
}

static void taken_unblock(void)
{
	pthread_sigmask(SIG_UNBLOCK, &temporaries()->taken, NULL);
}

static void taken_find(sigset_t *ret)
{
	struct sigaction now;
	sigset_t blocked;

	sigemptyset(ret);
	pthread_sigmask(SIG_BLOCK, NULL, &blocked);
	for (size_t i = 0; i < NR_ENDING; i++)
		if (!sigismember(&blocked, ending[i]) && !sigaction(ending[i], NULL, &now) &&
		    now.sa_handler == delete_and_end)
			sigaddset(ret, ending[i]);
}

/* Of a child, as a program that it starts, the signals are not blocked. */
static void watch_start(struct temporaries *t)
{
	pthread_sigmask(SIG_BLOCK, &t->taken, NULL);
	if (thread_start(signals_take, t, &t->watch))
		taken_unblock();
	else
		t->watched = getpid();
}

static void watch_prepare(struct temporaries *t)
{
	taken_find(&t->taken);
	t->main = pthread_self();
	sem_init(&t->stands, 0, 0);
	sem_init(&t->deleted, 0, 0);
	if (!pthread_atfork(NULL, NULL, taken_unblock))
		watch_start(t);
}

bool temporary_pause(void)
{
	struct temporaries *t = temporaries();

	if (t->watched != getpid())
		return false;
	pthread_kill(t->watch, TO_THREAD);
	pthread_join(t->watch, NULL);
	t->watched = 0;
	taken_unblock();
	return true;
}

void temporary_resume(void)
{
	struct temporaries *t = temporaries();

	if (t->watched != getpid())
		watch_start(t);
}

/* ---- the paths ---- */

static void replace(const char *from, const char *to)
{
	struct temporaries *t = temporaries();

	for (int i = 0; i < NR_PATHS; i++) {
		const char *expected = from;

		if (atomic_compare_exchange_strong(&t->path[i], &expected, to))
			return;
	}
}

void temporary_add(const char *path)
{
	struct temporaries *t = temporaries();

	t->pid = getpid();
	signals_handle();
	replace(NULL, path);
	if (t->watched != getpid())
		watch_prepare(t);
}

void temporary_remove(const char *path)
{
	if (path)
		replace(path, NULL);
}
