// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * SQLite's files on a descriptor that is open: a confined process opens none, and the name, the mode and the links of
 * an output are base/new_file.h's. There is one file, the database, which nobody else knows yet: no journal, no lock.
 */
#include <errno.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "sql/fd_vfs.h"

struct fd_file {
	sqlite3_file base;
	struct fd_vfs *vfs;
};

static int fd_of(sqlite3_file *file)
{
	return ((struct fd_file *)file)->vfs->fd;
}

/* SQLite's status does not say why. */
static int fd_failed(sqlite3_file *file, int status)
{
	struct fd_vfs *vfs = ((struct fd_file *)file)->vfs;

	vfs->err = vfs->err ?: -errno;
	return status;
}

/* ---- the file ---- */

static int fd_close(sqlite3_file *file)
{
	(void)file; /* its owner closes it */
	return SQLITE_OK;
}

static int fd_read(sqlite3_file *file, void *to, int nr, sqlite3_int64 at)
{
	char *p = to;
	ssize_t len;

	for (; nr > 0; nr -= (int)len, p += len, at += len) {
		len = pread(fd_of(file), p, (size_t)nr, at);
		if (len < 0 && errno == EINTR)
			len = 0;
		else if (len < 0)
			return fd_failed(file, SQLITE_IOERR_READ);
		else if (!len) {
			memset(p, 0, (size_t)nr);
			return SQLITE_IOERR_SHORT_READ;
		}
	}
	return SQLITE_OK;
}

static int fd_write(sqlite3_file *file, const void *from, int nr, sqlite3_int64 at)
{
	const char *p = from;
	ssize_t len;

	for (; nr > 0; nr -= (int)len, p += len, at += len) {
		len = pwrite(fd_of(file), p, (size_t)nr, at);
		if (len < 0 && errno == EINTR)
			len = 0;
		else if (len < 0)
			return fd_failed(file, SQLITE_IOERR_WRITE);
	}
	return SQLITE_OK;
}

static int fd_truncate(sqlite3_file *file, sqlite3_int64 size)
{
	return ftruncate(fd_of(file), size) ? fd_failed(file, SQLITE_IOERR_TRUNCATE) : SQLITE_OK;
}

static int fd_sync(sqlite3_file *file, int flags)
{
	(void)file, (void)flags; /* new_file_close() does where a file is replaced */
	return SQLITE_OK;
}

static int fd_size(sqlite3_file *file, sqlite3_int64 *ret)
{
	struct stat st;

	if (fstat(fd_of(file), &st))
		return fd_failed(file, SQLITE_IOERR_FSTAT);
	*ret = st.st_size;
	return SQLITE_OK;
}

static int fd_lock(sqlite3_file *file, int level)
{
	(void)file, (void)level;
	return SQLITE_OK;
}

static int fd_reserved(sqlite3_file *file, int *ret)
{
	(void)file;
	*ret = 0;
	return SQLITE_OK;
}

static int fd_control(sqlite3_file *file, int op, void *arg)
{
	(void)file, (void)op, (void)arg;
	return SQLITE_NOTFOUND;
}

static int fd_sector(sqlite3_file *file)
{
	(void)file;
	return 4096;
}

static int fd_device(sqlite3_file *file)
{
	(void)file;
	return SQLITE_IOCAP_SAFE_APPEND | SQLITE_IOCAP_POWERSAFE_OVERWRITE;
}

static const sqlite3_io_methods fd_methods = {
	.iVersion = 1,
	.xClose = fd_close,
	.xRead = fd_read,
	.xWrite = fd_write,
	.xTruncate = fd_truncate,
	.xSync = fd_sync,
	.xFileSize = fd_size,
	.xLock = fd_lock,
	.xUnlock = fd_lock,
	.xCheckReservedLock = fd_reserved,
	.xFileControl = fd_control,
	.xSectorSize = fd_sector,
	.xDeviceCharacteristics = fd_device,
};

/* ---- the file system of one file ---- */

static int vfs_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags, int *ret)
{
	(void)name;
	file->pMethods = NULL;
	if (!(flags & SQLITE_OPEN_MAIN_DB))
		return SQLITE_CANTOPEN;
	((struct fd_file *)file)->vfs = vfs->pAppData;
	file->pMethods = &fd_methods;
	if (ret)
		*ret = flags;
	return SQLITE_OK;
}

static int vfs_delete(sqlite3_vfs *vfs, const char *name, int sync)
{
	(void)vfs, (void)name, (void)sync;
	return SQLITE_IOERR_DELETE_NOENT;
}

static int vfs_access(sqlite3_vfs *vfs, const char *name, int flags, int *ret)
{
	(void)vfs, (void)name, (void)flags;
	*ret = 0; /* no journal */
	return SQLITE_OK;
}

static int vfs_full_name(sqlite3_vfs *vfs, const char *name, int nr, char *ret)
{
	(void)vfs;
	sqlite3_snprintf(nr, ret, "%s", name);
	return SQLITE_OK;
}

static int vfs_random(sqlite3_vfs *vfs, int nr, char *ret)
{
	(void)vfs;
	return (int)getrandom(ret, (size_t)nr, 0);
}

static int vfs_sleep(sqlite3_vfs *vfs, int us)
{
	(void)vfs;
	return us;
}

static int vfs_time(sqlite3_vfs *vfs, double *ret)
{
	(void)vfs;
	*ret = 2440587.5 + (double)time(NULL) / 86400; /* the Julian day of 1970-01-01 */
	return SQLITE_OK;
}

int fd_vfs_add(struct fd_vfs *v, const char *name, int fd)
{
	*v = (struct fd_vfs){.fd = fd};
	v->vfs = (sqlite3_vfs){
		.iVersion = 1,
		.szOsFile = sizeof(struct fd_file),
		.mxPathname = 64,
		.zName = name,
		.pAppData = v,
		.xOpen = vfs_open,
		.xDelete = vfs_delete,
		.xAccess = vfs_access,
		.xFullPathname = vfs_full_name,
		.xRandomness = vfs_random,
		.xSleep = vfs_sleep,
		.xCurrentTime = vfs_time,
	};
	return sqlite3_vfs_register(&v->vfs, 0);
}

void fd_vfs_remove(struct fd_vfs *v)
{
	sqlite3_vfs_unregister(&v->vfs);
}
