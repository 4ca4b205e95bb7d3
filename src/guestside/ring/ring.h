/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The guest ring: a trace that a guest writes into its own memory, and that the host reads out of it without
 * costing the guest a single exit. For kernels, unikernels, firmware and programs: freestanding C11, no libc, no
 * allocation, no floating point. Carry ring.h and ring.c, nothing else; C++11 may include the header. Needs gcc or
 * clang (builtins, attributes). doc/guest-ring.md specifies the memory.
 *
 *   +--------+-------------+----------------+---------------------+---------------------+----
 *   | header | event table | per-vCPU heads | slots of vCPU 0     | slots of vCPU 1     | ...
 *   +--------+-------------+----------------+---------------------+---------------------+----
 *
 * A slot is one cache line: a mark and seven words. A record takes one slot, or several if it is long:
 *
 *   first:  | mark | tsc | thread, event, nr_args, nr_frames | 5 words of arguments, then frames |
 *   more:   | mark | 7 words                                                                     |
 *
 * Every slot ever reserved on a vCPU has a number (`pos`: 0, 1, 2, ...) and is at pos modulo the number of
 * slots. The mark says which number the slot holds now and how far the writer is:
 *
 *   mark = (pos + 1) << 2 | state          0: never used
 *
 * The rules. Writer: (1) reserve numbers by one atomic add; (2) claim each slot by compare-and-swap from an older,
 * finished mark to "busy"; who meets a busy or newer mark drops its own record and counts it; (3) write the words;
 * (4) store the final marks, the first slot's last. So a slot has one owner at a time, whatever interrupts whom and
 * however often the ring wraps meanwhile. Reader: a record is good if all its marks are the expected ones before
 * AND after its words were copied. Marks only grow, so no torn record can pass.
 *
 * Cost: two atomic operations, rdtsc and a cache line. Where a buffer is only ever written by its own CPU or
 * thread (and by interrupts or signals on it), define RING_LOCAL before the include: the same operations without
 * the lock prefix.
 */
#ifndef HOSTRACE_GUEST_RING_H
#define HOSTRACE_GUEST_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RING_MAGIC0 0x5453455547545248ull /* "HRTGUEST" */
#define RING_MAGIC1 0x1a0a0d474e495220ull /* " RING\r\n\032" */

enum {
	RING_VERSION = 1,
	RING_ALIGN = 4096, /* of the ring's start, so that it can be found in a memory image */
	RING_CPUS_MAX = 4096,
	RING_EVENTS_MAX = 4096,
	RING_FIELDS_MAX = 8,
	RING_ARGS_MAX = 12,   /* words of arguments in one record */
	RING_FRAMES_MAX = 32, /* return addresses in one record */
	RING_FIRST_WORDS = 5,
	RING_MORE_WORDS = 7,
	RING_RECORD_SLOTS_MAX = 7, /* 1 + ceil((12 + 32 - 5) / 7) */
	RING_SLOTS_MIN = 16,
	RING_SLOTS_MAX = 1 << 24, /* per vCPU: 1 GiB */
};

enum ring_mode {
	RING_OVERWRITE, /* the newest records win: a flight recorder */
	RING_DROP,	/* the oldest win until a reader moves `tail`; what finds no place is counted in `drops` */
};

enum ring_state { RING_FIRST, RING_BUSY, RING_MORE, RING_VOID };

enum ring_kind {
	RING_DEC,  /* one word, unsigned */
	RING_SDEC, /* one word, signed */
	RING_HEX,
	RING_ADDR, /* one word, an address: the host looks for its symbol */
	RING_TEXT, /* `words` words of NUL-padded text */
};

struct ring_field {
	char name[22];
	uint8_t kind;  /* enum ring_kind */
	uint8_t words; /* 1, or the length of a text in words */
};

/* What an event is: filled by the guest, copied into the table. */
struct ring_event {
	uint32_t ready; /* set last, by ring_event_add() */
	uint16_t nr_fields;
	uint16_t nr_frames; /* the most return addresses that its records carry */
	char name[56];
	struct ring_field field[RING_FIELDS_MAX];
};

struct ring_slot {
	uint64_t mark;
	uint64_t word[7];
};

struct ring_cpu {
	uint64_t head;	/* the next number to reserve */
	uint64_t drops; /* records that found no place */
	uint64_t pad0[6];
	uint64_t tail; /* RING_DROP: numbers below were consumed by the reader. The reader writes it */
	uint64_t pad1[7];
};

