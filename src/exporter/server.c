// SPDX-License-Identifier: GPL-2.0-or-later
/* Starting hostrace-httpd, and sending it pages. Files are read here, so that it has to open none. */
#include "exporter/server.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/read_full.h"
#include "base/safe_path.h"
#include "exporter/httpd_messages.h"

/* The file may be a FIFO that nobody writes to: a signal, which the exporter blocks, ends the process meanwhile. */
static ssize_t file_or_fifo_read(const char *path, char *text, size_t size)
{
	sigset_t none, before;
	ssize_t len;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, &before);

	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);

	len = fd < 0 ? -errno : read_full(fd, text, size);
	sigprocmask(SIG_SETMASK, &before, NULL);
	return len;
}

int exporter_file_read(const char *path, char *text, size_t size)
{
	ssize_t len = file_or_fifo_read(path, text, size);

	if (len < 0)
		return fail((int)len, "cannot read %s: %s", path, strerror((int)-len));
	if ((size_t)len == size || memchr(text, '\0', (size_t)len))
		return fail(-EINVAL, "%s: not a text file of less than %zu bytes", path, size);
	text[len] = '\0';
	return 0;
}

static int file_send(struct helper *httpd, unsigned int kind, const char *path, char *message)
{
	int err = path ? exporter_file_read(path, message, HELPER_MESSAGE_MAX) : 0;

	if (!err && path)
		err = helper_send(httpd, kind, message, strlen(message) + 1);
	explicit_bzero(message, HELPER_MESSAGE_MAX);
	return err;
}

int exporter_server_start(const struct exporter_server *s, struct helper *httpd, void *message)
{
	unsigned int kind = s->insecure ? HTTPD_LISTEN_INSECURE : HTTPD_LISTEN;
	struct helper_head head = {0};
	int err = helper_start(httpd, "hostrace-httpd");

	if (!err)
		err = file_send(httpd, HTTPD_CERT, s->cert, message);
	if (!err)
		err = file_send(httpd, HTTPD_KEY, s->key, message);
	if (!err)
		err = file_send(httpd, HTTPD_USERS, s->passwords, message);
	for (unsigned int i = 0; !err && i < s->hosts.nr; i++)
		err = helper_send(httpd, HTTPD_HOST, s->hosts.item[i],
				  strlen(s->hosts.item[i]) + 1);
	if (!err && s->token)
		err = helper_send(httpd, HTTPD_TOKEN, s->token, strlen(s->token) + 1);
	if (!err)
		err = helper_send(httpd, kind, s->listen, strlen(s->listen) + 1);
	if (!err)
		err = helper_receive(httpd, &head, message);
	if (err)
		return err;
	if (!head.len || ((char *)message)[head.len - 1])
		return fail(-EPROTO, "hostrace-httpd sent an unknown message");
	return head.kind == HTTPD_READY ? 0 : fail(-EADDRNOTAVAIL, "%s", (char *)message);
}

int exporter_socket_note(const struct exporter_server *s, struct exporter_socket *ret)
{
	struct stat st;
	int err;

	if (strncmp(s->listen, "unix:", 5))
		return 0;
	err = safe_path_follow(s->listen + 5, &ret->path, &st);
	ret->dev = st.st_dev;
	ret->ino = st.st_ino;
	return err;
}

void exporter_socket_remove(struct exporter_socket *s)
{
	struct stat st;

	if (s->path && !lstat(s->path, &st) && st.st_dev == s->dev && st.st_ino == s->ino)
		safe_path_unlink(s->path);
	free(s->path);
	s->path = NULL;
}

int exporter_page_send(struct helper *httpd, const char *page, size_t len)
{
	int err = 0;

	while (len && !err) {
		size_t part = len < HELPER_MESSAGE_MAX ? len : HELPER_MESSAGE_MAX;

		err = helper_send(httpd, HTTPD_PART, page, part);
		page += part;
		len -= part;
	}
	return err ? err : helper_send(httpd, HTTPD_END, NULL, 0);
}

int exporter_signals_open(void)
{
	sigset_t set;
	int fd;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	sigprocmask(SIG_BLOCK, &set, NULL);
	fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return fd < 0 ? fail(-errno, "signalfd: %s", strerror(errno)) : fd;
}
