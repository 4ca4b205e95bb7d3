// SPDX-License-Identifier: GPL-2.0-or-later
/* Agents at the other end of a socket, and files that somebody else fills. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h> /* before the next one: up to Linux 6.8 it does not include it */
#include <linux/vm_sockets.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "base/error.h"
#include "base/user_rights.h"
#include "fetch/source_internal.h"
#include "guestside/agent/stream_shm.h"
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

/*
 * A file that the guest sees as memory. It is read and written by file calls, not mapped: a file that becomes shorter
 * must not kill the recorder, and a read may be of any file system. What is in it decides: an agent's region
 * (stream_shm.h) at its start, or a guest's ring anywhere, where the file is the guest's whole RAM.
 */

enum { SCAN_PAGES = 256 };

struct shm {
	int fd;
	const char *name;
	bool writable, agent;
	uint64_t bytes, base; /* base: where the ring begins */
	uint64_t data_bytes, tail;
	uint32_t beat;
};

static int shm_read(void *arg, uint64_t offset, void *to, size_t len)
{
	struct shm *m = arg;
	ssize_t n = pread(m->fd, to, len, (off_t)(m->base + offset));

	if (n < 0)
		return fail(-errno, "%s: %s", m->name, strerror(errno));
	return (size_t)n == len ? 0 : fail(-EBADMSG, "%s was truncated", m->name);
}

static int shm_write(void *arg, uint64_t offset, const void *from, size_t len)
{
	struct shm *m = arg;
	ssize_t n = pwrite(m->fd, from, len, (off_t)(m->base + offset));

	return n == (ssize_t)len ? 0 : fail(-errno, "%s: %s", m->name, strerror(errno));
}

/* Only where there is data: reading a hole of a memory file would fill it. */
static int64_t ring_search(struct shm *m)
{
	_cleanup_free_ uint8_t *buf = malloc((size_t)SCAN_PAGES * RING_ALIGN);
	off_t at = 0, end;

	while (buf && (at = lseek(m->fd, at, SEEK_DATA)) >= 0) {
		end = lseek(m->fd, at, SEEK_HOLE);
		at &= ~(off_t)(RING_ALIGN - 1);
		for (ssize_t n; at < end; at += n) {
			int64_t found;

			n = pread(m->fd, buf, (size_t)SCAN_PAGES * RING_ALIGN, at);
			if (n < RING_ALIGN)
				return -1;
			n &= ~(ssize_t)(RING_ALIGN - 1);
			found = ring_find(buf, (size_t)n, 0);
			if (found >= 0)
				return at + found;
		}
	}
	return -1;
}

static int header_read(struct shm *m, struct stream_shm *ret)
{
	m->base = 0;
	return shm_read(m, 0, ret, sizeof(*ret));
}

/* The host's word: only its own half of the header is written. */
static int host_say(struct shm *m, uint32_t state)
{
	const uint32_t say[2] = {state, ++m->beat};

	return shm_write(m, offsetof(struct stream_shm, host_state), say, sizeof(say));
}

static int agent_find(struct guest_source *s, const struct stream_shm *h)
{
	struct shm *m = s->shm;
	int err;

	if (h->version != STREAM_SHM_VERSION)
		return fail(-EPROTONOSUPPORT,
			    "%s: unsupported version %u of the agent's shared memory", m->name,
			    h->version);
	if (!m->writable)
		return fail(-EACCES, "%s: the agent needs write access to its shared memory",
			    m->name);
	if (h->data_bytes != m->bytes - STREAM_SHM_HEAD)
		return fail(-EBADMSG, "%s: the agent reports a different size of the shared memory",
			    m->name);
	if (h->state != STREAM_SHM_WAITING)
		return fail(-EAGAIN, "%s: no agent is waiting", m->name);
	m->agent = true;
	m->data_bytes = h->data_bytes;
	err = shm_write(m, offsetof(struct stream_shm, tail), &m->tail, sizeof(m->tail));
	return err ? err : host_say(m, STREAM_SHM_HERE);
}

