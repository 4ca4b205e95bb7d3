// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/read_full.h"
#include "commands/live/exporter_server.h"
#include "exporter/httpd_messages.h"

int exporter_file_read(const char *path, char *text, size_t size)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t len = fd < 0 ? -errno : read_full(fd, text, size);

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
