// SPDX-License-Identifier: GPL-2.0-or-later
/* Any bytes as a text twin. What can be read is printed again, and that must be readable and the same. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tracefile/tracefile.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The text form of a file with these bytes; NULL if they are not a trace. */
static char *twin_of(const void *data, size_t size)
{
	static struct batch batch;
	int fd = memfd_create("fuzz", MFD_CLOEXEC), more = 0;
	struct reader *r;
	char path[32], *text = NULL;
	size_t len;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	if (!textfile_reader.open(path, NULL, &r)) {
		const struct event_type *last = NULL;

		f = open_memstream(&text, &len);
		textfile_head(&r->info, f);
		while ((more = reader_next(r, &batch)) > 0)
			for (unsigned int i = 0; i < batch.nr; i++) {
				if (batch.ev[i].type != last)
					textfile_type(batch.ev[i].type, f);
				last = batch.ev[i].type;
				textfile_print(&batch.ev[i], f);
				fputc('\n', f);
			}
		fclose(f);
		reader_close(r);
	}
	close(fd);
	if (more < 0) {
		free(text);
		return NULL;
	}
	return text;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *once = twin_of(data, size), *twice = once ? twin_of(once, strlen(once)) : NULL;

	/* The table of types fills up over many inputs; only then may the second reading fail. */
	if (once && (twice ? strcmp(once, twice) != 0 : event_types_count() < EVENT_TYPES_MAX))
		abort();
	free(once);
	free(twice);
	return 0;
}
