// SPDX-License-Identifier: GPL-2.0-or-later
/* Traces that come through a pipe, until its end or ^C. */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/units.h"
#include "input/input_set.h"

enum {
	COPY_BYTES = 64 * 1024,
	PIPE_BYTES_MAX = 1 << 20, /* /proc/sys/fs/pipe-max-size */
};

/* -1: the path names no descriptor of this process. */
static int descriptor_of(const char *path)
{
	static const char *const folders[] = {"/dev/fd/", "/proc/self/fd/"};
	uint64_t fd;

	if (!strcmp(path, "/dev/stdin"))
		return STDIN_FILENO;
	for (size_t i = 0; i < sizeof(folders) / sizeof(*folders); i++) {
		size_t len = strlen(folders[i]);

		if (!strncmp(path, folders[i], len) && !parse_u64(path + len, &fd) && fd <= INT_MAX)
			return (int)fd;
	}
	return -1;
}

/* The descriptor becomes readable when SIGINT comes, which no longer ends the process. */
static int interrupt_open(sigset_t *ret_before)
{
	sigset_t interrupt;

	sigemptyset(&interrupt);
	sigaddset(&interrupt, SIGINT);
	sigprocmask(SIG_BLOCK, &interrupt, ret_before);
	return signalfd(-1, &interrupt, SFD_CLOEXEC);
}

/* Another one ends the process again, and one that has come meanwhile does so now. */
static void interrupt_close(int fd, const sigset_t *before)
{
	if (fd >= 0)
		close(fd);
	sigprocmask(SIG_SETMASK, before, NULL);
}

/*
 * As read(2); after SIGINT, only what is there, and at most as much as a pipe holds: programs that write for ever, as
 * cat trace_pipe, are ended by ^C, which all of a pipeline get. *left: bytes from SIGINT on, PIPE_BYTES_MAX before.
 */
static ssize_t read_until_interrupt(int fd, int interrupt, void *buf, size_t size, uint64_t *left)
{
	struct pollfd p[] = {{.fd = fd, .events = POLLIN}, {.fd = interrupt, .events = POLLIN}};
	struct signalfd_siginfo taken;
	ssize_t n;

	if (poll(p, 2, *left < PIPE_BYTES_MAX ? 0 : -1) < 0)
		return -1;
	if (p[1].revents & POLLIN && read(interrupt, &taken, sizeof(taken)) == sizeof(taken))
		*left = PIPE_BYTES_MAX - 1;
	if (*left < PIPE_BYTES_MAX && !p[0].revents)
		return 0;
	n = read(fd, buf, size < *left ? size : *left);
	if (*left < PIPE_BYTES_MAX && n > 0)
		*left -= (uint64_t)n;
	return n;
}

static int copy_bytes(const char *path, int fd, int interrupt, FILE *to, uint64_t max_bytes)
{
	uint64_t sum = 0, left = PIPE_BYTES_MAX;
	char buf[COPY_BYTES];
	ssize_t n;

	while ((n = read_until_interrupt(fd, interrupt, buf, sizeof(buf), &left)) != 0) {
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return fail(-errno, "%s: %s", path, strerror(errno));
		sum += (uint64_t)n;
		if (sum > max_bytes)
			return fail_hint(fail(-EFBIG,
					      "%s: more than %" PRIu64
					      " bytes are not read from a pipe",
					      path, max_bytes),
					 "write the trace to a file and name the file");
		if (fwrite(buf, 1, (size_t)n, to) != (size_t)n)
			break;
	}
	if (!ferror(to) && !fflush(to))
		return 0;
	return fail_hint(fail(-errno, "%s: cannot copy the pipe to a temporary file in %s: %s",
			      path, P_tmpdir, strerror(errno)),
			 "write the trace to a file and name the file");
}

static int copy(const char *path, int fd, FILE *to, uint64_t max_bytes)
{
	sigset_t before;
	int interrupt = interrupt_open(&before), err;

	err = copy_bytes(path, fd, interrupt, to, max_bytes);
	interrupt_close(interrupt, &before);
	return err;
}

int input_spool(const char **path, uint64_t max_bytes)
{
	_cleanup_fclose_ FILE *f = NULL;
	struct stat st;
	int fd, err;

	if (!strcmp(*path, "-"))
		*path = "/dev/stdin";
	if (stat(*path, &st) || !(S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode)))
		return 0; /* what is wrong with it, its reader reports */
	fd = descriptor_of(*path);
	if (fd < 0)
		return fail_hint(fail(-EINVAL, "%s is a named pipe or a socket", *path),
				 "read it as standard input: -i - < %s", *path);
	f = tmpfile();
	if (!f)
		return fail(-errno, "%s: no temporary file in %s: %s", *path, P_tmpdir,
			    strerror(errno));
	err = copy(*path, fd, f, max_bytes);
	if (!err && dup2(fileno(f), fd) < 0)
		err = fail(-errno, "%s: %s", *path, strerror(errno));
	return err;
}
