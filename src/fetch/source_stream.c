// SPDX-License-Identifier: GPL-2.0-or-later
/* Agents at the other end of a socket, and files that somebody else fills. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <linux/vm_sockets.h>

#include "base/error.h"
#include "base/user_rights.h"
#include "fetch/source_internal.h"
#include "readers/ring/ring_image.h"

/* Nobody is there yet, or somebody else is: tried again. */
static int not_yet(struct guest_source *s, int err)
{
	close(s->fd);
	s->fd = -1;
	fail(err, "%s: %s", s->text, strerror(-err));
	fail_hint(err, "is the VM running with this socket (server=on,wait=off), and no other "
		       "client connected?");
	switch (-err) {
	case ENOENT:
	case ECONNREFUSED:
	case ECONNRESET:
	case EAGAIN:
	case EINPROGRESS:
	case ENODEV:
	case ETIMEDOUT:
	case EHOSTUNREACH:
		return -EAGAIN;
	default:
		return err;
	}
}

static int serial_find(struct guest_source *s)
{
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	uint64_t begun;
	int failed;

	if (strlen(s->arg) >= sizeof(at.sun_path))
		return fail(-ENAMETOOLONG, "%s: socket path too long (at most %zu bytes)", s->text,
			    sizeof(at.sun_path) - 1);
	strcpy(at.sun_path, s->arg);
	s->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (s->fd < 0)
		return fail(-errno, "%s: %s", s->text, strerror(errno));
	begun = user_rights_begin();
	failed = connect(s->fd, (struct sockaddr *)&at, sizeof(at));
	user_rights_end(begun);
	return failed ? not_yet(s, -errno) : 0;
}

static int vsock_parse(const char *arg, struct sockaddr_vm *ret)
{
	char *end;
	unsigned long cid = strtoul(arg, &end, 10), port;

	if (end == arg || *end != ':')
		return fail(-EINVAL, "invalid address 'vsock:%s' (expected vsock:CID:PORT)", arg);
	arg = end + 1;
	port = strtoul(arg, &end, 10);
	if (end == arg || *end || cid > UINT32_MAX || port > UINT32_MAX)
		return fail(-EINVAL, "vsock: invalid port '%s'", arg);
	*ret = (struct sockaddr_vm){.svm_family = AF_VSOCK,
				    .svm_cid = (unsigned int)cid,
				    .svm_port = (unsigned int)port};
	return 0;
}

static int vsock_prepare(struct guest_source *s)
{
	struct sockaddr_vm at;

	return vsock_parse(s->arg, &at);
}

/* Blocks until the guest replies, at most for a limited time. */
static int vsock_find(struct guest_source *s)
{
	const struct timeval limit = {.tv_usec = 500000};
	struct sockaddr_vm at;
	int err = vsock_parse(s->arg, &at);

	if (err)
		return err;
	s->fd = socket(AF_VSOCK, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (s->fd < 0)
		return fail(-errno, "%s: %s", s->text, strerror(errno));
	setsockopt(s->fd, AF_VSOCK, SO_VM_SOCKETS_CONNECT_TIMEOUT, &limit, sizeof(limit));
	if (connect(s->fd, (struct sockaddr *)&at, sizeof(at)))
		return not_yet(s, -errno);
	fcntl(s->fd, F_SETFL, O_NONBLOCK);
	return 0;
}

static int fd_take(struct guest_source *s)
{
	for (size_t sum = 0; sum < GUEST_SOURCE_ROUND_BYTES && !s->frames.ended;) {
		size_t room;
		uint8_t *to = frames_room(s, &room);
		ssize_t n = to ? read(s->fd, to, room) : -1;
		int err;

		if (!to)
			return fail(-ENOMEM, "out of memory");
		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return 0;
		if (n < 0 && errno != ECONNRESET)
			return fail(-errno, "%s: %s", s->text, strerror(errno));
		if (n <= 0)
			return fail(-EPIPE, "%s: the guest closed the connection", s->text);
		err = frames_take(s, (size_t)n);
		if (err)
			return err;
		sum += (size_t)n;
	}
	return !s->frames.ended;
}

/* The peer may just have closed the connection: that must not kill the recorder. */
static void fd_ask_end(struct guest_source *s)
{
	const char stop = STREAM_STOP;

	if (s->frames.ended || send(s->fd, &stop, 1, MSG_NOSIGNAL) == 1)
		return;
	s->failed = true;
	snprintf(s->error, sizeof(s->error), "%s: the guest closed the connection", s->text);
}

const struct source_ops source_serial = {
	.name = "serial",
	.find = serial_find,
	.take = fd_take,
	.ask_end = fd_ask_end,
};

const struct source_ops source_vsock = {
	.name = "vsock",
	.prepare = vsock_prepare,
	.find = vsock_find,
	.take = fd_take,
	.ask_end = fd_ask_end,
};

/* ---- a file ---- */

static int file_find(struct guest_source *s)
{
	if (s->fd < 0)
		s->fd = open_as_user(s->arg, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (s->fd < 0)
		return fail(errno == ENOENT ? -EAGAIN : -errno, "%s: %s", s->arg, strerror(errno));
	return 0;
}

static int file_take(struct guest_source *s)
{
	(void)s;
	return 0;
}

/* Copied completely once it is no longer written; the reader detects its format. */
static int file_finish(struct guest_source *s)
{
	_cleanup_free_ uint8_t *buf = malloc(1 << 20);
	ssize_t n;

	if (!buf)
		return fail(-ENOMEM, "out of memory");
	while ((n = read(s->fd, buf, 1 << 20)) > 0) {
		int err;

		s->frames.begun |= !s->bytes; /* data was received */
		err = source_write(s, buf, (size_t)n);
		if (err)
			return err;
	}
	return n < 0 && errno != EAGAIN ? fail(-errno, "%s: %s", s->arg, strerror(errno)) : 0;
}

const struct source_ops source_file = {
	.name = "file",
	.find = file_find,
	.take = file_take,
	.finish = file_finish,
};
