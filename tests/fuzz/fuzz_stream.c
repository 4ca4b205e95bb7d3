// SPDX-License-Identifier: GPL-2.0-or-later
/* A guest stream as an agent, or who took its place, may have sent it; CRCs are mended so that more is reached. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "guestside/stream.h"
#include "guestside/stream_reader.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
const char *__lsan_default_suppressions(void);

/* As in fuzz_tracedat.c. */
const char *__lsan_default_suppressions(void)
{
	return "leak:libtraceevent";
}

static void file_walk(const uint8_t *data, size_t size)
{
	static struct batch batch;
	struct reader *r;
	char path[64];
	int fd = memfd_create("stream", MFD_CLOEXEC);

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	if (!stream_reader.open(path, NULL, &r)) {
		while (reader_next(r, &batch) > 0)
			for (unsigned int i = 0; i < batch.nr; i++)
				for (unsigned int f = 0; f < batch.ev[i].type->nr_fields; f++) {
					char text[64];

					field_print(&batch.ev[i], &batch.ev[i].type->fields[f],
						    text, sizeof(text));
				}
		reader_close(r);
	}
	close(fd);
}

static void crcs_mend(uint8_t *data, size_t size)
{
	struct stream_head h;

	for (size_t at = 0; size - at >= STREAM_HEAD; at += STREAM_HEAD + h.bytes) {
		if (!stream_head_read(data + at, &h) || size - at - STREAM_HEAD < h.bytes)
			return;
		stream_head_write(data + at, h.kind, h.cpu, data + at + STREAM_HEAD, h.bytes);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *copy = malloc(size + 1);

	if (!copy)
		abort();
	file_walk(data, size);
	memcpy(copy, data, size);
	crcs_mend(copy, size);
	file_walk(copy, size);
	free(copy);
	return 0;
}
