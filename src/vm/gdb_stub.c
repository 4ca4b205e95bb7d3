// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Is a UNIX socket the gdb stub of a VM? By the command lines of all processes, as a connection would tell only once
 * it has stopped the VM: QEMU does that when a debugger connects, and continues it only when one detaches.
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "vm/cmdline.h"
#include "vm/gdb_stub.h"
#include "vm/proc.h"

struct socket_file {
	const char *path;
	struct stat st;
};

static const char *last_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/*
 * Paths are as the process sees them, relative ones of the directory that it works in. Without CAP_SYS_PTRACE, as in a
 * recorder, that may not be looked at: the same name must do.
 */
static bool is_socket_of(pid_t pid, const char *path, const struct socket_file *socket)
{
	char seen[PATH_MAX + 64];
	struct stat st;

	snprintf(seen, sizeof(seen), "/proc/%d/%s/%s", pid, *path == '/' ? "root" : "cwd", path);
	if (!stat(seen, &st))
		return st.st_dev == socket->st.st_dev && st.st_ino == socket->st.st_ino;
	return errno == EACCES && !strcmp(last_name(path), last_name(socket->path));
}

static bool has_stub(pid_t pid, const struct socket_file *socket)
{
	_cleanup_free_ char *text = NULL;
	_cleanup_free_ char **words = NULL;
	struct vm_cmdline line;
	unsigned int nr;
	bool has;

	if (proc_cmdline(pid, &text, &words, &nr) || vm_cmdline_parse(words, nr, &line))
		return false;
	has = *line.gdb && is_socket_of(pid, line.gdb, socket);
	vm_cmdline_free(&line);
	return has;
}

pid_t gdb_stub_owner(const char *path)
{
	struct socket_file socket = {.path = path};
	_cleanup_closedir_ DIR *dir = NULL;
	const struct dirent *at;

	if (stat(path, &socket.st) || !S_ISSOCK(socket.st.st_mode))
		return 0;
	dir = opendir("/proc");
	while (dir && (at = readdir(dir)))
		if (isdigit((unsigned char)*at->d_name) && has_stub(atoi(at->d_name), &socket))
			return atoi(at->d_name);
	return 0;
}
