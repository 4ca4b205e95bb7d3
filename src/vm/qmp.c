// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <limits.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/process.h"
#include "event/event.h"
#include "vm/qmp.h"

struct qmp {
	int fd;
	char *name;
	char *line; /* received but not yet consumed */
	size_t len, size;
	json_int_t id;
	int patience_ms;
};

enum { LINE_FIRST = 64 << 10, CONNECT_PAUSE_MS = 10, LOOK_MS = 100 /* for a signal */ };

static int interrupted(const char *name)
{
	return fail(-EINTR, "%s: interrupted while waiting for the monitor", name);
}

/* ---- lines ---- */

static int receive(struct qmp *q, uint64_t until_ms)
{
	struct pollfd p = {.fd = q->fd, .events = POLLIN};
	int64_t left = (int64_t)(until_ms - monotonic_ms());
	ssize_t n;

	if (stop_pending())
		return interrupted(q->name);

	if (q->len == q->size) {
		size_t size = q->size ? 2 * q->size : LINE_FIRST;
		char *more = size <= QMP_LINE_MAX ? realloc(q->line, size) : NULL;

		if (!more)
			return fail(-EPROTO, "%s: received a line longer than %d bytes", q->name,
				    QMP_LINE_MAX);
		q->line = more;
		q->size = size;
	}
	n = left > 0 ? poll(&p, 1, (int)(left < LOOK_MS ? left : LOOK_MS)) : 0;
	if (n < 0)
		return errno == EINTR ? 0 : fail(-errno, "%s: %s", q->name, strerror(errno));
	if (!n && left > LOOK_MS)
		return 0;
	if (!n)
		return fail(-ETIMEDOUT, "%s: no reply within %d ms", q->name, q->patience_ms);
	n = recv(q->fd, q->line + q->len, q->size - q->len, MSG_DONTWAIT);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (n <= 0)
		return fail(-ECONNRESET, "%s: the monitor closed the connection", q->name);
	q->len += (size_t)n;
	return 0;
}

/* The next line as an object. */
static int next_object(struct qmp *q, uint64_t until_ms, json_t **ret)
{
	char *end;
	json_error_t error;

	while (!(end = q->len ? memchr(q->line, '\n', q->len) : NULL)) {
		int err = receive(q, until_ms);

		if (err)
			return err;
	}
	*ret = json_loadb(q->line, (size_t)(end - q->line), 0, &error);
	q->len -= (size_t)(end + 1 - q->line);
	memmove(q->line, end + 1, q->len);
	if (json_is_object(*ret))
		return 0;
	json_decref(*ret);
	return fail(-EPROTO, "%s: not a QMP monitor (the reply is not JSON)", q->name);
}

/* The next object that has one of these keys; events and the like are skipped. */
static int next_with(struct qmp *q, const char *key, const char *or_key, uint64_t until,
		     json_t **ret)
{
	for (unsigned int i = 0; i < QMP_EVENTS_MAX; i++) {
		int err = next_object(q, until, ret);

		if (err)
			return err;
		if (json_object_get(*ret, key) || (or_key && json_object_get(*ret, or_key)))
			return 0;
		json_decref(*ret);
	}
	return fail(-EPROTO, "%s: no reply after %d messages", q->name, QMP_EVENTS_MAX);
}

/* ---- commands ---- */

static int refused(const struct qmp *q, const char *command, const json_t *error)
{
	const char *kind = json_string_value(json_object_get(error, "class"));
	const char *desc = json_string_value(json_object_get(error, "desc"));
	char text[256];

	snprintf(text, sizeof(text), "%s", desc ? desc : "no reason given");
	text_sanitize(text);
	return fail(kind && !strcmp(kind, "CommandNotFound") ? -EOPNOTSUPP : -EREMOTEIO,
		    "%s: %s: %s", q->name, command, text);
}

