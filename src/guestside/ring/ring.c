// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The guest ring's slow parts: laying it out, describing events, long records, backtraces. See ring.h.
 *
 * Nothing here may call a library. Compilers like to turn copy and clear loops into memcpy() and memset(), which a
 * freestanding guest may not have; the atomic stores keep them from it.
 */
#include "ring.h"

#define NO_TRACE __attribute__((no_instrument_function))

_Static_assert(RING_RECORD_SLOTS_MAX ==
		       1 + (RING_ARGS_MAX + RING_FRAMES_MAX - RING_FIRST_WORDS + RING_MORE_WORDS -
			    1) / RING_MORE_WORDS,
	       "slots of the longest record");
_Static_assert(RING_SLOTS_MIN >= 2 * RING_RECORD_SLOTS_MAX, "a long record never meets itself");

static NO_TRACE size_t align_up(size_t n, size_t to)
{
	return (n + to - 1) & ~(to - 1);
}

static NO_TRACE void bytes_clear(void *mem, size_t bytes)
{
	for (size_t i = 0; i < bytes / 8; i++)
		ring_store((uint64_t *)mem + i, 0);
}

static NO_TRACE void text_copy(char *to, size_t size, const char *from)
{
	for (size_t i = 0; i + 1 < size && from && from[i]; i++)
		__atomic_store_n(&to[i], from[i], __ATOMIC_RELAXED);
}

static NO_TRACE size_t slots_offset(unsigned int nr_cpus, unsigned int nr_events_max)
{
	size_t events = align_up(sizeof(struct ring_header), 256);
	size_t cpus = events + (size_t)nr_events_max * sizeof(struct ring_event);

	return align_up(cpus + (size_t)nr_cpus * sizeof(struct ring_cpu), RING_ALIGN);
}

NO_TRACE size_t ring_bytes(unsigned int nr_cpus, unsigned int slots, unsigned int nr_events_max)
{
	if (!nr_cpus || nr_cpus > RING_CPUS_MAX || nr_events_max > RING_EVENTS_MAX)
		return 0;
	if (slots < RING_SLOTS_MIN || slots > RING_SLOTS_MAX || (slots & (slots - 1)))
		return 0;
	return slots_offset(nr_cpus, nr_events_max) +
	       (size_t)nr_cpus * slots * sizeof(struct ring_slot);
}

static NO_TRACE unsigned int slots_that_fit(size_t bytes, unsigned int nr_cpus,
					    unsigned int nr_events_max)
{
	unsigned int slots = RING_SLOTS_MIN;

	if (!ring_bytes(nr_cpus, slots, nr_events_max) ||
	    ring_bytes(nr_cpus, slots, nr_events_max) > bytes)
		return 0;
	while (slots < RING_SLOTS_MAX && ring_bytes(nr_cpus, slots * 2, nr_events_max) <= bytes)
		slots *= 2;
	return slots;
}

NO_TRACE int ring_init(struct ring *r, void *mem, size_t bytes, unsigned int nr_cpus,
		       unsigned int nr_events_max, enum ring_mode mode, const char *name)
{
	unsigned int slots = slots_that_fit(bytes, nr_cpus, nr_events_max);
	struct ring_header *h = mem;

	if (!slots || (uintptr_t)mem % RING_ALIGN || (mode != RING_OVERWRITE && mode != RING_DROP))
		return -1;
	bytes_clear(mem, ring_bytes(nr_cpus, slots, nr_events_max));
	h->version = RING_VERSION;
	h->header_bytes = sizeof(*h);
	h->bytes = ring_bytes(nr_cpus, slots, nr_events_max);
	h->nr_cpus = nr_cpus;
	h->slots = slots;
	h->cpu_bytes = sizeof(struct ring_cpu);
	h->slot_bytes = sizeof(struct ring_slot);
	h->event_bytes = sizeof(struct ring_event);
	h->nr_events_max = nr_events_max;
	h->events_offset = align_up(sizeof(*h), 256);
	h->cpus_offset = h->events_offset + (uint64_t)nr_events_max * sizeof(struct ring_event);
	h->slots_offset = slots_offset(nr_cpus, nr_events_max);
	h->mode = mode;
	text_copy(h->name, sizeof(h->name), name);
	r->header = h;
	r->events = (struct ring_event *)((char *)mem + h->events_offset);
	r->cpus = (struct ring_cpu *)((char *)mem + h->cpus_offset);
	r->slots = (struct ring_slot *)((char *)mem + h->slots_offset);
	r->nr_cpus = nr_cpus;
	r->mask = slots - 1;
	r->mode = mode;
	r->nr_events_max = nr_events_max;
	__atomic_store_n(&h->magic[1], RING_MAGIC1, __ATOMIC_RELEASE);
	__atomic_store_n(&h->magic[0], RING_MAGIC0, __ATOMIC_RELEASE);
	return 0;
}

