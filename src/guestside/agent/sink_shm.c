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
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "guestside/agent/sink.h"
#include "guestside/agent/stream_shm.h"

enum { TICK_MS = 5, WAIT_MS = 200, END_MS = 20000 };

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
	uint64_t until = monotonic_ms() + END_MS;

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
