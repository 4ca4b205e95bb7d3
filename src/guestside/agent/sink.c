// SPDX-License-Identifier: GPL-2.0-or-later
/* Memory that the host sees too: an ivshmem device's, or any file that can be mapped. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h> /* before the next one: up to Linux 6.8 it does not include it */
#include <linux/vm_sockets.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "guestside/agent/agent.h"
#include "guestside/agent/stream.h"
#include "guestside/agent/stream_shm.h"

/* For sink*.c only. */

extern const struct sink_ops sink_file, sink_serial, sink_vsock, sink_shm;

enum { TICK_MS = 5, WAIT_MS = 200, SHM_END_MS = 20000 };

#define DEVICES "/sys/bus/pci/devices"
#define IVSHMEM "0x1af4 0x1110" /* QEMU's docs/specs/ivshmem-spec */

static int number_of(const char *device, const char *name, char *to, size_t size)
{
	char path[256];

	snprintf(path, sizeof(path), DEVICES "/%.64s/%s", device, name);
	_cleanup_fclose_ FILE *f = fopen(path, "re");
	if (!f || !fgets(to, (int)size, f))
		*to = '\0';
	to[strcspn(to, "\n")] = '\0';
	return *to ? 0 : -ENOENT;
}

/* The memory of the first ivshmem device: its BAR 2, write-combining where that can be had. */
static int device_find(char *path, size_t size)
{
	_cleanup_closedir_ DIR *dir = opendir(DEVICES);
	struct dirent *e;
	int found = 0;

	while (dir && !found && (e = readdir(dir))) {
		char vendor[16], device[16], both[40];

		if (number_of(e->d_name, "vendor", vendor, sizeof(vendor)) ||
		    number_of(e->d_name, "device", device, sizeof(device)))
			continue;
		snprintf(both, sizeof(both), "%s %s", vendor, device);
		if (strcmp(both, IVSHMEM))
			continue;
		snprintf(path, size, DEVICES "/%.64s/enable", e->d_name);
		_cleanup_close_ int fd = open(path, O_WRONLY | O_CLOEXEC);

		if (fd >= 0)
			found = (int)write(fd, "1", 1); /* memory decoding on; no matter if it is */
		snprintf(path, size, DEVICES "/%.64s/resource2_wc", e->d_name);
		if (access(path, F_OK))
			snprintf(path, size, DEVICES "/%.64s/resource2", e->d_name);
		found = 1;
	}
	return found ? 0 : -ENOENT;
}

static int region_open(struct sink *s)
{
	char path[256];
	struct stat st;
	void *mem;

	snprintf(path, sizeof(path), "%s", s->to);
	if (!*s->to && device_find(path, sizeof(path)))
		return complain(-ENOENT, "this guest has no ivshmem device; QEMU needs -object "
					 "memory-backend-file,id=m,mem-path=...,size=16M,share=on "
					 "-device ivshmem-plain,memdev=m");
	s->fd = open(path, O_RDWR | O_CLOEXEC);
	if (s->fd < 0 || fstat(s->fd, &st))
		return complain(-errno, "%s: %s", path, strerror(errno));
	if (st.st_size < STREAM_SHM_MIN)
		return complain(-EINVAL, "%s: too small (%lld bytes)", path, (long long)st.st_size);
	s->shm_bytes = (size_t)st.st_size;
	mem = mmap(NULL, s->shm_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, s->fd, 0);
	if (mem == MAP_FAILED)
		return complain(-errno, "%s: cannot map: %s", path, strerror(errno));
	s->shm = mem;
	s->data = (uint8_t *)mem + STREAM_SHM_HEAD;
	s->data_bytes = s->shm_bytes - STREAM_SHM_HEAD;
	return 0;
}

static uint32_t host_state(struct sink *s)
{
	return __atomic_load_n(&s->shm->host_state, __ATOMIC_ACQUIRE);
}

static void state_set(struct sink *s, enum stream_shm_agent state)
{
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	__atomic_store_n(&s->shm->state, state, __ATOMIC_RELEASE);
}

/* Begins again, whatever was there. */
static void header_make(struct sink *s)
{
	__atomic_store_n(&s->shm->magic[0], 0, __ATOMIC_RELEASE);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	memset(s->shm, 0, sizeof(*s->shm));
	s->shm->version = STREAM_SHM_VERSION;
	s->shm->data_bytes = s->data_bytes;
	s->shm->magic[1] = STREAM_SHM_MAGIC1;
	s->head = 0;
	state_set(s, STREAM_SHM_WAITING);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	__atomic_store_n(&s->shm->magic[0], STREAM_SHM_MAGIC0, __ATOMIC_RELEASE);
}

