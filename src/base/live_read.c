// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A pipe and the signal are polled together. A file is always readable: at its end the lock is looked at that its
 * writer holds (base/growing_file.h), a few times a second.
 */
#include "base/live_read.h"
#include "base/temporary.h"

#include <errno.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	PIPE_BYTES_MAX = 1 << 20, /* /proc/sys/fs/pipe-max-size */
	LOOK_MS = 100,
};

void live_read_begin(struct live_read *r, int fd)
{
	sigset_t interrupt;
	struct stat st;

	*r = (struct live_read){.fd = fd,
				.is_file = !fstat(fd, &st) && S_ISREG(st.st_mode),
				.left = PIPE_BYTES_MAX};
	r->watched = temporary_pause();
	sigemptyset(&interrupt);
	sigaddset(&interrupt, SIGINT);
	sigprocmask(SIG_BLOCK, &interrupt, &r->before);
	r->interrupt = signalfd(-1, &interrupt, SFD_CLOEXEC);
}

void live_read_end(struct live_read *r)
{
	if (r->interrupt >= 0)
		close(r->interrupt);
	r->interrupt = -1;
	sigprocmask(SIG_SETMASK, &r->before, NULL);
	if (r->watched)
		temporary_resume();
	r->watched = false;
}

static bool is_interrupted(const struct live_read *r)
{
	return r->left < PIPE_BYTES_MAX;
}

static ssize_t read_once(struct live_read *r, void *buf, size_t size)
{
	struct pollfd p[] = {{.fd = r->fd, .events = POLLIN},
			     {.fd = r->interrupt, .events = POLLIN}};
	struct signalfd_siginfo taken;
	ssize_t n;

	if (poll(p, 2, is_interrupted(r) ? 0 : -1) < 0)
		return -1;
	if (p[1].revents & POLLIN && read(r->interrupt, &taken, sizeof(taken)) == sizeof(taken))
		r->left = PIPE_BYTES_MAX - 1;
	if (is_interrupted(r) && !p[0].revents)
		return 0;
	n = read(r->fd, buf, size < r->left ? size : r->left);
	if (is_interrupted(r) && n > 0)
		r->left -= (uint64_t)n;
	return n;
}

static bool writer_is_gone(const struct live_read *r)
{
	if (flock(r->fd, LOCK_SH | LOCK_NB))
		return errno != EWOULDBLOCK;
	flock(r->fd, LOCK_UN);
	return true;
}

ssize_t live_read(struct live_read *r, void *buf, size_t size)
{
	for (;;) {
		ssize_t n = read_once(r, buf, size);

		if (n < 0 && errno == EINTR)
			continue;
		if (n || !r->is_file || is_interrupted(r) || r->gone)
			return n;
		r->gone = writer_is_gone(r); /* what it wrote last is read once more */
		if (!r->gone)
			poll(&(struct pollfd){.fd = r->interrupt, .events = POLLIN}, 1, LOOK_MS);
	}
}
