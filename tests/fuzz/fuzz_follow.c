// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A guest's ring that changes while it is followed (fetch/ring_follow.h). Input: how often the guest writes, and as
 * often { u16 at, u8 len, bytes }, then the ring. What was taken is written as a ring, which must be readable.
 */
#include <errno.h>

#include "fetch/source_internal.h"
#include "readers/ring/ring_image.h"
#include "walk.h"

enum { WRITES_MAX = 16 };

struct guest {
	const uint8_t *script, *end; /* what it writes next */
	unsigned int writes;
	uint8_t *ring;
	size_t size;
};

struct out {
	uint8_t *data;
	size_t len;
};

static void guest_write(struct guest *g)
{
	uint16_t at;
	size_t len;

	if (!g->writes || g->end - g->script < 3)
		return;
	g->writes--;
	memcpy(&at, g->script, 2);
	len = g->script[2];
	g->script += 3;
	len = len < (size_t)(g->end - g->script) ? len : (size_t)(g->end - g->script);
	if (at < g->size)
		memcpy(g->ring + at, g->script, len < g->size - at ? len : g->size - at);
	g->script += len;
}

/* The guest writes between two reads, and while a look lasts. */
static int guest_read(void *arg, uint64_t offset, void *to, size_t len)
{
	struct guest *g = arg;

	if (offset > g->size || len > g->size - offset)
		return -EFAULT;
	guest_write(g);
	memcpy(to, g->ring + offset, len);
	return 0;
}

static int guest_put(void *arg, uint64_t offset, const void *from, size_t len)
{
	struct guest *g = arg;

	if (offset > g->size || len > g->size - offset)
		return -EFAULT;
	memcpy(g->ring + offset, from, len);
	return 0;
}

static int out_write(void *arg, const void *data, size_t len)
{
	struct out *o = arg;

	o->data = realloc(o->data, o->len + len + 1);
	if (!o->data)
		abort();
	memcpy(o->data + o->len, data, len);
	o->len += len;
	return 0;
}

static void written_check(struct ring_follow *f)
{
	struct out o = {0};
	struct ring_image img;
	struct ring_record rec;
	uint64_t nr = 0;

	if (!ring_follow_write(f, out_write, &o)) {
		if (ring_image_open(o.data, o.len, "written", &img))
			abort();
		for (unsigned int cpu = 0; cpu < img.nr_cpus; cpu++) {
			struct ring_cursor c = {0};

			while (ring_cursor_next(&img, cpu, &c, &rec))
				nr++;
		}
		if (nr > ring_follow_records(f))
			abort();
	}
	free(o.data);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct guest g = {.writes = size ? data[0] % WRITES_MAX : 0};
	struct ring_follow *f;
	size_t script = 1;

	for (unsigned int i = 0; i < g.writes && script + 3 <= size; i++)
		script += 3u + data[script + 2];
	if (script >= size)
		return 0;
	g.script = data + 1;
	g.end = data + script;
	g.size = size - script;
	g.ring = malloc(g.size);
	memcpy(g.ring, data + script, g.size);
	if (!ring_follow_new(guest_read, data[0] & 0x80 ? guest_put : NULL, &g, "fuzz", &f)) {
		for (int i = 0; i < 4 && !ring_follow_look(f, i == 3); i++)
			;
		written_check(f);
		ring_follow_free(f);
	}
	free(g.ring);
	return 0;
}