static int shm_wait(struct sink *s)
{
	header_make(s);
	while (host_state(s) == STREAM_SHM_NOBODY) {
		if (agent_signalled)
			return -EINTR;
		poll(NULL, 0, WAIT_MS);
	}
	s->beat_ms = monotonic_ms();
	state_set(s, STREAM_SHM_STREAMING);
	return 0;
}

/* The host may have written anything: a tail that cannot be is a host that is gone. */
static long shm_put(struct sink *s, const void *data, size_t len)
{
	uint64_t used = s->head - __atomic_load_n(&s->shm->tail, __ATOMIC_ACQUIRE);
	size_t at = s->head % s->data_bytes, first;

	if (used > s->data_bytes)
		return -EPIPE;
	len = len < s->data_bytes - used ? len : s->data_bytes - used;
	first = len < s->data_bytes - at ? len : s->data_bytes - at;
	memcpy(s->data + at, data, first);
	memcpy(s->data, (const uint8_t *)data + first, len - first);
	__atomic_thread_fence(__ATOMIC_SEQ_CST); /* also drains write-combining */
	s->head += len;
	__atomic_store_n(&s->shm->head, s->head, __ATOMIC_RELEASE);
	return (long)len;
}

static int shm_look(struct sink *s, int timeout_ms, bool writing)
{
	uint64_t now = monotonic_ms(), until = now + (uint64_t)timeout_ms;

	do {
		uint32_t beat = __atomic_load_n(&s->shm->host_beat, __ATOMIC_RELAXED);

		if (beat != s->beat)
			s->beat_ms = now;
		s->beat = beat;
		if (host_state(s) == STREAM_SHM_STOP)
			return SINK_STOP;
		if (host_state(s) != STREAM_SHM_HERE || now - s->beat_ms > STREAM_SHM_BEAT_MS)
			return -EPIPE;
		if (writing && s->head - __atomic_load_n(&s->shm->tail, __ATOMIC_ACQUIRE) <
				       s->data_bytes / 2)
			return 0;
		if (agent_signalled)
			return -EINTR;
		poll(NULL, 0, timeout_ms && writing ? TICK_MS : timeout_ms);
		now = monotonic_ms();
	} while (now < until);
	return 0;
}

static void shm_end(struct sink *s)
{
	uint64_t until = monotonic_ms() + SHM_END_MS;

	state_set(s, STREAM_SHM_ENDED);
	while (monotonic_ms() < until && host_state(s) != STREAM_SHM_NOBODY)
		poll(NULL, 0, TICK_MS);
}

const struct sink_ops sink_shm = {
	.name = "shm",
	.open = region_open,
	.wait = shm_wait,
	.put = shm_put,
	.look = shm_look,
	.end = shm_end,
};

/* Files, virtio-serial ports and vsock: ways that are file descriptors; and the choice between all ways. */

enum {
	LOOK_MS = 200, /* nothing waits longer without looking for a signal */
	END_MS = 20000, /* for the host to take the last bytes */
};

/* What poll says of the other side. */
static int fd_look(struct sink *s, int timeout_ms, bool writing)
{
	struct pollfd p = {.fd = s->fd, .events = (short)(POLLIN | (writing ? POLLOUT : 0))};
	char said[64];
	ssize_t n;

	if (poll(&p, 1, timeout_ms) < 0)
		return errno == EINTR ? -EINTR : -errno;
	if (p.revents & POLLIN) {
		n = read(s->fd, said, sizeof(said));
		if (!n && s->ops == &sink_vsock)
			return -EPIPE;
		if (n > 0 && memchr(said, STREAM_STOP, (size_t)n))
			return SINK_STOP;
	}
	return p.revents & (POLLHUP | POLLERR | POLLNVAL) ? -EPIPE : 0;
}

static long fd_put(struct sink *s, const void *data, size_t len)
{
	ssize_t n = write(s->fd, data, len);

	if (n >= 0)
		return n;
	if (errno == EAGAIN || errno == EINTR)
		return 0;
	return errno == ENODEV || errno == ECONNRESET || errno == EIO ? -EPIPE : -errno;
}

