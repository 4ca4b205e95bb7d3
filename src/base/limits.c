// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Limits of the process that are too low to work with: open files are raised to the hard limit; a small stack is
 * replaced by one of our own (makecontext(3)) in the same thread, since privileges are given up by thread.
 */
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <ucontext.h>

#include "base/error.h"
#include "base/limits.h"

enum { STACK_MIN = 1 << 20, STACK_BYTES = 8 << 20 };
enum { STACKS_BYTES = 32 * STACK_BYTES }; /* of all threads; with less memory one may not start (EAGAIN) */

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

/* ---- which one was too low ---- */

static uint64_t limit_now(int which)
{
	struct rlimit now;

	return getrlimit(which, &now) || now.rlim_cur == RLIM_INFINITY ? UINT64_MAX : now.rlim_cur;
}

/* The lower one of the two. */
static bool memory_limit(uint64_t below, char *buf, size_t size)
{
	uint64_t space = limit_now(RLIMIT_AS), data = limit_now(RLIMIT_DATA);

	if (space >= below && data >= below)
		return false;
	if (space <= data)
		snprintf(buf, size,
			 "the limit of the address space is %" PRIu64
			 " KiB (ulimit -v, LimitAS= of systemd)", space / 1024);
	else
		snprintf(buf, size,
			 "the limit of data is %" PRIu64 " KiB (ulimit -d, LimitDATA= of systemd)",
			 data / 1024);
	return true;
}

const char *limits_of_error(int err, char *buf, size_t size)
{
	uint64_t files = limit_now(RLIMIT_NOFILE), processes = limit_now(RLIMIT_NPROC);

	*buf = 0;
	if (err == -EMFILE)
		snprintf(buf, size, "the limit of open files is %" PRIu64
			 " (ulimit -n, LimitNOFILE= of systemd)", files);
	else if (err == -ENOMEM)
		memory_limit(UINT64_MAX, buf, size);
	else if (err == -EAGAIN && !memory_limit(STACKS_BYTES, buf, size) &&
		 processes != UINT64_MAX)
		snprintf(buf, size,
			 "the limit of processes and threads is %" PRIu64
			 " (ulimit -u, LimitNPROC= of systemd)", processes);
	return buf;
}

int limits_memory_check(unsigned int mib)
{
	size_t bytes = (size_t)mib << 20;
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (p == MAP_FAILED)
		return fail(-ENOMEM, "out of memory: less than the %u MiB that hostrace needs for "
				     "the kernel's type information", mib);
	munmap(p, bytes);
	return 0;
}

/* ---- the stack ---- */

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
