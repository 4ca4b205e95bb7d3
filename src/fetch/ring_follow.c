// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Keeps a copy of the guest's ring: header and geometry as first read, slots as last settled. New slots are
 * brought into it, and ring_cursor_next() reads records from it as from any ring at rest.
 */
#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "fetch/source_internal.h"
#include "readers/ring/ring_image.h"

/*
 * Follows a ring that a running guest writes: look by look, what is new is copied out, and at the end written as a
 * ring of its own that is large enough for all of it (doc/guest-ring.md), so that a recording may be longer than the
 * guest's ring. The guest does not notice: memory is only read.
 *
 * Each look copies the new slots three times and uses those whose marks did not change, from memory that may be
 * anywhere: a mapping, or another process.
 */

/* Slots per round, over all vCPUs: a guest must not keep its recorder from other work. */
enum { LOOK_SLOTS = 1 << 17 };

/* Records of one vCPU as slots, consecutive from position 0. */
struct kept {
	struct ring_slot *slot;
	size_t nr, room;
	uint64_t drops; /* by the guest, since we look */
	uint64_t drops_before;
	bool begun;
	struct ring_cursor cursor;
};

struct ring_follow {
	ring_read_fn *read;
	ring_write_fn *write;
	void *arg;
	const char *name;
	uint8_t *shadow;
	struct ring_image img;
	struct kept *cpu;
	struct ring_slot *copy[3]; /* RING_FOLLOW_WINDOW each */
	uint64_t records, missed, kept_bytes;
	bool looked; /* the descriptions are here */
};

static int header_take(struct ring_follow *f)
{
	_cleanup_free_ uint64_t *head = calloc(1, RING_ALIGN);
	const struct ring_header *h;
	int err;

	if (!head)
		return fail(-ENOMEM, "out of memory");
	err = f->read(f->arg, 0, head, sizeof(*h));
	if (err)
		return err;
	err = ring_image_open(head, SIZE_MAX / 2, f->name, &f->img); /* its size is its own word */
	if (err)
		return err;
	if (f->img.bytes > RING_FOLLOW_BYTES_MAX)
		return fail(-EFBIG, "%s: guest ring too large (%llu bytes)", f->name,
			    (unsigned long long)f->img.bytes);
	f->shadow = calloc(1, f->img.bytes + 8);
	if (!f->shadow)
		return fail(-ENOMEM, "out of memory");
	memcpy(f->shadow, head, sizeof(*h));
	return ring_image_open(f->shadow, f->img.bytes, f->name, &f->img);
}

int ring_follow_new(ring_read_fn *read, ring_write_fn *write, void *arg, const char *name,
		    struct ring_follow **ret)
{
	struct ring_follow *f = calloc(1, sizeof(*f));
	int err;

	if (!f)
		return fail(-ENOMEM, "out of memory");
	*f = (struct ring_follow){.read = read, .write = write, .arg = arg, .name = name};
	err = header_take(f);
	if (!err) {
		f->cpu = calloc(f->img.nr_cpus, sizeof(*f->cpu));
		for (int i = 0; i < 3; i++)
			f->copy[i] = malloc(RING_FOLLOW_WINDOW * sizeof(struct ring_slot));
		if (!f->cpu || !f->copy[0] || !f->copy[1] || !f->copy[2])
			err = fail(-ENOMEM, "out of memory");
	}
	if (err) {
		ring_follow_free(f);
		return err;
	}
	*ret = f;
	return 0;
}

void ring_follow_free(struct ring_follow *f)
{
	if (!f)
		return;
	for (unsigned int i = 0; f->cpu && i < f->img.nr_cpus; i++)
		free(f->cpu[i].slot);
	for (int i = 0; i < 3; i++)
		free(f->copy[i]);
	free(f->cpu);
	free(f->shadow);
	free(f);
}

/* ---- into the shadow ---- */

static uint64_t cpu_at(const struct ring_follow *f, unsigned int cpu)
{
	return f->img.cpus_offset + cpu * sizeof(struct ring_cpu);
}

