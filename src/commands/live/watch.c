// SPDX-License-Identifier: GPL-2.0-or-later
/* What commands share that count in the kernel until they are told to end: their signals, their confinement. */
#include "commands/live/watch.h"

#include <errno.h>
#include <signal.h>
#include <sys/signalfd.h>

#include "base/error.h"
#include "base/temporary.h"
#include "collector/collector.h"

static const int ending[] = {SIGINT, SIGTERM, SIGHUP};

#define NR_ENDING (sizeof(ending) / sizeof(*ending))

static sigset_t ending_set(void)
{
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < NR_ENDING; i++)
		sigaddset(&set, ending[i]);
	return set;
}

int watch_signals_open(void)
{
	sigset_t set = ending_set();

	temporary_pause();
	sigprocmask(SIG_BLOCK, &set, NULL);
	return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

/* ---- while something is written ---- */

enum { LAST_SIGNAL = 3 }; /* as of record; timeout(1) sends its signal twice */

struct kept {
	volatile sig_atomic_t nr, count;
};

/* The first signal that came, and how many did. */
static struct kept *signals_kept(void)
{
	static struct kept process_wide;

	return &process_wide;
}

static void first_keep(int nr)
{
	struct kept *k = signals_kept();

	k->nr = k->nr ?: nr;
	k->count++;
	if (k->count < LAST_SIGNAL)
		return;
	temporary_delete_all();
	signal(nr, SIG_DFL);
	raise(nr); /* once the handler has returned */
}

static void ending_handle(void (*handler)(int))
{
	for (size_t i = 0; i < NR_ENDING; i++) {
		struct sigaction sa = {.sa_flags = SA_RESTART}, old;

		sa.sa_handler = handler;
		if (!sigaction(ending[i], NULL, &old) && old.sa_handler != SIG_IGN)
			sigaction(ending[i], &sa, NULL);
	}
}

void watch_writing_begin(void)
{
	sigset_t set = ending_set();

	ending_handle(first_keep);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
}

void watch_writing_end(void)
{
	sigset_t set = ending_set();

	sigprocmask(SIG_BLOCK, &set, NULL);
	ending_handle(SIG_DFL);
	if (signals_kept()->nr)
		raise(signals_kept()->nr); /* for the signalfd */
	*signals_kept() = (struct kept){0};
}

int watch_confine(const struct output *out, struct confine_paths *paths, bool looks)
{
	const char *path = out->new_file.path;
	struct confinement c = {.phase = looks ? CONFINE_WATCH : CONFINE_DRAIN,
				.keep = looks ? CAPS_KEPT_TO_LOOK : 0,
				.paths = path ? paths : NULL};
	int err = 0;

	if (!paths)
		return fail(-ENOMEM, "out of memory");
	if (path)
		err = confine_paths_write(paths, path, false);
	return err ? err : confine(&c);
}