NO_TRACE int ring_event_add(struct ring *r, const struct ring_event *ev)
{
	uint32_t id = __atomic_load_n(&r->header->nr_events, __ATOMIC_RELAXED);
	struct ring_event *to;

	do {
		if (id >= r->nr_events_max)
			return -1;
	} while (!__atomic_compare_exchange_n(&r->header->nr_events, &id, id + 1, false,
					      __ATOMIC_ACQ_REL, __ATOMIC_RELAXED));
	to = &r->events[id];
	to->nr_fields = ev->nr_fields > RING_FIELDS_MAX ? RING_FIELDS_MAX : ev->nr_fields;
	to->nr_frames = ev->nr_frames > RING_FRAMES_MAX ? RING_FRAMES_MAX : ev->nr_frames;
	text_copy(to->name, sizeof(to->name), ev->name);
	for (unsigned int i = 0; i < to->nr_fields; i++) {
		text_copy(to->field[i].name, sizeof(to->field[i].name), ev->field[i].name);
		to->field[i].kind = ev->field[i].kind;
		to->field[i].words = ev->field[i].words;
	}
	__atomic_store_n(&to->ready, 1, __ATOMIC_RELEASE);
	return (int)id;
}

/* Claims nr slots from pos on. If one is unavailable, those before it become void, so that nobody waits for them. */
static NO_TRACE bool slots_claim(struct ring *r, unsigned int cpu, uint64_t pos, unsigned int nr)
{
	for (unsigned int i = 0; i < nr; i++) {
		if (ring_claim(ring_slot_at(r, cpu, pos + i), pos + i))
			continue;
		while (i--)
			__atomic_store_n(&ring_slot_at(r, cpu, pos + i)->mark,
					 ring_mark(pos + i, RING_VOID), __ATOMIC_RELEASE);
		return false;
	}
	return true;
}

/* Continuation slots first and the first slot last: whoever sees the first one finished finds all of them so. */
static NO_TRACE void slots_commit(struct ring *r, unsigned int cpu, uint64_t pos, unsigned int nr)
{
	while (nr--)
		__atomic_store_n(&ring_slot_at(r, cpu, pos + nr)->mark,
				 ring_mark(pos + nr, nr ? RING_MORE : RING_FIRST),
				 __ATOMIC_RELEASE);
}

/* Where payload word i of the record at pos lies. */
static NO_TRACE uint64_t *payload(struct ring *r, unsigned int cpu, uint64_t pos, unsigned int i)
{
	if (i < RING_FIRST_WORDS)
		return &ring_slot_at(r, cpu, pos)->word[2 + i];
	i -= RING_FIRST_WORDS;
	return &ring_slot_at(r, cpu, pos + 1 + i / RING_MORE_WORDS)->word[i % RING_MORE_WORDS];
}

NO_TRACE bool ring_write_long(struct ring *r, unsigned int cpu, uint32_t thread, uint16_t event,
			      const uint64_t *args, unsigned int nr_args, const uint64_t *frames,
			      unsigned int nr_frames)
{
	struct ring_cpu *c = &r->cpus[cpu];
	unsigned int nr_slots = 1;
	uint64_t pos;

	nr_args = nr_args > RING_ARGS_MAX ? RING_ARGS_MAX : nr_args;
	nr_frames = nr_frames > RING_FRAMES_MAX ? RING_FRAMES_MAX : nr_frames;
	if (nr_args + nr_frames > RING_FIRST_WORDS)
		nr_slots += (nr_args + nr_frames - RING_FIRST_WORDS + RING_MORE_WORDS - 1) /
			    RING_MORE_WORDS;
	if (!ring_reserve(r, c, nr_slots, &pos) || !slots_claim(r, cpu, pos, nr_slots)) {
		ring_drop(c);
		return false;
	}
	ring_store(&ring_slot_at(r, cpu, pos)->word[0], RING_CLOCK());
	ring_store(&ring_slot_at(r, cpu, pos)->word[1], thread | (uint64_t)event << 32 |
								(uint64_t)nr_args << 48 |
								(uint64_t)nr_frames << 56);
	for (unsigned int i = 0; i < nr_args; i++)
		ring_store(payload(r, cpu, pos, i), args[i]);
	for (unsigned int i = 0; i < nr_frames; i++)
		ring_store(payload(r, cpu, pos, nr_args + i), frames[i]);
	slots_commit(r, cpu, pos, nr_slots);
	return true;
}

/*
 * With frame pointers every frame begins with two words: the caller's frame and the return address (System V
 * x86-64 ABI 3.2.2, AAPCS64 6.4.6). A chain that goes down, off the stack or to an odd place ends the walk.
 */
NO_TRACE __attribute__((noinline)) unsigned int ring_backtrace(uint64_t *frames, unsigned int max,
							       const void *stack_end)
{
	uintptr_t fp = (uintptr_t)__builtin_frame_address(0), end = (uintptr_t)stack_end;
	unsigned int nr = 0;

	while (nr < max && fp % sizeof(fp) == 0 && fp < end && end - fp >= 2 * sizeof(fp)) {
		uintptr_t next = ((const uintptr_t *)fp)[0], ret = ((const uintptr_t *)fp)[1];

		if (!ret)
			break;
		frames[nr++] = ret;
		if (next <= fp)
			break;
		fp = next;
	}
	return nr;
}

NO_TRACE void ring_text(uint64_t *words, unsigned int nr_words, const char *text)
{
	for (unsigned int i = 0; i < nr_words; i++) {
		uint64_t w = 0;

		for (unsigned int b = 0; b < 8 && text && *text; b++)
			w |= (uint64_t)(uint8_t)*text++ << 8 * b;
		words[i] = w;
	}
	if (nr_words)
		words[nr_words - 1] &= ~0ull >> 8; /* always ends with a NUL */
}