/* Slots [first, first + nr) of the vCPU's buffer, not across its end. */
static int slots_take(struct ring_follow *f, unsigned int cpu, uint32_t first, uint32_t nr)
{
	uint64_t at = f->img.slots_offset +
		      ((uint64_t)cpu * f->img.slots + first) * sizeof(struct ring_slot);
	struct ring_slot *to = (struct ring_slot *)(void *)(f->shadow + at);

	for (int i = 0; i < 3; i++) {
		int err = f->read(f->arg, at, f->copy[i], nr * sizeof(struct ring_slot));

		if (err)
			return err;
	}
	for (uint32_t i = 0; i < nr; i++) {
		uint64_t mark = f->copy[1][i].mark;

		if (f->copy[0][i].mark == mark && f->copy[2][i].mark == mark)
			to[i] = f->copy[1][i];
		else
			to[i].mark = ring_mark((mark >> 2) - 1, RING_BUSY); /* looked at again */
	}
	return 0;
}

/* What was overwritten or dropped before the first look is not this recording's loss. */
static void cpu_begin(const struct ring_follow *f, struct kept *k, const struct ring_cpu *head)
{
	if (k->begun)
		return;
	k->begun = true;
	k->drops_before = head->drops;
	k->cursor.pos = head->head > f->img.slots ? head->head - f->img.slots : 0;
}

static int cpu_bring(struct ring_follow *f, unsigned int cpu, bool last)
{
	uint64_t most = LOOK_SLOTS / f->img.nr_cpus;
	struct kept *k = &f->cpu[cpu];
	struct ring_cpu head;
	int err = f->read(f->arg, cpu_at(f, cpu), &head, sizeof(head));
	uint64_t pos;

	if (err)
		return err;
	cpu_begin(f, k, &head);
	pos = k->cursor.pos;
	if (head.head < pos)
		return 0;
	k->drops = head.drops - k->drops_before;
	k->cursor.wait = !last && head.head - pos <= f->img.slots / 2;
	if (head.head - pos > f->img.slots)
		pos = head.head - f->img.slots;
	if (!last && head.head - pos > most)
		head.head = pos + most;
	while (pos < head.head) {
		uint32_t first = (uint32_t)(pos & (f->img.slots - 1));
		uint64_t nr = head.head - pos < f->img.slots - first ? head.head - pos
								     : f->img.slots - first;

		nr = nr < RING_FOLLOW_WINDOW ? nr : RING_FOLLOW_WINDOW;
		err = slots_take(f, cpu, first, (uint32_t)nr);
		if (err)
			return err;
		pos += nr;
	}
	memcpy(f->shadow + cpu_at(f, cpu), &head, sizeof(head));
	return 0;
}

/* ---- out of it ---- */

static int record_keep(struct ring_follow *f, struct kept *k, const struct ring_record *rec)
{
	unsigned int words = rec->nr_args + rec->nr_frames, done = 0, nr = 1;
	struct ring_slot *slot;
	int err;

	if (words > RING_FIRST_WORDS)
		nr += (words - RING_FIRST_WORDS + RING_MORE_WORDS - 1) / RING_MORE_WORDS;
	if (f->kept_bytes + nr * sizeof(*slot) > RING_FOLLOW_BYTES_MAX) {
		f->missed += nr;
		return 0;
	}
	err = array_reserve(k->slot, k->nr + nr, k->room);
	if (err)
		return err;
	slot = k->slot + k->nr;
	memset(slot, 0, nr * sizeof(*slot));
	slot->word[0] = rec->tsc;
	slot->word[1] = rec->thread | (uint64_t)rec->event << 32 | (uint64_t)rec->nr_args << 48 |
			(uint64_t)rec->nr_frames << 56;
	for (unsigned int i = 0; i < nr; i++) {
		unsigned int room = i ? RING_MORE_WORDS : RING_FIRST_WORDS;
		unsigned int n = words - done < room ? words - done : room;

		slot[i].mark = ring_mark(k->nr + i, i ? RING_MORE : RING_FIRST);
		memcpy(slot[i].word + (i ? 0 : 2), rec->word + done, n * sizeof(uint64_t));
		done += n;
	}
	k->nr += nr;
	f->kept_bytes += nr * sizeof(*slot);
	f->records++;
	return 0;
}

/* Descriptions may be added at any time; copied here, since the guest may have ended when they are needed. */
static int events_bring(struct ring_follow *f)
{
	size_t at = offsetof(struct ring_header, nr_events);
	uint32_t nr = 0, known;
	int err = f->read(f->arg, at, &nr, sizeof(nr));

	memcpy(&known, f->shadow + at, sizeof(known));
	if (err || (nr == known && f->looked))
		return err;
	err = f->read(f->arg, f->img.events_offset, f->shadow + f->img.events_offset,
		      f->img.nr_events_max * sizeof(struct ring_event));
	if (err)
		return err;
	memcpy(f->shadow + at, &nr, sizeof(nr));
	f->looked = true;
	return 0;
}

