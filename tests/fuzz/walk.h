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

#include "event/reader.h"
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

/* The bytes as a file under /proc/self/fd/: its descriptor, which the caller closes. */
static int walk_path(const uint8_t *data, size_t size, char *path, size_t path_size)
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC);

	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	snprintf(path, path_size, "/proc/self/fd/%d", fd);
	return fd;
}

static void walk_opened(const struct reader_ops *ops, const char *path, bool guest)
{
	static uint64_t counts[EVENT_TYPES_MAX];
	struct read_hint hint = {.until_ns = UINT64_MAX, .guest = guest};
	FILE *out = fopen("/dev/null", "w");
	struct reader *r;

	if (!out)
		abort();
	if (!ops->open(path, &hint, &r)) {
		if (ops->counts)
			ops->counts(r, counts);
		textfile_head(&r->info, out);
		walk_events(r, out);
		reader_close(r);
	}
	fclose(out);
}

/* As a host's file, or as a guest's. */
static inline void walk_file_as(const struct reader_ops *ops, bool guest, const uint8_t *data,
				size_t size)
{
	char path[64];
	int fd = walk_path(data, size, path, sizeof(path));

	walk_opened(ops, path, guest);
	close(fd);
}

static inline void walk_file(const struct reader_ops *ops, const uint8_t *data, size_t size)
{
	walk_file_as(ops, false, data, size);
}

#endif
