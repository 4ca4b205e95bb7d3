/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOSTRACE_SQL_FD_VFS_H
#define HOSTRACE_SQL_FD_VFS_H

#include <sqlite3.h>

/* A file system of SQLite that has one file, whatever its name: a descriptor. */
struct fd_vfs {
	sqlite3_vfs vfs;
	int fd;	 /* borrowed; read and written */
	int err; /* -errno of the first call that failed; 0 */
};

/*
 * Adds it to SQLite's, for databases without a journal. SQLITE_OK or SQLITE_NOMEM. To be removed once the database is
 * closed.
 */
int fd_vfs_add(struct fd_vfs *v, const char *name, int fd);
void fd_vfs_remove(struct fd_vfs *v);

#endif