int ring_follow_look(struct ring_follow *f, bool last)
{
	int err = events_bring(f);

	for (unsigned int cpu = 0; cpu < f->img.nr_cpus && !err; cpu++) {
		struct kept *k = &f->cpu[cpu];
		struct ring_record rec;

		err = cpu_bring(f, cpu, last);
		while (!err && ring_cursor_next(&f->img, cpu, &k->cursor, &rec))
			err = record_keep(f, k, &rec);
		if (!err && f->img.mode == RING_DROP && f->write)
			err = f->write(f->arg, cpu_at(f, cpu) + offsetof(struct ring_cpu, tail),
				       &k->cursor.pos, sizeof(k->cursor.pos));
	}
	return err;
}

uint64_t ring_follow_records(const struct ring_follow *f)
{
	return f->records;
}

/* ---- to a file ---- */

/* All vCPUs have the same number, so one busy vCPU among thousands would make the file too large to read. */
static uint32_t slots_wanted(const struct ring_follow *f, uint64_t head_bytes)
{
	uint64_t each = f->img.nr_cpus * sizeof(struct ring_slot);
	uint32_t slots = RING_SLOTS_MIN;

	for (unsigned int i = 0; i < f->img.nr_cpus; i++)
		while (slots < f->cpu[i].nr && slots < RING_SLOTS_MAX)
			slots *= 2;
	while (slots > RING_SLOTS_MIN && head_bytes + each * slots > RING_FILE_MAX)
		slots /= 2;
	return slots;
}

/* Records lost in transfer are counted as the guest's own drops are. */
static int cpus_write(struct ring_follow *f, uint32_t slots,
		      int (*put)(void *, const void *, size_t), void *arg)
{
	int err = 0;

	for (unsigned int i = 0; i < f->img.nr_cpus && !err; i++) {
		const struct kept *k = &f->cpu[i];
		uint64_t nr = k->nr < slots ? k->nr : slots;
		struct ring_cpu cpu = {.head = nr,
				       .drops = k->drops + k->cursor.overwritten + k->cursor.torn +
						(k->nr - nr) + (i ? 0 : f->missed)};

		err = put(arg, &cpu, sizeof(cpu));
	}
	return err;
}

static int slots_write(struct ring_follow *f, uint32_t slots,
		       int (*put)(void *, const void *, size_t), void *arg)
{
	static const struct ring_slot none[64];
	int err = 0;

	for (unsigned int i = 0; i < f->img.nr_cpus && !err; i++) {
		size_t nr = f->cpu[i].nr < slots ? f->cpu[i].nr : slots;

		err = nr ? put(arg, f->cpu[i].slot, nr * sizeof(struct ring_slot)) : 0;
		for (size_t at = nr, n; at < slots && !err; at += n) {
			n = slots - at < 64 ? slots - at : 64;
			err = put(arg, none, n * sizeof(none[0]));
		}
	}
	return err;
}

int ring_follow_write(struct ring_follow *f, int (*put)(void *arg, const void *data, size_t len),
		      void *arg)
{
	size_t events_bytes = f->img.nr_events_max * sizeof(struct ring_event);
	const uint8_t *events = f->shadow + f->img.events_offset;
	struct ring_header h;
	uint32_t slots;
	int err;

	memcpy(&h, f->shadow, sizeof(h));
	h.header_bytes = sizeof(h);
	h.mode = RING_OVERWRITE;
	h.events_offset = sizeof(h);
	h.cpus_offset = h.events_offset + events_bytes;
	h.slots_offset = h.cpus_offset + (uint64_t)h.nr_cpus * sizeof(struct ring_cpu);
	slots = slots_wanted(f, h.slots_offset);
	h.slots = slots;
	h.bytes = h.slots_offset + (uint64_t)h.nr_cpus * slots * sizeof(struct ring_slot);
	err = put(arg, &h, sizeof(h));
	if (!err)
		err = put(arg, events, events_bytes);
	if (!err)
		err = cpus_write(f, slots, put, arg);
	return err ? err : slots_write(f, slots, put, arg);
}
