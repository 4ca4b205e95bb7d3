// SPDX-License-Identifier: GPL-2.0-or-later
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "vm/memory.h"
#include "vm/proc.h"

/* /proc/PID/mem stays bound to the address space that was opened: a later process of the same
 * number is not read. */
static int process_read(const struct memory *m, uint64_t addr, void *buf, size_t size)
{
	for (size_t done = 0; done < size;) {
		ssize_t n = pread(m->fd, (uint8_t *)buf + done, size - done, (off_t)(addr + done));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return errno == EIO ? -EFAULT : -errno;
		if (!n)
			return -ESRCH;
		done += (size_t)n;
	}
	return 0;
}

static bool name_begins(const char *name, const char *with)
{
	return !strncmp(name, with, strlen(with));
}

/* "start-end perms offset device inode   name" */
bool memory_range_parse(const char *line, struct memory_range *ret)
{
	char perms[5] = "";
	uint64_t inode;
	int name = 0;

	*ret = (struct memory_range){0};
	if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %*x %*x:%*x %" SCNu64 " %n", &ret->start,
		   &ret->end, perms, &inode, &name) < 4 ||
	    strlen(perms) != 4 || ret->start >= ret->end)
		return false;
	ret->read = perms[0] == 'r';
	ret->write = perms[1] == 'w';
	ret->exec = perms[2] == 'x';
	ret->shared = perms[3] == 's';
	ret->file = inode != 0;
	if (!name)
		return true;
	line += name;
	ret->heap = name_begins(line, "[heap]");
	ret->secret = name_begins(line, "/secretmem");
	ret->device = name_begins(line, "/dev/vfio/") || name_begins(line, "/dev/mem") ||
		      name_begins(line, "anon_inode:[vfio-device]");
	return true;
}

static int ranges_read(struct memory *m)
{
	_cleanup_free_ char *line = NULL;
	size_t size = 0;

	while (m->nr < MEMORY_RANGES_MAX && getline(&line, &size, m->maps) > 0) {
		if (array_room(m->range, m->nr))
			return -ENOMEM;
		m->nr += memory_range_parse(line, &m->range[m->nr]);
	}
	return 0;
}

static int cannot_read(pid_t pid, int err)
{
	if (err == -ESRCH || err == -ENOENT)
		return fail(-ESRCH, "process %d has exited", (int)pid);
	fail(err, "cannot read the memory of process %d: %s", (int)pid, strerror(-err));
	return fail_hint(err, "run as root, with CAP_SYS_PTRACE, or as the VM's user if "
			      "/proc/sys/kernel/yama/ptrace_scope is 0");
}

int memory_open(pid_t pid, uint64_t start, struct memory *ret)
{
	char path[64];
	int err;

	*ret = (struct memory){.read = process_read};
	snprintf(path, sizeof(path), "/proc/%d/mem", (int)pid);
	ret->fd = open(path, O_RDONLY | O_CLOEXEC);
	if (ret->fd < 0) {
		err = -errno;
		*ret = (struct memory){0};
		return cannot_read(pid, err);
	}
	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	ret->maps = fopen(path, "re");
	err = ret->maps ? ranges_read(ret) : cannot_read(pid, -errno);
	if (!err && (!ret->nr || (start && proc_start(pid) != start)))
		err = cannot_read(pid, -ESRCH);
	if (err)
		memory_close(ret);
	return err;
}

int memory_reread(struct memory *m)
{
	int err;

	rewind(m->maps);
	m->nr = 0;
	err = ranges_read(m);
	return err || m->nr ? err : fail(-ESRCH, "the process has exited");
}

void memory_close(struct memory *m)
{
	if (!m->read)
		return;
	close(m->fd);
	if (m->maps)
		fclose(m->maps);
	free(m->range);
	*m = (struct memory){0};
}
