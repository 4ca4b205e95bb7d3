// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Preloaded into QEMU: a part of the guest's memory (from 16 to 24 MiB of the file $SLOWMEM_FILE) is slow. A page that
 * is touched for the first time comes 20 ms later (userfaultfd), as from a swap device, or the source of a migration.
 * $SLOWMEM_LOG has the number of these pages and the time that they took, in ns: two words of 64 bits. After
 * $SLOWMEM_PAGES pages none comes.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { FROM = 16 << 20, LENGTH = 8 << 20, PAGE = 4096, DELAY_NS = 20000000, LOOK_US = 1000 };

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static uint64_t mapped_at(const char *name)
{
	FILE *f = fopen("/proc/self/maps", "re");
	char line[512];
	uint64_t start = 0;

	while (f && !start && fgets(line, sizeof(line), f))
		if (strstr(line, name) && strstr(line, "rw-s"))
			start = strtoull(line, NULL, 16);
	if (f)
		fclose(f);
	return start;
}

static int slow_down(uint64_t start)
{
	struct uffdio_api api = {.api = UFFD_API};
	struct uffdio_register reg = {.range = {start + FROM, LENGTH},
				      .mode = UFFDIO_REGISTER_MODE_MISSING};
	int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC);

	if (fd < 0 || ioctl(fd, UFFDIO_API, &api) || ioctl(fd, UFFDIO_REGISTER, &reg)) {
		perror("slowmem: userfaultfd");
		_exit(1);
	}
	return fd;
}

static void *serve(void *arg)
{
	int out = open(getenv("SLOWMEM_LOG"), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600), fd;
	const char *pages = getenv("SLOWMEM_PAGES");
	uint64_t done[2] = {0, 0}, start, most = pages ? strtoull(pages, NULL, 10) : UINT64_MAX;
	struct uffd_msg msg;

	(void)arg;
	while (!(start = mapped_at(getenv("SLOWMEM_FILE"))))
		usleep(LOOK_US);
	fd = slow_down(start);
	while (done[0] < most && read(fd, &msg, sizeof(msg)) == sizeof(msg)) {
		uint64_t began = now_ns();
		struct timespec delay = {.tv_nsec = DELAY_NS};
		struct uffdio_zeropage page = {
			.range = {msg.arg.pagefault.address & ~(uint64_t)(PAGE - 1), PAGE}};

		nanosleep(&delay, NULL);
		if (ioctl(fd, UFFDIO_ZEROPAGE, &page))
			perror("slowmem: UFFDIO_ZEROPAGE");
		done[0]++;
		done[1] += now_ns() - began;
		if (pwrite(out, done, sizeof(done), 0) != sizeof(done))
			perror("slowmem: log");
	}
	return NULL;
}

__attribute__((constructor)) static void slowmem_begin(void)
{
	pthread_t thread;

	if (getenv("SLOWMEM_FILE") && getenv("SLOWMEM_LOG"))
		pthread_create(&thread, NULL, serve, NULL);
}
