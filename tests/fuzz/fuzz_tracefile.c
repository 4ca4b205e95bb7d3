// SPDX-License-Identifier: GPL-2.0-or-later
/* Any bytes as a .hrt file: opened, counted and read to the end, every field of every event looked at. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tracefile.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void look(const struct event *ev)
{
	char text[256];

	for (unsigned int i = 0; i < ev->type->nr_fields; i++)
		field_print(ev, &ev->type->fields[i], text, sizeof(text));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct batch batch;
	static uint64_t counts[EVENT_TYPES_MAX];
	int fd = memfd_create("fuzz", MFD_CLOEXEC);
	struct reader *r;
	char path[32];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	if (!tracefile_reader.open(path, NULL, &r)) {
		r->ops->counts(r, counts);
		while (reader_next(r, &batch) > 0)
			for (unsigned int i = 0; i < batch.nr; i++)
				look(&batch.ev[i]);
		reader_close(r);
	}
	close(fd);
	return 0;
}