struct ring_header {
	uint64_t magic[2]; /* written last */
	uint32_t version, header_bytes;
	uint64_t bytes; /* of everything */
	uint32_t nr_cpus, slots; /* slots: per vCPU, a power of two */
	uint32_t cpu_bytes, slot_bytes, event_bytes, nr_events_max;
	uint64_t events_offset, cpus_offset, slots_offset;
	uint64_t clock_hz;  /* of the timestamps; 0: unknown */
	uint32_t mode;	    /* enum ring_mode */
	uint32_t nr_events; /* grows while the guest runs */
	char name[32];	    /* who writes this ring */
};

#ifdef __cplusplus
#define RING_ASSERT static_assert
extern "C" {
#else
#define RING_ASSERT _Static_assert
#endif

RING_ASSERT(sizeof(struct ring_slot) == 64, "one cache line");
RING_ASSERT(sizeof(struct ring_cpu) == 128, "format");
RING_ASSERT(sizeof(struct ring_event) == 256, "format");
RING_ASSERT(sizeof(struct ring_header) == 128, "format");

/*
 * The writer's handle. Keep it in memory of your own: the shared part is never read for geometry, so nobody who
 * can write there can make the guest write elsewhere.
 */
struct ring {
	struct ring_header *header;
	struct ring_event *events;
	struct ring_cpu *cpus;
	struct ring_slot *slots;
	uint32_t nr_cpus, mask, mode, nr_events_max;
};

/* Bytes that a ring of this size takes; 0 if a figure is out of range. `slots` is a power of two. */
size_t ring_bytes(unsigned int nr_cpus, unsigned int slots, unsigned int nr_events_max);

/*
 * Lays out a ring in mem (RING_ALIGN aligned, zeroed by this call) with the largest power of two of slots per vCPU
 * that fits. `name` may be NULL. Returns 0, or -1 if the memory is misaligned or too small.
 */
int ring_init(struct ring *r, void *mem, size_t bytes, unsigned int nr_cpus,
	      unsigned int nr_events_max, enum ring_mode mode, const char *name);

/* Adds a description; returns the event's id (0, 1, ...) or -1 when the table is full. Any CPU, any time. */
int ring_event_add(struct ring *r, const struct ring_event *ev);

/*
 * Writes a record with up to RING_ARGS_MAX words of arguments and RING_FRAMES_MAX return addresses (more are cut
 * off). False: it was dropped and counted. Any context, also NMI.
 */
bool ring_write_long(struct ring *r, unsigned int cpu, uint32_t thread, uint16_t event,
		     const uint64_t *args, unsigned int nr_args, const uint64_t *frames,
		     unsigned int nr_frames);

/*
 * The return addresses above this call, innermost first, by frame pointers (build with -fno-omit-frame-pointer).
 * stack_end: one past the stack's highest byte; nothing beyond is read. Returns how many.
 */
unsigned int ring_backtrace(uint64_t *frames, unsigned int max, const void *stack_end);

/* Packs text into `words` words, cut and NUL-padded; NULL is empty. For RING_TEXT arguments. */
void ring_text(uint64_t *words, unsigned int nr_words, const char *text);

/* ---- the fast path ---- */

#define RING_INLINE static inline __attribute__((no_instrument_function, always_inline))

#if defined(RING_CLOCK) /* a guest may name its own: a function or macro without arguments giving a uint64_t */
#elif defined(__x86_64__)
#define RING_CLOCK() __builtin_ia32_rdtsc()
#elif defined(__aarch64__)
RING_INLINE uint64_t ring_cntvct(void)
{
	uint64_t v;

	__asm__ volatile("mrs %0, cntvct_el0" : "=r"(v));
	return v;
}
#define RING_CLOCK() ring_cntvct()
#else
#error "define RING_CLOCK for this CPU (64 bits; atomics of 8 bytes)"
#endif

#if defined(RING_LOCAL) && defined(__x86_64__)
RING_INLINE uint64_t ring_fetch_add(uint64_t *p, uint64_t n)
{
	__asm__ volatile("xaddq %0, %1" : "+r"(n), "+m"(*p) : : "memory", "cc");
	return n;
}

RING_INLINE bool ring_swap_if(uint64_t *p, uint64_t old, uint64_t next)
{
	bool done;

	__asm__ volatile("cmpxchgq %3, %1"
			 : "=@ccz"(done), "+m"(*p), "+a"(old) : "r"(next) : "memory");
	return done;
}
#else
RING_INLINE uint64_t ring_fetch_add(uint64_t *p, uint64_t n)
{
	return __atomic_fetch_add(p, n, __ATOMIC_RELAXED);
}

RING_INLINE bool ring_swap_if(uint64_t *p, uint64_t old, uint64_t next)
{
	return __atomic_compare_exchange_n(p, &old, next, false, __ATOMIC_ACQ_REL,
					   __ATOMIC_RELAXED);
}
#endif

RING_INLINE uint64_t ring_mark(uint64_t pos, enum ring_state state)
{
	return (pos + 1) << 2 | state;
}

RING_INLINE void ring_store(uint64_t *p, uint64_t v)
{
	__atomic_store_n(p, v, __ATOMIC_RELAXED);
}

RING_INLINE void ring_drop(struct ring_cpu *c)
{
	ring_fetch_add(&c->drops, 1);
}

RING_INLINE bool ring_reserve(const struct ring *r, struct ring_cpu *c, unsigned int nr,
			      uint64_t *pos)
{
	if (r->mode == RING_OVERWRITE) {
		*pos = ring_fetch_add(&c->head, nr);
		return true;
	}
	do {
		*pos = __atomic_load_n(&c->head, __ATOMIC_RELAXED);
		if (*pos + nr - __atomic_load_n(&c->tail, __ATOMIC_ACQUIRE) > r->mask + 1ull)
			return false;
	} while (!ring_swap_if(&c->head, *pos, *pos + nr));
	return true;
}

RING_INLINE bool ring_claim(struct ring_slot *slot, uint64_t pos)
{
	uint64_t old = __atomic_load_n(&slot->mark, __ATOMIC_RELAXED);

	if ((old & 3) == RING_BUSY || old >= ring_mark(pos, RING_FIRST))
		return false;
	if (!ring_swap_if(&slot->mark, old, ring_mark(pos, RING_BUSY)))
		return false;
	__atomic_thread_fence(__ATOMIC_RELEASE); /* busy is seen before any of the new words */
	return true;
}

RING_INLINE struct ring_slot *ring_slot_at(const struct ring *r, unsigned int cpu, uint64_t pos)
{
	return &r->slots[(size_t)cpu * (r->mask + 1ull) + (pos & r->mask)];
}

/* A record of up to five argument words, without frames. False: dropped and counted. Any context. */
RING_INLINE bool ring_write(struct ring *r, unsigned int cpu, uint32_t thread, uint16_t event,
			    const uint64_t *args, unsigned int nr_args)
{
	struct ring_cpu *c = &r->cpus[cpu];
	struct ring_slot *slot;
	uint64_t pos;

	if (nr_args > RING_FIRST_WORDS)
		return ring_write_long(r, cpu, thread, event, args, nr_args, NULL, 0);
	if (!ring_reserve(r, c, 1, &pos)) {
		ring_drop(c);
		return false;
	}
	slot = ring_slot_at(r, cpu, pos);
	if (!ring_claim(slot, pos)) {
		ring_drop(c);
		return false;
	}
	ring_store(&slot->word[0], RING_CLOCK());
	ring_store(&slot->word[1], thread | (uint64_t)event << 32 | (uint64_t)nr_args << 48);
	for (unsigned int i = 0; i < nr_args; i++)
		ring_store(&slot->word[2 + i], args[i]);
	__atomic_store_n(&slot->mark, ring_mark(pos, RING_FIRST), __ATOMIC_RELEASE);
	return true;
}

/*
 * ring_trace(r, cpu, thread, event, a, b, c): an event with integers, five of them without a call. In C the event's
 * id is first in the list of words, so that the macro needs nothing beyond C11.
 */
#ifdef __cplusplus
} /* extern "C" */

template <typename... Words>
RING_INLINE bool ring_trace(struct ring *r, unsigned int cpu, uint32_t thread, uint16_t event,
			    Words... words)
{
	const uint64_t args[] = {0, (uint64_t)words...};

	return ring_write(r, cpu, thread, event, args + 1, sizeof...(words));
}
#else
RING_INLINE bool ring_write_words(struct ring *r, unsigned int cpu, uint32_t thread,
				  const uint64_t *words, unsigned int nr_words)
{
	return ring_write(r, cpu, thread, (uint16_t)words[0], words + 1, nr_words - 1);
}

#define ring_trace(r, cpu, thread, ...)                                                            \
	ring_write_words(r, cpu, thread, (const uint64_t[]){__VA_ARGS__},                          \
			 sizeof((const uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t))
#endif

#endif
