// SPDX-License-Identifier: GPL-2.0-or-later
/* The files that a process has mapped, from /proc/PID/maps, and opening the very file that is mapped. */
#include "collector/mapped.h"

#include <fcntl.h>
#include <inttypes.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

FILE *mappings_open(pid_t pid)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	return fopen(path, "re");
}

bool mapping_next(FILE *maps, struct mapping *m)
{
	char line[PATH_MAX + 128], rights[8];

	while (fgets(line, sizeof(line), maps)) {
		if (sscanf(line,
			   "%" SCNx64 "-%" SCNx64 " %7s %" SCNx64 " %x:%x %" SCNu64 " %4095[^\n]",
			   &m->from, &m->to, rights, &m->offset, &m->major, &m->minor, &m->inode,
			   m->path) != 8)
			continue;
		m->code = rights[2] == 'x';
		return true;
	}
	return false;
}

/* map_files needs CAP_CHECKPOINT_RESTORE; a confined recorder that follows a command no longer has it. */
int mapping_open(pid_t pid, const struct mapping *m)
{
	char path[PATH_MAX + 32];
	struct stat st;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/map_files/%" PRIx64 "-%" PRIx64, (int)pid, m->from,
		 m->to);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0)
		return fd;
	snprintf(path, sizeof(path), "/proc/%d/root%s", (int)pid, m->path);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0 || (!fstat(fd, &st) && st.st_ino == m->inode && major(st.st_dev) == m->major &&
		       minor(st.st_dev) == m->minor))
		return fd;
	close(fd);
	return -1;
}
