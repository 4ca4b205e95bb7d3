// SPDX-License-Identifier: GPL-2.0-or-later
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/types.h>
#include <unistd.h>

#include "base/temporary.h"

enum { NR_PATHS = 8 };

/* Signals belong to the process. */
struct temporaries {
	_Atomic(const char *) path[NR_PATHS];
	pid_t pid;
};

static struct temporaries *temporaries(void)
{
	static struct temporaries process_wide;

	return &process_wide;
}

void temporary_delete_all(void)
{
	struct temporaries *t = temporaries();

	for (int i = 0; i < NR_PATHS; i++) {
		const char *path = atomic_load(&t->path[i]);

		if (path && getpid() == t->pid) /* not in a child */
			unlink(path);
	}
}

static void delete_and_end(int nr)
{
	temporary_delete_all();
	signal(nr, SIG_DFL);
	raise(nr); /* once the handler has returned */
}

static void signals_handle(void)
{
	static const int nrs[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};

	for (size_t i = 0; i < sizeof(nrs) / sizeof(*nrs); i++) {
		struct sigaction sa = {.sa_flags = SA_RESTART}, old;

		sa.sa_handler = delete_and_end;
		if (!sigaction(nrs[i], NULL, &old) && old.sa_handler == SIG_DFL)
			sigaction(nrs[i], &sa, NULL);
	}
}

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
	temporaries()->pid = getpid();
	signals_handle();
	replace(NULL, path);
}

void temporary_remove(const char *path)
{
	if (path)
		replace(path, NULL);
}
