// SPDX-License-Identifier: GPL-2.0-or-later
/* Both ends of a helper's socket: starting and ending the process, sending and receiving messages, serving requests. */
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/helper.h"
#include "base/process.h"
#include "base/read_full.h"

static int owner_check(const char *path)
{
	char self[PATH_MAX];
	struct stat ours, st;

	if (stat(self_path(self), &ours) || stat(path, &st))
		return fail(-errno, "%s: %s", path, strerror(errno));
	if (st.st_uid && st.st_uid != ours.st_uid && st.st_uid != geteuid())
		return fail(-EPERM, "%s belongs to neither root nor the owner of %s; not executed",
			    path, self);
	return 0;
}

int helper_start(struct helper *h, const char *name)
{
	char path[PATH_MAX], *argv[] = {path, NULL};
	int pair[2], err = installed_file_find(name, path, sizeof(path));

	*h = (struct helper){.name = name, .fd = -1};
	if (!err)
		err = owner_check(path);
	if (err)
		return err;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
		return fail(-errno, "socketpair: %s", strerror(errno));
	h->pid = process_start(argv, pair[1], pair[1], -1, SIGKILL);
	close(pair[1]);
	h->fd = pair[0];
	if (h->pid > 0)
		return 0;
	err = h->pid;
	close(h->fd);
	h->pid = 0;
	return err;
}

static int helper_wait(struct helper *h)
{
	int status = 0;

	close(h->fd);
	while (waitpid(h->pid, &status, 0) < 0 && errno == EINTR)
		;
	h->pid = 0;
	return status;
}

void helper_stop(struct helper *h)
{
	if (!h->pid)
		return;
	kill(h->pid, SIGKILL);
	helper_wait(h);
}

/* It closed its end, so that it has ended or is about to. */
static int helper_ended(struct helper *h)
{
	int status = helper_wait(h);

	if (WIFSIGNALED(status))
		return fail(-EPIPE, "%s was ended by signal %d (%s)", h->name, WTERMSIG(status),
			    strsignal(WTERMSIG(status)));
	return fail(-EPIPE, "%s ended unexpectedly, with exit status %d", h->name,
		    WEXITSTATUS(status));
}

/* 1; 0 at the end of the stream; -errno. */
static int bytes_read(int fd, void *data, size_t len)
{
	ssize_t n = read_full(fd, data, len);

	return n < 0 ? (int)n : n == (ssize_t)len;
}

/* Both ends write by send(2), which does not raise SIGPIPE. */
static int bytes_send(int fd, const void *data, size_t len)
{
	const char *from = data;

	while (len) {
		ssize_t n = send(fd, from, len, MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		from += n;
		len -= (size_t)n;
	}
	return 0;
}

static int message_send(int fd, uint32_t kind, const void *data, size_t len)
{
	struct helper_head head = {kind, (uint32_t)len};
	int err = bytes_send(fd, &head, sizeof(head));

	return err ? err : bytes_send(fd, data, len);
}

int helper_send(struct helper *h, uint32_t kind, const void *data, size_t len)
{
	if (len <= HELPER_MESSAGE_MAX)
		return message_send(h->fd, kind, data, len) ? helper_ended(h) : 0;
	helper_stop(h);
	return fail(-E2BIG, "%s: a message of %zu bytes", h->name, len);
}

int helper_receive(struct helper *h, struct helper_head *ret, void *data)
{
	if (bytes_read(h->fd, ret, sizeof(*ret)) <= 0)
		return helper_ended(h);
	if (ret->len <= HELPER_MESSAGE_MAX)
		return bytes_read(h->fd, data, ret->len) <= 0 ? helper_ended(h) : 0;
	helper_stop(h);
	return fail(-E2BIG, "%s: a message of %u bytes", h->name, ret->len);
}

/* ---- in the helper ---- */

void helper_ignore_signals(void)
{
	signal(SIGINT, SIG_IGN);
	signal(SIGTERM, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
}

int helper_request(struct helper_head *ret, void *data)
{
	int more = bytes_read(STDIN_FILENO, ret, sizeof(*ret));

	if (more > 0 && ret->len > HELPER_MESSAGE_MAX)
		return -E2BIG;
	if (more > 0)
		more = bytes_read(STDIN_FILENO, data, ret->len);
	return more > 0 ? 0 : more ? more : -EPIPE;
}

int helper_serve(int (*answer)(uint32_t kind, const uint8_t *data, size_t len))
{
	_cleanup_free_ uint8_t *data = malloc(HELPER_MESSAGE_MAX);
	struct helper_head head;
	int err = -ENOMEM;

	helper_ignore_signals();
	while (data) {
		err = helper_request(&head, data);
		if (err || answer(head.kind, data, head.len))
			break;
	}
	return err == -EPIPE ? EXIT_SUCCESS : EXIT_FAILURE;
}

int helper_reply(uint32_t kind, const void *data, size_t len)
{
	return len > HELPER_MESSAGE_MAX ? -E2BIG : message_send(STDOUT_FILENO, kind, data, len);
}
