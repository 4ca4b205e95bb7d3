// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/new_file.h"

/* Does `path` exist and is neither a regular file nor a link to one? */
static bool is_special_file(const char *path)
{
	struct stat st;

	return !stat(path, &st) && !S_ISREG(st.st_mode);
}

bool is_same_file(const char *a, const char *b)
{
	struct stat x, y;

	return !stat(a, &x) && !stat(b, &y) && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

static int open_special(struct new_file *f, bool devices)
{
	struct stat st;

	if (!stat(f->path, &st) && S_ISDIR(st.st_mode))
		return fail(-EISDIR, "%s: %s", f->path, strerror(EISDIR));
	if (!devices)
		return fail(-EEXIST, "%s exists and is not a regular file", f->path);
	f->file = fopen(f->path, "we");
	return f->file ? 0 : fail(-errno, "%s: %s", f->path, strerror(errno));
}

static int open_temporary(struct new_file *f, mode_t mode)
{
	int fd;

	if (asprintf(&f->temporary, "%s.%d.tmp", f->path, (int)getpid()) < 0) {
		f->temporary = NULL;
		return fail(-ENOMEM, "out of memory");
	}
	unlink(f->temporary); /* of an earlier process with this pid */
	fd = open(f->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode);
	f->file = fd < 0 ? NULL : fdopen(fd, "w");
	return f->file ? 0 : fail(-errno, "%s: %s", f->path, strerror(errno));
}

int new_file_open(struct new_file *f, const char *path, mode_t mode, bool devices)
{
	struct stat st;
	bool special = is_special_file(path);
	int err;

	*f = (struct new_file){0};
	if (!lstat(path, &st) && S_ISLNK(st.st_mode) && !special) {
		f->path = realpath(path, NULL);
		special = !f->path; /* a link to nothing: it stays, what it names is created */
	}
	if (!f->path)
		f->path = strdup(path);
	if (!f->path)
		return fail(-ENOMEM, "out of memory");
	err = special ? open_special(f, devices) : open_temporary(f, mode);
	return err ? new_file_close(f, err) : 0;
}

int new_file_close(struct new_file *f, int err)
{
	bool bad = f->file && ferror(f->file);

	errno = 0;
	if (f->file && fclose(f->file))
		bad = true;
	/* The reader of a pipe has seen enough: `hostrace list -o pipe` and `head` behind it. */
	if (!err && bad && (f->temporary || errno != EPIPE))
		err = fail(errno ? -errno : -EIO, "%s: %s", f->path,
			   errno ? strerror(errno) : "write error");
	if (!err && f->temporary && rename(f->temporary, f->path))
		err = fail(-errno, "%s: %s", f->path, strerror(errno));
	if (err && f->temporary && f->file)
		unlink(f->temporary);
	free(f->path);
	free(f->temporary);
	*f = (struct new_file){0};
	return err;
}
