// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A command that is recorded from its first instruction: it is forked, waits at a gate until the
 * probes are in place for its process id, and only then becomes the program.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/error.h"
#include "commands/common/command.h"
#include "commands/live/record.h"

enum { STATUS_NOT_RUN = 127 }; /* as shells have it */

static bool runnable(const char *path)
{
	struct stat st;

	return !stat(path, &st) && S_ISREG(st.st_mode) && !access(path, X_OK);
}

int program_path(const char *name, char *buf, size_t size)
{
	const char *dirs = getenv("PATH");

	if (strchr(name, '/')) {
		snprintf(buf, size, "%s", name);
		return runnable(buf) ? 0
				     : fail(-ENOENT, "cannot run %s: not an executable file", name);
	}
	for (const char *d = dirs ? dirs : "/usr/bin:/bin"; *d;) {
		size_t len = strcspn(d, ":");

		snprintf(buf, size, "%.*s/%s", (int)len, d, name);
		if (len && runnable(buf))
			return 0;
		d += len + (d[len] == ':');
	}
	return fail(-ENOENT, "cannot find '%s' in PATH", name);
}

/* In the child: the recorder's blocked signals must not be inherited. */
static void child_run(int gate, char **argv, const sigset_t *mask)
{
	char go;

	if (read(gate, &go, 1) != 1)
		_exit(STATUS_NOT_RUN); /* the recorder failed or was killed */
	close(gate);
	sigprocmask(SIG_SETMASK, mask, NULL);
	execvp(argv[0], argv);
	fprintf(stderr, "hostrace: record: cannot run %s: %s\n", argv[0], strerror(errno));
	_exit(STATUS_NOT_RUN);
}

int launch_start(char **argv, struct launch *ret)
{
	char path[4096];
	sigset_t none;
	int gate[2], err = program_path(argv[0], path, sizeof(path));

	if (err)
		return err;
	if (pipe2(gate, O_CLOEXEC))
		return fail(-errno, "pipe: %s", strerror(errno));
	sigemptyset(&none);
	ret->pid = fork();
	if (ret->pid == 0) {
		close(gate[1]);
		child_run(gate[0], argv, &none);
	}
	close(gate[0]);
	ret->gate = gate[1];
	return ret->pid > 0 ? 0 : fail(-errno, "fork: %s", strerror(errno));
}

int launch_go(struct launch *c)
{
	ssize_t n = write(c->gate, "g", 1);

	close(c->gate);
	c->gate = -1;
	return n == 1 ? 0 : fail(-EPIPE, "the command exited before it started");
}

bool launch_poll(struct launch *c)
{
	if (!c->pid || c->ended)
		return c->ended;
	c->ended = waitpid(c->pid, &c->status, WNOHANG) == c->pid;
	return c->ended;
}

void launch_close(struct launch *c)
{
	if (!c->pid || c->gate < 0)
		return;
	close(c->gate); /* it reads the end of file and leaves */
	c->gate = -1;
	waitpid(c->pid, &c->status, 0);
	c->ended = true;
}

/* Judged by its command line: a QEMU process that uses KVM. */
static bool kvm_asked(char **argv)
{
	for (; *argv; argv++)
		if (!strcmp(*argv, "-enable-kvm") || !strncmp(*argv, "kvm", 3) ||
		    strstr(*argv, "accel=kvm"))
			return true;
	return false;
}

int launch_vm(const struct launch *c, char **argv, struct vm *ret)
{
	char path[4096];
	const char *base;
	int err = program_path(argv[0], path, sizeof(path));

	if (err)
		return err;
	base = strrchr(path, '/');
	*ret = (struct vm){
		.pid = c->pid,
		.has_kvm = kvm_asked(argv + 1),
		.name = strdup(base ? base + 1 : path),
		.exe = strdup(path),
		.exe_open = strdup(path),
		.cmdline = strdup(argv[0]),
		.machine = strdup(""),
		.accel = strdup(""),
		.version = strdup(""),
		.build_id = strdup(""),
	};
	return 0;
}
