// SPDX-License-Identifier: GPL-2.0-or-later
/* hostrace as a child: the program that runs, with another command line. */
#include "commands/common/self_run.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/process.h"
#include "commands/common/command.h"

static size_t words_count(char *const *words)
{
	size_t nr = 0;

	while (words && words[nr])
		nr++;
	return nr;
}

int self_run(char *const *words, char *const *rest)
{
	size_t nr = words_count(words), nr_rest = words_count(rest);
	_cleanup_free_ char **argv = calloc(nr + nr_rest + 2, sizeof(*argv));
	char self[PATH_MAX];
	int status;
	pid_t pid;

	if (!argv)
		return fail(-ENOMEM, "out of memory");
	argv[0] = self_path(self);
	memcpy(argv + 1, words, nr * sizeof(*argv));
	if (nr_rest)
		memcpy(argv + 1 + nr, rest, nr_rest * sizeof(*argv));
	pid = process_start(argv, -1, -1, -1, SIGINT);
	if (pid < 0)
		return (int)pid;
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return fail(-errno, "waitpid: %s", strerror(errno));
	return WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_FAILED;
}
