// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Child processes with given descriptors as their standard streams. Installed files are found relative to
 * /proc/self/exe, so that a build directory works without being installed.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/error.h"
#include "base/process.h"

char *self_path(char *buf)
{
	ssize_t len = readlink("/proc/self/exe", buf, PATH_MAX - 1);

	buf[len > 0 ? len : 0] = '\0';
	return buf;
}

int installed_file_find(const char *name, char *path, size_t size)
{
	static const char *const places[] = {"", "../libexec/hostrace/"};
	const char *given = secure_getenv("HOSTRACE_LIBEXEC");
	char self[PATH_MAX], *slash = strrchr(self_path(self), '/');

	if (given) {
		snprintf(path, size, "%s/%s", given, name);
		return access(path, R_OK) ? fail(-errno, "%s: %s", path, strerror(errno)) : 0;
	}
	for (size_t i = 0; slash && i < sizeof(places) / sizeof(*places); i++) {
		snprintf(path, size, "%.*s/%s%s", (int)(slash - self), self, places[i], name);
		if (!access(path, R_OK))
			return 0;
	}
	return fail(-ENOENT, "cannot find %s for %s; 'make' builds it", name, self);
}

static void stream_set(int fd, int as)
{
	if (fd >= 0 && fd != as)
		dup2(fd, as);
}

pid_t process_start(char *const *argv, int in, int out, int err_out, int death)
{
	pid_t parent = getpid(), pid = fork();

	if (pid < 0)
		return fail(-errno, "cannot start %s: %s", argv[0], strerror(errno));
	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, death);
	if (getppid() != parent)
		_exit(127); /* the parent died before prctl() */
	stream_set(in, STDIN_FILENO);
	stream_set(out, STDOUT_FILENO);
	stream_set(err_out, STDERR_FILENO);
	syscall(SYS_close_range, STDERR_FILENO + 1, ~0u, 0); /* also what this program inherited */
	execvp(argv[0], argv);
	dprintf(STDERR_FILENO, "%s: %s\n", argv[0], strerror(errno));
	_exit(127);
}

/* Does a word end with this number? */
static bool is_named(int fd, char *const *words)
{
	for (; words && *words; words++) {
		const char *at = *words + strlen(*words);

		while (at > *words && at[-1] >= '0' && at[-1] <= '9')
			at--;
		if (*at && atoi(at) == fd)
			return true;
	}
	return false;
}

void inherited_close(char *const *words)
{
	DIR *fds = opendir("/proc/self/fd");
	const struct dirent *at;

	while (fds && (at = readdir(fds))) {
		int fd = atoi(at->d_name), flags = fd > STDERR_FILENO ? fcntl(fd, F_GETFD) : -1;

		if (flags >= 0 && !(flags & FD_CLOEXEC) && !is_named(fd, words))
			close(fd);
	}
	if (fds)
		closedir(fds);
}

bool stop_pending(void)
{
	sigset_t set;

	return !sigpending(&set) && (sigismember(&set, SIGINT) || sigismember(&set, SIGTERM) ||
				     sigismember(&set, SIGHUP));
}

uid_t file_owner(void)
{
	static struct {
		bool known;
		uid_t uid;
	} process_wide;

	if (!process_wide.known) {
		process_wide.uid = geteuid();
		process_wide.known = true;
	}
	return process_wide.uid;
}
