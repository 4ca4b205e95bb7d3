// SPDX-License-Identifier: GPL-2.0-or-later
/* A table of the mapped files, which the handler of SIGBUS searches for the address of the fault. */
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file_map.h"
#include "base/new_file.h"
#include "base/temporary.h"

enum { MAPS_MAX = 256 };

struct map {
	_Atomic(uintptr_t) start; /* 0: unused; what follows is written before */
	size_t len;
	char message[320];
};

/* Signals belong to the process. More maps than there is space for are maps whose SIGBUS is not explained. */
static struct map *maps(void)
{
	static struct map process_wide[MAPS_MAX];

	return process_wide;
}

static const struct map *map_find(uintptr_t address)
{
	for (const struct map *m = maps(); m < maps() + MAPS_MAX; m++) {
		uintptr_t start = atomic_load(&m->start);

		if (start && address >= start && address - start < m->len)
			return m;
	}
	return NULL;
}

static void bus_error(int nr, siginfo_t *info, void *context)
{
	const struct map *m = map_find((uintptr_t)info->si_addr);

	(void)context;
	if (m) {
		ssize_t n = write(STDERR_FILENO, m->message, strlen(m->message));

		(void)n;
		temporary_delete_all();
		_exit(EXIT_FAILURE);
	}
	signal(nr, SIG_DFL); /* the access is repeated when the handler has returned */
}

void file_map_init(void)
{
	struct sigaction sa = {.sa_flags = SA_SIGINFO};

	sa.sa_sigaction = bus_error;
	sigaction(SIGBUS, &sa, NULL);
}

static void map_add(uintptr_t start, size_t len, const char *path)
{
	for (struct map *m = maps(); m < maps() + MAPS_MAX; m++) {
		if (atomic_load(&m->start))
			continue;
		m->len = len;
		snprintf(m->message, sizeof(m->message),
			 "hostrace: %.256s: became shorter while it was read\n", path);
		atomic_store(&m->start, start);
		return;
	}
}

void *file_map(int fd, size_t len, const char *path)
{
	void *map = mmap(NULL, len, PROT_READ, MAP_PRIVATE, fd, 0);

	if (map == MAP_FAILED) {
		fail(-errno, "%s: %s", path, strerror(errno));
		return NULL;
	}
	map_add((uintptr_t)map, len, path);
	return map;
}

void file_unmap(void *map, size_t len)
{
	if (!map)
		return;
	for (struct map *m = maps(); m < maps() + MAPS_MAX; m++)
		if (atomic_load(&m->start) == (uintptr_t)map)
			atomic_store(&m->start, 0);
	munmap(map, len);
}
