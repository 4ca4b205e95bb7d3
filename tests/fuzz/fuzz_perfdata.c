// SPDX-License-Identifier: GPL-2.0-or-later
/* perf's files as anybody may have made them, as a host's and as a guest's. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "readers/perfdata.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
const char *__lsan_default_suppressions(void);

/* The library's parser loses a few bytes with every format that it refuses (1.7.1); a format is parsed once. */
const char *__lsan_default_suppressions(void)
{
	return "leak:libtraceevent";
}

static void file_walk(const char *path, bool guest)
{
	static struct batch batch;
	struct read_hint hint = {.until_ns = UINT64_MAX, .guest = guest};
	struct reader *r;

	if (perfdata_reader.open(path, &hint, &r))
		return;
	while (reader_next(r, &batch) > 0)
		for (unsigned int i = 0; i < batch.nr; i++)
			for (unsigned int f = 0; f < batch.ev[i].type->nr_fields; f++) {
				char text[64];

				field_print(&batch.ev[i], &batch.ev[i].type->fields[f], text,
					    sizeof(text));
			}
	reader_close(r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char path[64];
	int fd = memfd_create("perf.data", MFD_CLOEXEC);

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	file_walk(path, false);
	file_walk(path, true);
	close(fd);
	return 0;
}
