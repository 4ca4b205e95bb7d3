// SPDX-License-Identifier: GPL-2.0-or-later
/* The one descriptor, or one for each reading. */
#include "vm/reread.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/read_full.h"

void reread_open(struct reread *f, const char *path, bool stays_open)
{
	*f = (struct reread){.fd = -1};
	if (stays_open)
		f->fd = open(path, O_RDONLY | O_CLOEXEC);
	else
		f->path = strdup(path);
}

void reread_close(struct reread *f)
{
	if (f->fd >= 0)
		close(f->fd);
	free(f->path);
	*f = (struct reread){.fd = -1};
}

static bool fd_text(int fd, char *buf, size_t size)
{
	ssize_t n = fd < 0 ? -1 : pread_full(fd, buf, size - 1, 0);

	buf[n > 0 ? n : 0] = '\0';
	return n >= 0;
}

bool reread_text(const struct reread *f, char *buf, size_t size)
{
	_cleanup_close_ int fd = f->path ? open(f->path, O_RDONLY | O_CLOEXEC) : -1;

	return fd_text(f->path ? fd : f->fd, buf, size);
}

uint64_t reread_number(const char *text, const char *key)
{
	size_t len = strlen(key);

	for (const char *p = text; p; p = strchr(p, '\n')) {
		p += *p == '\n';
		if (!strncmp(p, key, len) && p[len] == ' ')
			return strtoull(p + len, NULL, 10);
	}
	return 0;
}
