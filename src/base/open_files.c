// SPDX-License-Identifier: GPL-2.0-or-later
/* The first get opens a path, further ones duplicate its descriptor; only regular files are kept. */
#include "base/open_files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/file_map.h"
#include "base/read_full.h"

enum { FILES_MAX = 256 }; /* further ones are opened anew */

struct open_file {
	char *path;
	int fd;
	const struct reader_ops *format;
};

static struct open_file *file_find(const struct open_files *files, const char *path)
{
	for (unsigned int i = 0; files && i < files->nr; i++)
		if (!strcmp(files->file[i].path, path))
			return &files->file[i];
	return NULL;
}

static int file_keep(struct open_files *files, const char *path, int fd)
{
	struct stat st;
	char *name;

	if (fd < 0 || files->nr == FILES_MAX || fstat(fd, &st) || !S_ISREG(st.st_mode) ||
	    array_room(files->file, files->nr) || !(name = strdup(path)))
		return fd;
	files->file[files->nr++] = (struct open_file){name, fd, NULL};
	return fcntl(fd, F_DUPFD_CLOEXEC, 0);
}

int open_files_get(struct open_files *files, const char *path)
{
	const struct open_file *known = file_find(files, path);
	int fd;

	if (known)
		return fcntl(known->fd, F_DUPFD_CLOEXEC, 0);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	return files ? file_keep(files, path, fd) : fd;
}

const struct reader_ops **open_files_format(const struct open_files *files, const char *path)
{
	struct open_file *known = file_find(files, path);

	return known ? &known->format : NULL;
}

int open_files_map(struct open_files *files, const char *path, uint8_t **ret, uint64_t *ret_bytes)
{
	_cleanup_close_ int fd = open_files_get(files, path);
	struct stat st;

	*ret = NULL;
	if (fd < 0 || fstat(fd, &st))
		return fail(-errno, "%s: %s", path, strerror(errno));
	if (!S_ISREG(st.st_mode))
		return fail(-EINVAL, "%s: not a regular file", path);
	*ret_bytes = (uint64_t)st.st_size;
	if (*ret_bytes)
		*ret = file_map(fd, *ret_bytes, path);
	return *ret_bytes && !*ret ? -EIO : 0;
}

/* ---- a stream over a descriptor whose position others share ---- */

struct stream {
	int fd;
	off64_t at;
};

static ssize_t stream_read(void *cookie, char *to, size_t len)
{
	struct stream *s = cookie;
	ssize_t n = pread_full(s->fd, to, len, (uint64_t)s->at);

	if (n < 0) {
		errno = (int)-n;
		return -1;
	}
	s->at += n;
	return n;
}

static int stream_seek(void *cookie, off64_t *at, int whence)
{
	struct stream *s = cookie;

	if (whence == SEEK_END) {
		errno = EINVAL;
		return -1;
	}
	s->at = *at += whence == SEEK_CUR ? s->at : 0;
	return 0;
}

static int stream_close(void *cookie)
{
	struct stream *s = cookie;

	close(s->fd);
	free(s);
	return 0;
}

FILE *open_files_stream(struct open_files *files, const char *path)
{
	static const cookie_io_functions_t functions = {
		.read = stream_read, .seek = stream_seek, .close = stream_close};
	struct stream *s = calloc(1, sizeof(*s));
	FILE *f;

	if (!s)
		return NULL;
	s->fd = open_files_get(files, path);
	f = s->fd < 0 ? NULL : fopencookie(s, "r", functions);
	if (!f && s->fd >= 0)
		close(s->fd);
	if (!f)
		free(s);
	return f;
}

void open_files_close(struct open_files *files)
{
	for (unsigned int i = 0; i < files->nr; i++) {
		close(files->file[i].fd);
		free(files->file[i].path);
	}
	free(files->file);
	*files = (struct open_files){0};
}
