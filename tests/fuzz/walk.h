/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * For fuzz targets: bytes as a file, through the whole of a reader, and every event and field through the printers.
 */
#ifndef HOSTRACE_FUZZ_WALK_H
#define HOSTRACE_FUZZ_WALK_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "reader.h"
#include "tracefile/tracefile.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void walk_events(struct reader *r, FILE *out)
{
	static struct batch batch;
	uint64_t last = 0;

	while (reader_next(r, &batch) > 0) {
		if (!batch.nr || batch.nr > BATCH_MAX)
			abort(); /* reader.h: 1 means that there are events */
		for (unsigned int i = 0; i < batch.nr; i++) {
			const struct event *ev = &batch.ev[i];

			if (ev->time_ns < last && !r->info.late)
				abort(); /* in time order, or counted */
			last = ev->time_ns;
			textfile_print(ev, out);
		}
	}
}

static void walk_file(const struct reader_ops *ops, const uint8_t *data, size_t size)
{
	static uint64_t counts[EVENT_TYPES_MAX];
	FILE *out = fopen("/dev/null", "w");
	int fd = memfd_create("fuzz", MFD_CLOEXEC);
	struct reader *r;
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (!out || fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	if (!ops->open(path, NULL, &r)) {
		if (ops->counts)
			ops->counts(r, counts);
		textfile_head(&r->info, out);
		walk_events(r, out);
		reader_close(r);
	}
	close(fd);
	fclose(out);
}

#endif
