// SPDX-License-Identifier: GPL-2.0-or-later
#include <dirent.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "vm/vcpu_debugfs.h"

static const char root[] = VCPU_DEBUGFS;

static int tid_read(const char *vm, const char *vcpu)
{
	char path[600];
	int tid = -1;

	snprintf(path, sizeof(path), "%s/%.64s/%.64s/pid", root, vm, vcpu);
	_cleanup_fclose_ FILE *f = fopen(path, "re");
	return f && fscanf(f, "%d", &tid) == 1 ? tid : -1;
}

static int vm_search(const char *vm, pid_t tid)
{
	char path[600];
	struct dirent *d;
	int index;

	snprintf(path, sizeof(path), "%s/%.64s", root, vm);
	_cleanup_closedir_ DIR *dir = opendir(path);
	while (dir && (d = readdir(dir)))
		if (sscanf(d->d_name, "vcpu%d", &index) == 1 && tid_read(vm, d->d_name) == tid)
			return index;
	return -1;
}

int vcpu_debugfs_index(pid_t pid, pid_t tid)
{
	_cleanup_closedir_ DIR *dir = opendir(root);
	struct dirent *d;
	int index = -1, owner;

	while (dir && index < 0 && (d = readdir(dir)))
		if (sscanf(d->d_name, "%d-", &owner) == 1 && owner == pid)
			index = vm_search(d->d_name, tid);
	return index;
}