static int send_all(struct qmp *q, const char *text)
{
	struct timeval patience = {.tv_sec = q->patience_ms / 1000,
				   .tv_usec = q->patience_ms % 1000 * 1000};

	setsockopt(q->fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
	for (size_t len = strlen(text); len;) {
		ssize_t n = send(q->fd, text, len, MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return fail(-ECONNRESET, "%s: %s", q->name, strerror(errno));
		text += n;
		len -= (size_t)n;
	}
	return 0;
}

static int answer_of(struct qmp *q, const char *command, json_int_t id, json_t **ret_value)
{
	uint64_t until = monotonic_ms() + (unsigned int)q->patience_ms;

	for (;;) {
		json_t *reply, *value;
		int err = next_with(q, "return", "error", until, &reply);

		if (err)
			return err;
		if (json_integer_value(json_object_get(reply, "id")) != id) {
			json_decref(reply); /* of a question that was abandoned */
			if (monotonic_ms() < until)
				continue;
			return fail(-ETIMEDOUT, "%s: received only replies to other commands",
				    q->name);
		}
		value = json_object_get(reply, "return");
		if (!value)
			err = refused(q, command, json_object_get(reply, "error"));
		else
			*ret_value = json_incref(value);
		json_decref(reply);
		return err;
	}
}

int qmp_execute(struct qmp *q, const char *command, json_t *arguments, json_t **ret_value)
{
	json_int_t id = ++q->id;
	json_t *ask = json_pack("{s:s, s:I}", "execute", command, "id", id);

	if (arguments)
		json_object_set_new(ask, "arguments", arguments);
	_cleanup_free_ char *text = json_dumps(ask, JSON_COMPACT);
	_cleanup_free_ char *line = NULL;

	json_decref(ask);
	if (!text || asprintf(&line, "%s\n", text) < 0)
		return fail(-ENOMEM, "out of memory");
	int err = send_all(q, line);

	return err ? err : answer_of(q, command, id, ret_value);
}

/* ---- connections ---- */

static int greet(struct qmp *q)
{
	json_t *greeting, *nothing;
	uint64_t until_ms = monotonic_ms() + (unsigned int)q->patience_ms;
	int err = next_with(q, "QMP", NULL, until_ms, &greeting);

	if (err == -ETIMEDOUT)
		return fail(err,
			    "%s: no greeting from the monitor within %d ms; it may be in use by "
			    "another client",
			    q->name, q->patience_ms);
	if (err)
		return err;
	json_decref(greeting);
	err = qmp_execute(q, "qmp_capabilities", NULL, &nothing);
	if (!err)
		json_decref(nothing);
	return err;
}

int qmp_open_fd(int fd, const char *name, int patience_ms, struct qmp **ret)
{
	struct qmp *q = calloc(1, sizeof(*q));
	int err;

	if (!q || !(q->name = strdup(name))) {
		free(q);
		close(fd);
		return fail(-ENOMEM, "out of memory");
	}
	q->fd = fd;
	q->patience_ms = patience_ms;
	err = greet(q);
	if (err)
		qmp_close(q);
	else
		*ret = q;
	return err;
}

/* connect() waits for a listener whose queue is full as long as that lasts; this does not. */
static int connect_until(int fd, const struct sockaddr_un *address, uint64_t until_ms)
{
	while (connect(fd, (const struct sockaddr *)address, sizeof(*address))) {
		if (errno != EAGAIN)
			return -errno;
		if (stop_pending())
			return -EINTR;
		if (monotonic_ms() >= until_ms)
			return -ETIMEDOUT;
		poll(NULL, 0, CONNECT_PAUSE_MS);
	}
	return fcntl(fd, F_SETFL, 0) ? -errno : 0;
}

int qmp_patience_ms(uint64_t timeout_ns)
{
	uint64_t ms = timeout_ns / 1000000 + (timeout_ns % 1000000 > 0);

	return ms < INT_MAX ? (int)ms : INT_MAX;
}

int qmp_open(const char *path, int patience_ms, struct qmp **ret)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd, err;

	patience_ms = patience_ms ? patience_ms : QMP_PATIENCE_MS;
	if (strlen(path) >= sizeof(address.sun_path))
		return fail(-ENAMETOOLONG, "%s: socket path too long", path);
	strcpy(address.sun_path, path);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return fail(-errno, "%s: %s", path, strerror(errno));
	err = connect_until(fd, &address, monotonic_ms() + (unsigned int)patience_ms);
	if (err) {
		close(fd);
		return err == -EINTR ? interrupted(path)
				     : fail(err, "%s: %s", path, strerror(-err));
	}
	return qmp_open_fd(fd, path, patience_ms, ret);
}

pid_t qmp_pid(const struct qmp *q)
{
	struct ucred peer = {0};
	socklen_t len = sizeof(peer);

	return getsockopt(q->fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) ? 0 : peer.pid;
}

void qmp_close(struct qmp *q)
{
	if (!q)
		return;
	close(q->fd);
	free(q->name);
	free(q->line);
	free(q);
}
