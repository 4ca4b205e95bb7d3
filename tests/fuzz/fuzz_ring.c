// SPDX-License-Identifier: GPL-2.0-or-later
/* A guest's ring, as its owner may have left it: through the image and the whole reader. */
#include <string.h>

#include "readers/ring/ring_image.h"
#include "walk.h"

static void image_walk(void *mem, size_t size)
{
	struct ring_image img;
	struct ring_record rec;
	struct ring_event ev;

	ring_find(mem, size, 0);
	if (ring_image_open(mem, size, "fuzz", &img))
		return;
	for (unsigned int i = 0; i < img.nr_events_max; i++)
		ring_image_event(&img, i, &ev);
	for (unsigned int cpu = 0; cpu < img.nr_cpus; cpu++) {
		struct ring_cursor c = {.pos = cpu * 7, .wait = cpu & 1};

		while (ring_cursor_next(&img, cpu, &c, &rec))
			if (rec.nr_args > RING_ARGS_MAX || rec.nr_frames > RING_FRAMES_MAX)
				abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	void *mem = malloc(size + !size);

	memcpy(mem, data, size);
	image_walk(mem, size);
	free(mem);
	walk_file(&ring_reader, data, size);
	return 0;
}
