// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Locking, creating under a temporary name, renaming and syncing, with the checks that a file is still the one that was
 * opened.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <string.h>
#include <sys/file.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/growing_file.h"
#include "base/new_file.h"
#include "base/process.h"
#include "base/safe_path.h"
#include "base/temporary.h"
#include "base/user_rights.h"

static int system_fail(const char *path)
{
	return fail(-errno, "%s: %s", path, strerror(errno));
}

/* May the open file be replaced? A typing error must not cost data, nor must another user's file be touched. */
static int check_old(const struct growing_file *f, int fd)
{
	uint8_t head[GROWING_FILE_HEAD];
	struct stat st;
	ssize_t n;

	if (fstat(fd, &st))
		return system_fail(f->path);
	if (!S_ISREG(st.st_mode))
		return fail(-EEXIST, "%s exists and is not a regular file", f->path);
	if (st.st_uid != file_owner())
		return fail(-EPERM, "%s exists and belongs to user %u; not overwriting it", f->path,
			    st.st_uid);
	if (flock(fd, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK)
		return fail(-EBUSY, "%s is being written by another process", f->path);
	n = pread(fd, head, sizeof(head), 0);
	if (n < 0)
		return system_fail(f->path);
	if (n && !f->ours(head, (size_t)n))
		return fail(-EEXIST, "%s exists and is not a hostrace trace; not overwriting it",
			    f->path);
	return 0;
}

static int open_old(struct growing_file *f)
{
	f->old = safe_path_open(f->at, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0);
	if (f->old >= 0)
		return check_old(f, f->old);
	if (errno == ELOOP)
		return fail(-ELOOP, "%s is a symbolic link; traces are not written through links",
			    f->path);
	return errno == ENOENT ? 0 : system_fail(f->path);
}

static int open_dir(const char *path)
{
	char dir[PATH_MAX];

	safe_path_directory(path, dir);
	return open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static int open_new(struct growing_file *f)
{
	const char *name = f->at;

	if (f->old >= 0 || f->whole) {
		if (asprintf(&f->temporary, "%s.%d.tmp", f->at, (int)getpid()) < 0) {
			f->temporary = NULL;
			return fail(-ENOMEM, "out of memory");
		}
		name = f->temporary;
		safe_path_unlink(name); /* of an earlier process with this pid */
		temporary_add(name);
	}
	f->fd = safe_path_open(name, O_WRONLY | O_CREAT | O_EXCL, 0600);
	if (f->fd < 0)
		return fail(-errno, "cannot create %s: %s", f->path, strerror(errno));
	flock(f->fd, LOCK_EX | LOCK_NB); /* if the file system has locks */
	f->dir = open_dir(f->at);
	return 0;
}

int growing_file_create(struct growing_file *f, const char *path, bool whole,
			bool (*ours)(const uint8_t *head, size_t len))
{
	uint64_t begun = user_rights_begin();
	int err;

	*f = (struct growing_file){
		.fd = -1, .old = -1, .dir = -1, .path = strdup(path), .whole = whole, .ours = ours};
	err = f->path ? safe_path_resolve(path, &f->at) : fail(-ENOMEM, "out of memory");
	if (!err)
		err = open_old(f);
	if (!err)
		err = open_new(f);
	user_rights_end(begun);
	if (err)
		growing_file_close(f, false);
	return err;
}

int growing_file_stream(struct growing_file *f, int fd, const char *name)
{
	*f = (struct growing_file){.fd = fd, .old = -1, .dir = -1, .path = strdup(name)};
	if (f->path)
		return 0;
	growing_file_close(f, false);
	return fail(-ENOMEM, "out of memory");
}

static bool is_at(const char *path, int fd)
{
	struct stat x, y;

	return path && !lstat(path, &x) && !fstat(fd, &y) && x.st_dev == y.st_dev &&
	       x.st_ino == y.st_ino;
}

static int sync_fail(const char *path)
{
	return fail(-errno, "%s: writing to disk failed, data is lost: %s", path, strerror(errno));
}

int growing_file_sync(const struct growing_file *f)
{
	if (!f->at)
		return 0;
	if (fdatasync(f->fd))
		return sync_fail(f->path);
	/* Some network file systems cannot do it for directories. */
	if (f->dir >= 0 && fsync(f->dir) && errno != EINVAL && errno != ENOTSUP)
		return sync_fail(f->path);
	return 0;
}

int growing_file_publish(struct growing_file *f)
{
	if (!f->temporary)
		return 0;
	if (f->old >= 0 && !is_at(f->at, f->old))
		return fail(-EBUSY, "%s was replaced by another process; the new data is in %s",
			    f->path, f->temporary);
	if (fdatasync(f->fd))
		return sync_fail(f->path);
	if (safe_path_rename(f->temporary, f->at))
		return system_fail(f->path);
	temporary_remove(f->temporary);
	free(f->temporary);
	f->temporary = NULL;
	return 0;
}

int growing_file_check(const struct growing_file *f, uint64_t written)
{
	struct stat st;

	if (!f->at)
		return 0;
	if (fstat(f->fd, &st))
		return system_fail(f->path);
	if (!st.st_nlink)
		return fail(-ENOENT, "%s was deleted or replaced while it was written", f->path);
	if ((uint64_t)st.st_size < written)
		return fail(-EIO,
			    "%s was truncated by another process: %" PRIu64 " of %" PRIu64
			    " bytes are there",
			    f->path, (uint64_t)st.st_size, written);
	return 0;
}

int growing_file_close(struct growing_file *f, bool keep)
{
	const char *name = f->temporary ? f->temporary : f->at;
	int err = 0;

	if (f->fd >= 0 && !keep && is_at(name, f->fd))
		safe_path_unlink(name);
	if (f->fd >= 0 && close(f->fd)) {
		err = system_fail(f->path);
		if (f->whole)
			safe_path_unlink(name);
	}
	if (f->old >= 0)
		close(f->old);
	if (f->dir >= 0)
		close(f->dir);
	temporary_remove(f->temporary);
	free(f->path);
	free(f->at);
	free(f->temporary);
	*f = (struct growing_file){.fd = -1, .old = -1, .dir = -1};
	return err;
}
