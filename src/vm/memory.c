// SPDX-License-Identifier: GPL-2.0-or-later
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "vm/memory.h"

static int process_read(const struct memory *m, uint64_t addr, void *buf, size_t size)
{
	struct iovec here = {.iov_base = buf, .iov_len = size};
	struct iovec there = {.iov_base = (void *)(uintptr_t)addr, .iov_len = size};
	ssize_t n = process_vm_readv(m->pid, &here, 1, &there, 1, 0);

	if (n < 0)
		return -errno;
	return (size_t)n == size ? 0 : -EFAULT;
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
	ret->heap = name && !strncmp(line + name, "[heap]", 6);
	return true;
}

static int ranges_read(struct memory *m, FILE *f)
{
	_cleanup_free_ char *line = NULL;
	size_t size = 0;

	while (m->nr < MEMORY_RANGES_MAX && getline(&line, &size, f) > 0) {
		if (array_room(m->range, m->nr))
			return -ENOMEM;
		m->nr += memory_range_parse(line, &m->range[m->nr]);
	}
	return 0;
}

static int may_not(pid_t pid, int err)
{
	if (err == -ESRCH || err == -ENOENT)
		return fail(-ESRCH, "process %d has exited", (int)pid);
	fail(err, "no permission to read the memory of process %d: %s", (int)pid, strerror(-err));
	return fail_hint(err, "run as root, with CAP_SYS_PTRACE, or as the VM's user if "
			      "/proc/sys/kernel/yama/ptrace_scope is 0");
}

int memory_open(pid_t pid, struct memory *ret)
{
	char path[64], byte;

	*ret = (struct memory){.read = process_read, .pid = pid};
	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	_cleanup_fclose_ FILE *f = fopen(path, "re");
	int err = f ? ranges_read(ret, f) : may_not(pid, -errno);

	for (unsigned int i = 0; !err && i < ret->nr; i++) {
		if (!ret->range[i].read || ret->range[i].file)
			continue;
		err = memory_read(ret, ret->range[i].start, &byte, 1); /* may we at all? */
		if (err == -EPERM || err == -ESRCH)
			err = may_not(pid, err);
		else
			err = 0;
		break;
	}
	if (!err && !ret->nr)
		err = may_not(pid, -ESRCH);
	if (err)
		memory_close(ret);
	return err;
}

void memory_close(struct memory *m)
{
	free(m->range);
	m->range = NULL;
	m->nr = 0;
}
