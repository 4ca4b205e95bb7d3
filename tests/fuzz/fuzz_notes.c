// SPDX-License-Identifier: GPL-2.0-or-later
/* The file of notes next to a recording, as `hostrace view` reads it; adding and deleting a note changes nothing. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "browse/notes.h"
#include "walk.h"

static char dir[] = "/tmp/hostrace-fuzz-notes-XXXXXX";

static void dir_remove(void)
{
	if (!chdir(dir) && !unlink("notes") && !chdir("/"))
		rmdir(dir);
}

/* In a folder of this process. */
static const char *notes_path(void)
{
	static char path[64];

	if (!*path && (!mkdtemp(dir) || atexit(dir_remove)))
		abort();
	snprintf(path, sizeof(path), "%s/notes", dir);
	return path;
}

static void notes_put(const char *path, const uint8_t *data, size_t size)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	if (fd < 0 || write(fd, data, size) != (ssize_t)size || close(fd))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct note note = {1000, 2000, "a note"};
	const char *path = notes_path();
	json_t *before, *with = NULL, *after = NULL;

	notes_put(path, data, size);
	if (!notes_read(path, &before) && !notes_add(path, &note, &with) &&
	    (notes_delete(path, &note, &after) || !json_equal(before, after)))
		abort();
	json_decref(before);
	json_decref(with);
	json_decref(after);
	return 0;
}
