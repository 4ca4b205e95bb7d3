// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Limits of the process that are too low to work with: open files are raised to the hard limit; a small stack is
 * replaced by one of our own (makecontext(3)) in the same thread, since privileges are given up by thread.
 */
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <ucontext.h>

#include "base/error.h"
#include "base/limits.h"

enum { STACK_MIN = 1 << 20, STACK_BYTES = 8 << 20 };

int limits_files_raise(unsigned int min)
{
	struct rlimit files;

	if (getrlimit(RLIMIT_NOFILE, &files))
		return 0;
	files.rlim_cur = files.rlim_max;
	setrlimit(RLIMIT_NOFILE, &files);
	return files.rlim_max >= min
		       ? 0
		       : fail(-EMFILE,
			      "the limit of open files is %llu, and hostrace needs %u and more: "
			      "raise it (ulimit -n, LimitNOFILE= of systemd)",
			      (unsigned long long)files.rlim_max, min);
}

int limits_files_check(unsigned int min)
{
	struct rlimit files;

	return getrlimit(RLIMIT_NOFILE, &files) || files.rlim_cur >= min ? 0
									 : limits_files_raise(min);
}

static bool stack_is_small(void)
{
	struct rlimit stack;

	return !getrlimit(RLIMIT_STACK, &stack) && stack.rlim_cur < STACK_MIN;
}

/* The default of threads is the limit as well. */
static void threads_enlarge(void)
{
	pthread_attr_t attr;

	if (pthread_attr_init(&attr))
		return;
	pthread_attr_setstacksize(&attr, STACK_BYTES);
	pthread_setattr_default_np(&attr);
	pthread_attr_destroy(&attr);
}

struct stack_call {
	int (*run)(int argc, char **argv);
	int argc, status;
	char **argv;
};

/* makecontext() passes ints only. */
static void call_run(unsigned int high, unsigned int low)
{
	struct stack_call *c = (void *)((uintptr_t)high << 32 | low);

	c->status = c->run(c->argc, c->argv);
}

/* In the same thread, since privileges are given up by thread. */
int limits_stack_run(int (*run)(int argc, char **argv), int argc, char **argv)
{
	struct stack_call call = {.run = run, .argc = argc, .argv = argv};
	ucontext_t here, there;
	void *stack;

	if (!stack_is_small() || getcontext(&there))
		return run(argc, argv);
	stack = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
	if (stack == MAP_FAILED)
		return run(argc, argv);
	threads_enlarge();
	there.uc_stack.ss_sp = stack;
	there.uc_stack.ss_size = STACK_BYTES;
	there.uc_link = &here;
	makecontext(&there, (void (*)(void))call_run, 2, (unsigned int)((uintptr_t)&call >> 32),
		    (unsigned int)(uintptr_t)&call);
	swapcontext(&here, &there);
	munmap(stack, STACK_BYTES);
	return call.status;
}