/* ---- a file ---- */

/* Not through what another user prepared at this name: a file or FIFO of theirs, a link, a FIFO without a reader. */
static int file_open_named(struct sink *s)
{
	struct stat st;

	s->fd = open(s->to, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY,
		     0600);
	if (s->fd < 0 && errno == ENXIO)
		return complain(-ENXIO, "%s: nobody reads this FIFO", s->to);
	if (s->fd < 0 || fstat(s->fd, &st))
		return complain(-errno, "%s: %s", s->to, strerror(errno));
	if ((S_ISREG(st.st_mode) || S_ISFIFO(st.st_mode)) && st.st_uid != geteuid())
		return complain(-EACCES, "%s exists and belongs to user %u; choose another name",
				s->to, st.st_uid);
	if (S_ISREG(st.st_mode) && ftruncate(s->fd, 0))
		return complain(-errno, "%s: %s", s->to, strerror(errno));
	return 0;
}

static int file_open(struct sink *s)
{
	if (strcmp(s->to, "-"))
		return file_open_named(s);
	s->fd = dup(STDOUT_FILENO);
	return s->fd < 0 ? complain(-errno, "stdout: %s", strerror(errno)) : 0;
}

static int file_look(struct sink *s, int timeout_ms, bool writing)
{
	struct pollfd p = {.fd = s->fd, .events = (short)(writing ? POLLOUT : 0)};

	if (poll(&p, writing ? 1 : 0, timeout_ms) < 0)
		return -EINTR;
	return writing && p.revents & POLLERR ? -EPIPE : 0;
}

const struct sink_ops sink_file = {
	.name = "file",
	.open = file_open,
	.put = fd_put,
	.look = file_look,
};

/* ---- a virtio-serial port ---- */

/* The device of the port called so; virtio spec 5.3: ports have names that the host gives. */
static int port_find(const char *name, char *path, size_t size)
{
	static const char class[] = "/sys/class/virtio-ports";
	struct dirent *e;
	_cleanup_closedir_ DIR *dir = opendir(class);
	int found = 0;

	while (dir && !found && (e = readdir(dir))) {
		char file[512], text[128] = "";

		if (e->d_name[0] == '.')
			continue;
		snprintf(file, sizeof(file), "%s/%.64s/name", class, e->d_name);
		_cleanup_fclose_ FILE *f = fopen(file, "re");
		if (f && fgets(text, sizeof(text), f)) {
			text[strcspn(text, "\n")] = '\0';
			found = !strcmp(text, name);
			snprintf(path, size, "/dev/%.64s", e->d_name);
		}
	}
	return found ? 0 : -ENOENT;
}

static int serial_open(struct sink *s)
{
	char path[128];
	struct termios raw;

	snprintf(path, sizeof(path), "%s", s->to);
	if (s->to[0] != '/' && port_find(s->to, path, sizeof(path)))
		return complain(
			-ENOENT,
			"no virtio-serial port named '%s'; QEMU needs -device "
			"virtio-serial-pci -chardev socket,id=h,path=...,server=on,wait=off "
			"-device virtserialport,chardev=h,name=%s",
			s->to, s->to);
	s->fd = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
	if (s->fd < 0)
		return complain(-errno, "%s: %s", path, strerror(errno));
	if (!tcgetattr(s->fd, &raw)) {
		cfmakeraw(&raw);
		tcsetattr(s->fd, TCSANOW, &raw);
	}
	return 0;
}

/* A port says "hung up" while nobody is at the host's end. */
static int serial_wait(struct sink *s)
{
	while (!agent_signalled) {
		int said = fd_look(s, 0, false);

		if (said >= 0)
			return 0;
		if (said != -EPIPE && said != -EINTR)
			return complain(said, "%s: %s", s->to, strerror(-said));
		poll(NULL, 0, LOOK_MS);
	}
	return -EINTR;
}

/* The kernel gives no sign that the host has read all; closing a port drops nothing that was written. */
const struct sink_ops sink_serial = {
	.name = "serial",
	.open = serial_open,
	.wait = serial_wait,
	.put = fd_put,
	.look = fd_look,
};

/* ---- vsock ---- */

