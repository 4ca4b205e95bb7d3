// SPDX-License-Identifier: GPL-2.0-or-later
/* trace-cmd's files as anybody may have made them, as a host's and as a guest's; and a page of the kernel's alone. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "guestside/ftrace.h"
#include "readers/tracedat.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
const char *__lsan_default_suppressions(void);

/* The library's parser loses a few bytes with every format that it refuses (1.7.1); a format is parsed once. */
const char *__lsan_default_suppressions(void)
{
	return "leak:libtraceevent";
}

static void page_walk(const uint8_t *data, size_t size)
{
	uint8_t *page = malloc(size ? size : 1); /* its end is the allocation's, so that a step too far is seen */
	struct ftrace_page p;
	const uint8_t *entry;
	size_t len, nr = 0;
	uint64_t time;

	if (!page)
		abort();
	memcpy(page, data, size);
	if (!ftrace_page_open(&p, page, size, 8))
		while (ftrace_page_next(&p, &entry, &len, &time))
			if (entry < page || entry + len > page + size || ++nr > size)
				abort();
	free(page);
}

static void file_walk(const char *path, bool guest)
{
	static struct batch batch;
	struct read_hint hint = {.until_ns = UINT64_MAX, .guest = guest};
	struct reader *r;

	if (tracedat_reader.open(path, &hint, &r))
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
	int fd = memfd_create("trace.dat", MFD_CLOEXEC);

	page_walk(data, size);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	file_walk(path, false);
	file_walk(path, true);
	close(fd);
	return 0;
}
