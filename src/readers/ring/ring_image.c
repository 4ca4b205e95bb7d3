// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A guest ring seen from the host: memory that a guest owns, may still be writing, and may have filled with false data.
 * Geometry is read once into local copies and checked; after that nothing in the memory can lead outside it. A
 * guest that scribbles loses its own records only.
 *
 * Three kinds of memory, one rule (ring.h: the marks are right before and after the copy):
 *   - mapped and running (ivshmem, the guest RAM's file): ring_cursor_next() looks at the memory itself;
 *   - a copy of a running guest's memory (process_vm_readv, a file): a single copy does not show which records changed
 *     while it was made. fetch/ring_follow.h copies three times and selects what did not change;
 *   - a copy of memory at rest (the guest stopped, the program ended): used unchanged.
 */
#include <errno.h>

#include "base/buffer.h"
#include "base/error.h"
#include "readers/ring/ring_image.h"

static uint64_t load(const struct ring_image *img, uint64_t offset, int order)
{
	const uint64_t *p = (const uint64_t *)(const void *)(img->mem + offset);

	return order == __ATOMIC_ACQUIRE ? __atomic_load_n(p, __ATOMIC_ACQUIRE)
					 : __atomic_load_n(p, __ATOMIC_RELAXED);
}

/* Copies foreign memory that may change under us: each word is read exactly once. */
static void copy_once(void *to, const void *from, size_t bytes)
{
	for (size_t i = 0; i < bytes / 8; i++) {
		uint64_t w = __atomic_load_n((const uint64_t *)from + i, __ATOMIC_RELAXED);

		memcpy((uint8_t *)to + 8 * i, &w, 8);
	}
}

static bool is_ring(const uint8_t *mem, size_t bytes)
{
	uint64_t magic[2];

	if (bytes < sizeof(struct ring_header))
		return false;
	copy_once(magic, mem, sizeof(magic));
	return magic[0] == RING_MAGIC0 && magic[1] == RING_MAGIC1;
}

static bool part_fits(uint64_t offset, uint64_t nr, uint64_t size, uint64_t bytes)
{
	return offset % 8 == 0 && offset >= sizeof(struct ring_header) && offset <= bytes &&
	       nr <= (bytes - offset) / size;
}

static int geometry_check(const struct ring_image *img, struct buffer *b,
			  const struct ring_header *h)
{
	if (h->header_bytes < sizeof(*h) || h->cpu_bytes != sizeof(struct ring_cpu) ||
	    h->slot_bytes != sizeof(struct ring_slot) ||
	    h->event_bytes != sizeof(struct ring_event))
		return buffer_fail(b, "the ring's structures have sizes unknown to version %d",
				   RING_VERSION);
	if (!img->nr_cpus || img->nr_cpus > RING_CPUS_MAX || img->nr_events_max > RING_EVENTS_MAX ||
	    img->slots < RING_SLOTS_MIN || img->slots > RING_SLOTS_MAX ||
	    (img->slots & (img->slots - 1)))
		return buffer_fail(b,
				   "invalid ring geometry: %u vCPUs, %u slots, %u events",
				   img->nr_cpus, img->slots, img->nr_events_max);
	if (!part_fits(img->events_offset, img->nr_events_max, sizeof(struct ring_event),
		       img->bytes) ||
	    !part_fits(img->cpus_offset, img->nr_cpus, sizeof(struct ring_cpu), img->bytes) ||
	    !part_fits(img->slots_offset, (uint64_t)img->nr_cpus * img->slots,
		       sizeof(struct ring_slot), img->bytes))
		return buffer_fail(b, "the ring's structures exceed its %llu bytes",
				   (unsigned long long)img->bytes);
	return 0;
}

/* Field by field in the order of struct ring_header, which is the format. */
static void header_parse(struct buffer *b, struct ring_header *h)
{
	const uint8_t *name;

	h->magic[0] = buffer_u64(b);
	h->magic[1] = buffer_u64(b);
	h->version = buffer_u32(b);
	h->header_bytes = buffer_u32(b);
	h->bytes = buffer_u64(b);
	h->nr_cpus = buffer_u32(b);
	h->slots = buffer_u32(b);
	h->cpu_bytes = buffer_u32(b);
	h->slot_bytes = buffer_u32(b);
	h->event_bytes = buffer_u32(b);
	h->nr_events_max = buffer_u32(b);
	h->events_offset = buffer_u64(b);
	h->cpus_offset = buffer_u64(b);
	h->slots_offset = buffer_u64(b);
	h->clock_hz = buffer_u64(b);
	h->mode = buffer_u32(b);
	h->nr_events = buffer_u32(b);
	name = buffer_bytes(b, sizeof(h->name));
	if (name)
		memcpy(h->name, name, sizeof(h->name));
}

/* Letters, digits and _ . : - stay; anything else would have to be escaped in every output. */
static void name_clean(char *name, size_t size)
{
	name[size - 1] = '\0';
	for (char *s = name; *s; s++)
		if (!(*s >= 'a' && *s <= 'z') && !(*s >= 'A' && *s <= 'Z') &&
		    !(*s >= '0' && *s <= '9') && !strchr("_.:-", *s))
			*s = '_';
}

int ring_image_open(const void *mem, size_t bytes, const char *file, struct ring_image *ret)
{
	uint8_t copy[sizeof(struct ring_header)];
	struct buffer b = buffer_of(copy, sizeof(copy), file, 0);
	struct ring_header h = {0};

	if ((uintptr_t)mem % 8 || !is_ring(mem, bytes))
		return buffer_fail(&b, "not a guest ring");
	copy_once(copy, mem, sizeof(copy));
	header_parse(&b, &h);
	if (h.version != RING_VERSION)
		return fail(-EPROTONOSUPPORT,
			    "%s: unsupported guest ring version %u; this program reads version %d",
			    file, h.version, RING_VERSION);
	*ret = (struct ring_image){
		.mem = mem,
		.bytes = h.bytes,
		.events_offset = h.events_offset,
		.cpus_offset = h.cpus_offset,
		.slots_offset = h.slots_offset,
		.clock_hz = h.clock_hz,
		.nr_cpus = h.nr_cpus,
		.slots = h.slots,
		.mode = h.mode,
		.nr_events_max = h.nr_events_max,
	};
	memcpy(ret->name, h.name, sizeof(h.name));
	name_clean(ret->name, sizeof(ret->name));
	if (h.bytes > bytes)
		return buffer_fail(&b, "the ring claims %llu bytes, but only %zu are available",
				   (unsigned long long)h.bytes, bytes);
	return geometry_check(ret, &b, &h);
}

int64_t ring_find(const void *mem, size_t bytes, size_t from)
{
	const uint8_t *p = mem;

	for (size_t at = (from + RING_ALIGN - 1) & ~(size_t)(RING_ALIGN - 1);
	     at < bytes && bytes - at >= sizeof(struct ring_header); at += RING_ALIGN)
		if (is_ring(p + at, bytes - at))
			return (int64_t)at;
	return -1;
}

bool ring_image_event(const struct ring_image *img, unsigned int id, struct ring_event *ret)
{
	unsigned int words = 0;

	if (id >= img->nr_events_max)
		return false;
	copy_once(ret, img->mem + img->events_offset + id * sizeof(*ret), sizeof(*ret));
	if (!ret->ready || !ret->name[0] || ret->nr_fields > RING_FIELDS_MAX ||
	    ret->nr_frames > RING_FRAMES_MAX)
		return false;
	name_clean(ret->name, sizeof(ret->name));
	for (unsigned int i = 0; i < ret->nr_fields; i++) {
		struct ring_field *f = &ret->field[i];

		name_clean(f->name, sizeof(f->name));
		if (f->kind > RING_TEXT || !f->words || (f->kind != RING_TEXT && f->words != 1) ||
		    !f->name[0])
			return false;
		words += f->words;
	}
	return words <= RING_ARGS_MAX;
}

static uint64_t cpu_offset(const struct ring_image *img, unsigned int cpu, size_t member)
{
	return img->cpus_offset + cpu * sizeof(struct ring_cpu) + member;
}

uint64_t ring_image_drops(const struct ring_image *img, unsigned int cpu)
{
	return load(img, cpu_offset(img, cpu, offsetof(struct ring_cpu, drops)), __ATOMIC_RELAXED);
}

static uint64_t slot_offset(const struct ring_image *img, unsigned int cpu, uint64_t pos)
{
	return img->slots_offset +
	       ((uint64_t)cpu * img->slots + (pos & (img->slots - 1))) * sizeof(struct ring_slot);
}

static uint64_t mark_of(const struct ring_image *img, unsigned int cpu, uint64_t pos)
{
	return load(img, slot_offset(img, cpu, pos), __ATOMIC_ACQUIRE);
}

static unsigned int more_slots(unsigned int words)
{
	return words <= RING_FIRST_WORDS
		       ? 0
		       : (words - RING_FIRST_WORDS + RING_MORE_WORDS - 1) / RING_MORE_WORDS;
}

static void words_copy(const struct ring_image *img, unsigned int cpu, uint64_t pos,
		       unsigned int skip, uint64_t *to, unsigned int nr)
{
	uint64_t at = slot_offset(img, cpu, pos) + offsetof(struct ring_slot, word) + skip * 8u;

	for (unsigned int i = 0; i < nr; i++)
		to[i] = load(img, at + i * 8u, __ATOMIC_RELAXED);
}

/* Copies the record whose first slot is pos. Returns its slots, or 0 if it changed meanwhile. */
static unsigned int record_copy(const struct ring_image *img, unsigned int cpu, uint64_t pos,
				struct ring_record *ret)
{
	uint64_t head[2];
	unsigned int nr_words, nr_more;

	words_copy(img, cpu, pos, 0, head, 2);
	ret->tsc = head[0];
	ret->pos = pos;
	ret->thread = (uint32_t)head[1];
	ret->event = (uint16_t)(head[1] >> 32);
	ret->cpu = (uint16_t)cpu;
	ret->nr_args = (uint8_t)(head[1] >> 48);
	ret->nr_frames = (uint8_t)(head[1] >> 56);
	nr_words = ret->nr_args + ret->nr_frames;
	if (ret->nr_args > RING_ARGS_MAX || ret->nr_frames > RING_FRAMES_MAX)
		return 0;
	nr_more = more_slots(nr_words);
	words_copy(img, cpu, pos, 2, ret->word, nr_more ? RING_FIRST_WORDS : nr_words);
	for (unsigned int i = 0, done = RING_FIRST_WORDS; i < nr_more;
	     i++, done += RING_MORE_WORDS) {
		unsigned int left = nr_words - done;

		if (mark_of(img, cpu, pos + 1 + i) != ring_mark(pos + 1 + i, RING_MORE))
			return 0;
		words_copy(img, cpu, pos + 1 + i, 0, ret->word + done,
			   left < RING_MORE_WORDS ? left : RING_MORE_WORDS);
	}
	__atomic_thread_fence(__ATOMIC_ACQUIRE); /* the words were read before the marks are looked at again */
	for (unsigned int i = 0; i <= nr_more; i++)
		if (load(img, slot_offset(img, cpu, pos + i), __ATOMIC_RELAXED) !=
		    ring_mark(pos + i, i ? RING_MORE : RING_FIRST))
			return 0;
	return 1 + nr_more;
}

/* Skips a slot without a record for pos. False: its writer may be active and there is time to wait. */
static bool slot_pass(struct ring_cursor *c, uint64_t mark, bool hurry)
{
	bool unfinished =
		mark == ring_mark(c->pos, RING_BUSY) || mark < ring_mark(c->pos, RING_FIRST);

	if (unfinished && c->wait && !hurry)
		return false;
	if (unfinished)
		c->unfinished++;
	else if (mark > ring_mark(c->pos, RING_VOID))
		c->overwritten++;
	c->pos++;
	return true;
}

int ring_cursor_next(const struct ring_image *img, unsigned int cpu, struct ring_cursor *c,
		     struct ring_record *ret)
{
	uint64_t head =
		load(img, cpu_offset(img, cpu, offsetof(struct ring_cpu, head)), __ATOMIC_ACQUIRE);

	if (head < c->pos) /* set back by the guest: nothing new until it gets here again */
		return 0;
	if (head - c->pos > img->slots) {
		c->overwritten += head - img->slots - c->pos;
		c->pos = head - img->slots;
	}
	while (c->pos < head) {
		uint64_t mark = mark_of(img, cpu, c->pos);

		if (mark != ring_mark(c->pos, RING_FIRST)) {
			if (!slot_pass(c, mark, head - c->pos > img->slots / 2))
				return 0;
			continue;
		}
		unsigned int nr = record_copy(img, cpu, c->pos, ret);

		c->pos += nr ? nr : 1;
		if (nr)
			return 1;
		c->torn++;
	}
	return 0;
}