static int vsock_open(struct sink *s)
{
	struct sockaddr_vm at = {.svm_family = AF_VSOCK, .svm_cid = VMADDR_CID_ANY};
	char *end;
	unsigned long port = strtoul(s->to, &end, 10);

	if (!*s->to || *end || port > UINT32_MAX)
		return complain(-EINVAL, "invalid vsock port '%s'", s->to);
	at.svm_port = (unsigned int)port;
	s->listener = socket(AF_VSOCK, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (s->listener < 0)
		return complain(-errno, "vsock: %s", strerror(errno));
	if (bind(s->listener, (struct sockaddr *)&at, sizeof(at)) || listen(s->listener, 1))
		return complain(-errno, "vsock:%s: %s", s->to, strerror(errno));
	return 0;
}

/* Only the host is let in: processes of this guest could read all that root traces. */
static int vsock_wait(struct sink *s)
{
	while (!agent_signalled) {
		struct pollfd p = {.fd = s->listener, .events = POLLIN};
		struct sockaddr_vm from;
		socklen_t len = sizeof(from);

		if (poll(&p, 1, LOOK_MS) <= 0)
			continue;
		s->fd = accept4(s->listener, (struct sockaddr *)&from, &len,
				SOCK_CLOEXEC | SOCK_NONBLOCK);
		if (s->fd < 0)
			continue;
		if (from.svm_cid == VMADDR_CID_HOST)
			return 0;
		close(s->fd);
		s->fd = -1;
	}
	return -EINTR;
}

/* Sends the end of the stream and waits for the host's. */
static void vsock_end(struct sink *s)
{
	uint64_t until = monotonic_ms() + END_MS;

	shutdown(s->fd, SHUT_WR);
	while (monotonic_ms() < until && fd_look(s, LOOK_MS, false) >= 0)
		;
}

const struct sink_ops sink_vsock = {
	.name = "vsock",
	.open = vsock_open,
	.wait = vsock_wait,
	.put = fd_put,
	.look = fd_look,
	.end = vsock_end,
};

/* ---- any ---- */

static const struct sink_ops *const ways[] = {&sink_serial, &sink_vsock, &sink_shm, &sink_file};

int sink_open(const char *to, struct sink **ret)
{
	struct sink *s = calloc(1, sizeof(*s));
	int err;

	if (!s)
		return complain(-ENOMEM, "out of memory");
	s->fd = s->listener = -1;
	s->to = to;
	if (!strcmp(to, "-"))
		s->ops = &sink_file;
	for (unsigned int i = 0; !s->ops && i < sizeof(ways) / sizeof(ways[0]); i++) {
		size_t len = strlen(ways[i]->name);

		if (!strncmp(to, ways[i]->name, len) && (to[len] == ':' || !to[len])) {
			s->ops = ways[i];
			s->to = to + len + (to[len] == ':');
		}
	}
	err = s->ops ? s->ops->open(s)
		     : complain(-EINVAL,
				"invalid destination '%s' (expected serial:PORT, vsock:PORT, "
				"shm[:FILE], file:FILE or -)",
				to);
	if (err) {
		sink_close(s);
		return err;
	}
	*ret = s;
	return 0;
}

int sink_wait(struct sink *s)
{
	return s->ops->wait ? s->ops->wait(s) : 0;
}

/* A buffer that has begun must go out whole, else the stream is broken: a signal only sets a limit. */
int sink_write(struct sink *s, const void *data, size_t len, uint64_t until_ms)
{
	const uint8_t *at = data;

	while (len) {
		long n = s->ops->put(s, at, len);
		int said;

		if (n < 0)
			return (int)n;
		at += n;
		len -= (size_t)n;
		if (n)
			continue;
		if (!until_ms && (agent_signalled || s->stop_said))
			until_ms = monotonic_ms() + END_MS;
		if (until_ms && monotonic_ms() > until_ms)
			return -ETIMEDOUT;
		said = s->ops->look(s, LOOK_MS, true);
		s->stop_said |= said == SINK_STOP;
		if (said < 0 && said != -EINTR)
			return said;
	}
	return 0;
}

int sink_look(struct sink *s, int timeout_ms)
{
	return s->stop_said ? SINK_STOP : s->ops->look(s, timeout_ms, false);
}

void sink_end(struct sink *s)
{
	if (s->ops->end)
		s->ops->end(s);
}

void sink_close(struct sink *s)
{
	if (!s)
		return;
	if (s->fd >= 0)
		close(s->fd);
	if (s->listener >= 0)
		close(s->listener);
	free(s);
}
