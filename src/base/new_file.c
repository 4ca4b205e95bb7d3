// SPDX-License-Identifier: GPL-2.0-or-later
/* A file is written under a temporary name; what is there already is looked at first. */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/new_file.h"
#include "base/process.h"
#include "base/safe_path.h"
#include "base/temporary.h"
#include "base/user_rights.h"

enum { MODE = 0600 };

bool is_same_file(const char *a, const char *b)
{
	struct stat x, y;

	return !stat(a, &x) && !stat(b, &y) && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

/* What was looked at is what is opened. */
static int open_special(struct new_file *f, const struct stat *found, bool devices)
{
	_cleanup_close_ int same = -1;
	struct stat st;
	char name[32];
	int fd;

	if (S_ISDIR(found->st_mode))
		return fail(-EISDIR, "%s: %s", f->path, strerror(EISDIR));
	if (!devices)
		return fail(-EEXIST, "%s exists and is not a regular file", f->path);
	same = open(f->at, O_PATH | O_CLOEXEC);
	if (same < 0 || fstat(same, &st))
		return fail(-errno, "%s: %s", f->path, strerror(errno));
	if (st.st_dev != found->st_dev || st.st_ino != found->st_ino)
		return fail(-EBUSY, "%s was replaced by another process", f->path);
	snprintf(name, sizeof(name), "/proc/self/fd/%d", same);
	fd = open(name, O_WRONLY | O_TRUNC | O_NOCTTY | O_CLOEXEC);
	f->file = fd < 0 ? NULL : fdopen(fd, "w");
	return f->file ? 0 : fail(-errno, "%s: %s", f->path, strerror(errno));
}

static int open_temporary(struct new_file *f)
{
	int fd, err;

	if (asprintf(&f->temporary, "%s.%d.tmp", f->at, (int)getpid()) < 0) {
		f->temporary = NULL;
		return fail(-ENOMEM, "out of memory");
	}
	safe_path_unlink(f->temporary); /* of an earlier process with this pid */
	temporary_add(f->temporary);
	fd = safe_path_open(f->temporary, O_RDWR | O_CREAT | O_EXCL, MODE);
	f->file = fd < 0 ? NULL : fdopen(fd, "w");
	if (f->file)
		return 0;
	err = fail(-errno, "%s: %s", f->path, strerror(errno));
	if (fd >= 0) {
		safe_path_unlink(f->temporary);
		close(fd);
	}
	return err;
}

/* Is `name` that of a temporary file for `file`, and has its writer ended? */
static bool is_left(const char *name, const char *file)
{
	size_t len = strlen(file);
	char *end;
	long pid;

	if (strncmp(name, file, len) || name[len] != '.' || !isdigit(name[len + 1]))
		return false;
	pid = strtol(name + len + 1, &end, 10);
	return !strcmp(end, ".tmp") && pid > 0 && pid <= INT_MAX && kill((pid_t)pid, 0) &&
	       errno == ESRCH;
}

void new_file_remove_left(const char *path)
{
	const char *slash = strrchr(path, '/'), *file = slash ? slash + 1 : path;
	uint64_t begun = user_rights_begin();
	_cleanup_closedir_ DIR *d = NULL;
	_cleanup_free_ char *at = NULL;
	char dir[PATH_MAX];
	struct dirent *e;
	struct stat st;

	if (!safe_path_resolve(path, &at)) {
		safe_path_directory(at, dir);
		d = opendir(dir);
	}
	while (d && (e = readdir(d)))
		if (is_left(e->d_name, file) &&
		    !fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW) &&
		    S_ISREG(st.st_mode) && st.st_uid == file_owner())
			unlinkat(dirfd(d), e->d_name, 0);
	user_rights_end(begun);
}

static bool is_link(const char *path)
{
	struct stat st;

	return !lstat(path, &st) && S_ISLNK(st.st_mode);
}

static int open_any(struct new_file *f, const char *given, bool devices)
{
	struct stat st;
	bool special;
	int err;

	*f = (struct new_file){0};
	err = safe_path_follow(given, &f->at, &st);
	special = !err && st.st_mode && !(S_ISREG(st.st_mode) && st.st_nlink);
	if (!err && !(f->path = strdup(is_link(given) && !special ? f->at : given)))
		err = fail(-ENOMEM, "out of memory");
	if (!err)
		err = special ? open_special(f, &st, devices) : open_temporary(f);
	return err ? new_file_close(f, err) : 0;
}

int new_file_open(struct new_file *f, const char *path, bool devices)
{
	uint64_t begun = user_rights_begin();
	int err = open_any(f, path, devices);

	user_rights_end(begun);
	return err;
}

/* Why an earlier write to a file failed, whose errno is lost. A device tells it again. */
static int lost_errno(int fd)
{
	struct statvfs fs;
	struct rlimit max;
	struct stat st;

	if (fstat(fd, &st))
		return EIO;
	if (!S_ISREG(st.st_mode))
		return write(fd, "\n", 1) < 0 ? errno : EIO;
	if (!getrlimit(RLIMIT_FSIZE, &max) && (rlim_t)st.st_size >= max.rlim_cur)
		return EFBIG;
	return fstatvfs(fd, &fs) || fs.f_bavail ? EIO : ENOSPC;
}

int stream_flush(FILE *file)
{
	bool bad = ferror(file);

	errno = 0;
	if (fflush(file))
		return errno;
	return bad ? lost_errno(fileno(file)) : 0;
}

/* Writes the rest and closes: 0 or an errno. */
static int new_file_finish(FILE *file, bool sync)
{
	int err = stream_flush(file);

	if (!err && sync && fdatasync(fileno(file)))
		err = errno;
	return fclose(file) && !err ? errno : err;
}

int new_file_close(struct new_file *f, int err)
{
	bool replaces = f->temporary && !access(f->at, F_OK);
	int failed = f->file ? new_file_finish(f->file, replaces && !err) : 0;

	/* The reader of a pipe has seen enough: `hostrace list -o pipe` and `head` reads it. */
	if (!err && failed && (f->temporary || failed != EPIPE))
		err = fail(-failed, "%s: %s", f->path, strerror(failed));
	if (!err && memory_failures())
		err = fail(-ENOMEM, "%s: out of memory", f->path);
	if (!err && f->temporary && safe_path_rename(f->temporary, f->at))
		err = fail(-errno, "%s: %s", f->path, strerror(errno));
	if (err && f->temporary && f->file)
		safe_path_unlink(f->temporary);
	temporary_remove(f->temporary);
	free(f->path);
	free(f->at);
	free(f->temporary);
	*f = (struct new_file){0};
	return err;
}
