// SPDX-License-Identifier: GPL-2.0-or-later
/* The first get opens a path, further ones duplicate its descriptor; only regular files are kept. */
#include "base/open_files.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"

enum { FILES_MAX = 256 }; /* further ones are opened anew */

struct open_file {
	char *path;
	int fd;
};

static int file_keep(struct open_files *files, const char *path, int fd)
{
	struct stat st;
	char *name;

	if (fd < 0 || files->nr == FILES_MAX || fstat(fd, &st) || !S_ISREG(st.st_mode) ||
	    array_room(files->file, files->nr) || !(name = strdup(path)))
		return fd;
	files->file[files->nr++] = (struct open_file){name, fd};
	return fcntl(fd, F_DUPFD_CLOEXEC, 0);
}

int open_files_get(struct open_files *files, const char *path)
{
	int fd;

	for (unsigned int i = 0; files && i < files->nr; i++)
		if (!strcmp(files->file[i].path, path))
			return fcntl(files->file[i].fd, F_DUPFD_CLOEXEC, 0);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	return files ? file_keep(files, path, fd) : fd;
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