static int shm_find(struct guest_source *s)
{
	struct shm *m = s->shm;
	struct stream_shm h;
	struct stat st;
	int64_t at;
	int err;

	if (m->fd < 0) {
		m->fd = open_as_user(s->arg, O_RDWR | O_CLOEXEC);
		m->writable = m->fd >= 0;
	}
	if (m->fd < 0)
		m->fd = open_as_user(s->arg, O_RDONLY | O_CLOEXEC);
	if (m->fd < 0 || fstat(m->fd, &st))
		return fail(errno == ENOENT ? -EAGAIN : -errno, "%s: %s", s->arg, strerror(errno));
	m->bytes = (uint64_t)st.st_size;
	if (m->bytes < STREAM_SHM_MIN)
		return fail(-EAGAIN, "%s: too small (%llu bytes)", s->arg,
			    (unsigned long long)m->bytes);
	err = header_read(m, &h);
	if (err)
		return err;
	if (h.magic[0] == STREAM_SHM_MAGIC0 && h.magic[1] == STREAM_SHM_MAGIC1)
		return agent_find(s, &h);
	at = ring_search(m);
	if (at < 0)
		return fail(-EAGAIN, "%s: found neither a guest ring nor an agent",
			    s->arg);
	m->base = (uint64_t)at;
	return ring_follow_new(shm_read, m->writable ? shm_write : NULL, m, m->name, &s->ring);
}

static int shm_prepare(struct guest_source *s)
{
	s->shm = calloc(1, sizeof(*s->shm));
	if (!s->shm)
		return fail(-ENOMEM, "out of memory");
	*s->shm = (struct shm){.fd = -1, .name = s->arg};
	return 0;
}

/* Up to `len` bytes from the region's ring of bytes. */
static int data_take(struct guest_source *s, uint64_t len)
{
	struct shm *m = s->shm;
	uint64_t at = m->tail % m->data_bytes;
	size_t room;
	uint8_t *to = frames_room(s, &room);
	int err;

	if (!to)
		return fail(-ENOMEM, "out of memory");
	len = len < room ? len : room;
	len = len < m->data_bytes - at ? len : m->data_bytes - at;
	err = shm_read(m, STREAM_SHM_HEAD + at, to, len);
	if (err)
		return err;
	m->tail += len;
	return frames_take(s, len);
}

static int agent_take(struct guest_source *s)
{
	struct shm *m = s->shm;
	uint64_t sum = 0, left;
	struct stream_shm h;
	int err = header_read(m, &h);

	if (err)
		return err;
	left = h.head - m->tail;
	if (h.state == STREAM_SHM_WAITING && left)
		return fail(-EPIPE, "%s: agent restarted", m->name);
	if (left > m->data_bytes)
		return fail(-EBADMSG,
			    "%s: the agent reports more data than the shared memory holds",
			    m->name);
	while (!err && left && sum < GUEST_SOURCE_ROUND_BYTES && !s->frames.ended) {
		uint64_t before = m->tail;

		err = data_take(s, left);
		left -= m->tail - before;
		sum += m->tail - before;
	}
	if (!err && sum)
		err = shm_write(m, offsetof(struct stream_shm, tail), &m->tail, sizeof(m->tail));
	if (!err)
		err = host_say(m, s->frames.ended	       ? STREAM_SHM_NOBODY
				  : h.host_state == STREAM_SHM_STOP ? STREAM_SHM_STOP
								    : STREAM_SHM_HERE);
	return err ? err : sum > 0;
}

static int shm_take(struct guest_source *s)
{
	if (s->shm->agent)
		return s->frames.ended ? 0 : agent_take(s);
	return ring_follow_look(s->ring, false);
}

static void shm_ask_end(struct guest_source *s)
{
	if (s->shm->agent)
		s->failed = host_say(s->shm, STREAM_SHM_STOP) != 0;
	else
		s->frames.ended = true; /* a ring has no end to wait for */
}

static int ring_put(void *arg, const void *data, size_t len)
{
	return source_write(arg, data, len);
}

int source_ring_finish(struct guest_source *s)
{
	int err = ring_follow_look(s->ring, true);
	int end = ring_follow_write(s->ring, ring_put, s);

	return err ? err : end;
}

static int shm_finish(struct guest_source *s)
{
	if (s->ring)
		return source_ring_finish(s);
	return s->shm->agent && !s->frames.ended ? host_say(s->shm, STREAM_SHM_NOBODY) : 0;
}

static void shm_close(struct guest_source *s)
{
	if (s->shm && s->shm->fd >= 0)
		close(s->shm->fd);
	free(s->shm);
}

const struct source_ops source_shm = {
	.name = "shm",
	.prepare = shm_prepare,
	.find = shm_find,
	.take = shm_take,
	.ask_end = shm_ask_end,
	.finish = shm_finish,
	.close = shm_close,
};
