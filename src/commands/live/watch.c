// SPDX-License-Identifier: GPL-2.0-or-later
/* What commands share that count in the kernel until they are told to end: their signals, their confinement. */
#include "commands/live/watch.h"

#include <errno.h>
#include <signal.h>
#include <sys/signalfd.h>

#include "base/error.h"
#include "base/temporary.h"
#include "collector/collector.h"

int watch_signals_open(void)
{
	sigset_t set;

	temporary_pause();
	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	sigprocmask(SIG_BLOCK, &set, NULL);
	return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
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
