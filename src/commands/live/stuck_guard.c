// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/process.h"
#include "base/units.h"
#include "commands/live/stuck_guard.h"

enum { LOOK_MS = 100 /* for a signal */ };

/* Waits until the child has closed its end. */
static int done_wait(int fd, uint64_t timeout_ns)
{
	uint64_t until_ns = monotonic_ns() + timeout_ns;
	struct pollfd p = {.fd = fd};
	char text[16];

	while (poll(&p, 1, LOOK_MS) <= 0) {
		if (stop_pending())
			return fail(-EINTR, "interrupted");
		if (monotonic_ns() >= until_ns)
			return fail(-ETIMEDOUT,
				    "the VM could not be read within %s: a file system, a swap "
				    "device or a user-space pager does not answer; try a longer "
				    "--timeout",
				    duration_print(timeout_ns, text, sizeof(text)));
	}
	return 0;
}

/* A child that ignores SIGKILL, being in an uninterruptible wait, is left behind: init reaps it. */
static int parent_wait(pid_t child, int fd, uint64_t timeout_ns, int *ret_status)
{
	int err = done_wait(fd, timeout_ns), status;

	close(fd);
	if (err) {
		kill(child, SIGKILL);
		return err;
	}
	while (waitpid(child, &status, 0) < 0)
		if (errno != EINTR)
			return fail(-errno, "waitpid: %s", strerror(errno));
	if (!WIFEXITED(status))
		return fail(-ECHILD, "the process that read the VM was ended by signal %d",
			    WTERMSIG(status));
	*ret_status = WEXITSTATUS(status);
	return 0;
}

int stuck_guard_begin(struct stuck_guard *g, uint64_t timeout_ns, int *ret_status)
{
	int ends[2];
	pid_t parent = getpid();

	if (pipe2(ends, O_CLOEXEC))
		return fail(-errno, "pipe: %s", strerror(errno));
	pid_t child = fork();

	if (child < 0) {
		close(ends[0]);
		close(ends[1]);
		return fail(-errno, "fork: %s", strerror(errno));
	}
	if (child) {
		close(ends[1]);
		return parent_wait(child, ends[0], timeout_ns, ret_status);
	}
	close(ends[0]);
	g->done = ends[1];
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	return 1;
}

void stuck_guard_done(struct stuck_guard *g)
{
	close(g->done);
}
