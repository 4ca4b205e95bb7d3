// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Large blocks for fuzzers, linked with --wrap: AddressSanitizer maps and unmaps each large block, which takes ten
 * times as long as reading a small input. Blocks from LARGE_MIN on come from an arena and are used again. Accesses
 * before and after a block are detected, and to the first bytes of a freed one. A block that leaks is not used
 * again; when all are in use, blocks come from malloc(), and the leak is reported.
 */
#include <malloc.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <sanitizer/asan_interface.h>

enum {
	SLOTS = 256,
	SLOT_BYTES = 8 << 20,
	LARGE_MIN = 32 << 10,
	RED_ZONE = 256, /* on both sides */
	LARGE_MAX = SLOT_BYTES - 2 * RED_ZONE,
	HEAD_BYTES = 4096, /* filled in a new block, poisoned in a freed one */
	HEAD_FILL = 0xbe,
	PAGE_BYTES = 4096,
	SPARSE_MIN = 128 << 10, /* tables, of which an input uses little */
};

struct slot {
	size_t size; /* of the block in it, or that was in it */
	int used;
};

static uint8_t *arena;
static struct slot slots[SLOTS];

void *__real_malloc(size_t size);
void *__real_calloc(size_t nr, size_t size);
void *__real_realloc(void *p, size_t size);
void __real_free(void *p);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t nr, size_t size);
void *__wrap_realloc(void *p, size_t size);
void *__wrap_reallocarray(void *p, size_t nr, size_t size);
void __wrap_free(void *p);

static struct slot *slot_of(const void *p)
{
	uintptr_t offset = (uintptr_t)p - (uintptr_t)arena;

	return arena && offset < (uintptr_t)SLOTS * SLOT_BYTES ? &slots[offset / SLOT_BYTES] : NULL;
}

/* A free slot, if possible one that had a block of this size: its shadow is right, its pages are there. */
static struct slot *slot_find(size_t size)
{
	struct slot *found = NULL;

	for (int i = 0; i < SLOTS; i++) {
		if (slots[i].used)
			continue;
		if (slots[i].size == size)
			return &slots[i];
		if (!found || !slots[i].size)
			found = &slots[i];
	}
	return found;
}

/* At the slot's end, so that the first byte after it can be poisoned exactly. */
static uint8_t *block_of(const struct slot *s)
{
	return arena + (s - slots + 1) * SLOT_BYTES - RED_ZONE - ((s->size + 15) & ~(size_t)15);
}

static void *large_malloc(size_t size)
{
	struct slot *s;
	uint8_t *p;

	if (!arena) {
		arena = mmap(NULL, (size_t)SLOTS * SLOT_BYTES, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		if (arena == MAP_FAILED)
			abort();
	}
	s = slot_find(size);
	if (!s)
		return __real_malloc(size);
	if (s->size != size) {
		s->size = size;
		p = block_of(s);
		ASAN_UNPOISON_MEMORY_REGION(p, size);
		ASAN_POISON_MEMORY_REGION(p - RED_ZONE, RED_ZONE);
		ASAN_POISON_MEMORY_REGION(
			p + size, (size_t)(arena + (s - slots + 1) * SLOT_BYTES - (p + size)));
	}
	p = block_of(s);
	s->used = 1;
	ASAN_UNPOISON_MEMORY_REGION(p, HEAD_BYTES);
	return p;
}

void *__wrap_malloc(size_t size)
{
	void *p;

	if (size < LARGE_MIN || size > LARGE_MAX)
		return __real_malloc(size);
	p = large_malloc(size);
	if (p)
		memset(p, HEAD_FILL, HEAD_BYTES);
	return p;
}

/* Of a large block the kernel takes the pages, and gives zeroed ones for those that are used. */
static void *block_zero(uint8_t *p, size_t size)
{
	uintptr_t from = ((uintptr_t)p + PAGE_BYTES - 1) & ~(uintptr_t)(PAGE_BYTES - 1),
		  to = (uintptr_t)(p + size) & ~(uintptr_t)(PAGE_BYTES - 1);

	if (size < SPARSE_MIN || madvise((void *)from, to - from, MADV_DONTNEED))
		return memset(p, 0, size);
	memset(p, 0, from - (uintptr_t)p);
	memset((void *)to, 0, (uintptr_t)(p + size) - to);
	return p;
}

void *__wrap_calloc(size_t nr, size_t size)
{
	size_t bytes;
	void *p;

	if (__builtin_mul_overflow(nr, size, &bytes) || bytes < LARGE_MIN || bytes > LARGE_MAX)
		return __real_calloc(nr, size);
	p = large_malloc(bytes);
	return p ? block_zero(p, bytes) : NULL;
}

void *__wrap_realloc(void *p, size_t size)
{
	const struct slot *s = slot_of(p);
	size_t old = s ? s->size : p ? malloc_usable_size(p) : 0;
	void *to;

	if (!s && (size < LARGE_MIN || size > LARGE_MAX))
		return __real_realloc(p, size);
	to = __wrap_malloc(size);
	if (to && p) {
		memcpy(to, p, old < size ? old : size);
		__wrap_free(p);
	}
	return to;
}

void *__wrap_reallocarray(void *p, size_t nr, size_t size)
{
	size_t bytes;

	return __builtin_mul_overflow(nr, size, &bytes) ? NULL : __wrap_realloc(p, bytes);
}

void __wrap_free(void *p)
{
	struct slot *s = slot_of(p);

	if (!s) {
		__real_free(p);
		return;
	}
	if (!s->used || p != block_of(s))
		abort(); /* freed twice, or not a block */
	ASAN_POISON_MEMORY_REGION(p, HEAD_BYTES);
	s->used = 0;
}
