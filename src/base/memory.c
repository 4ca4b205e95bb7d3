// SPDX-License-Identifier: GPL-2.0-or-later
/* The replacements of malloc() and its kind, by ld --wrap: they count allocations and note failures. */
#include <jansson.h>
#include <malloc.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

enum { RESERVE_BYTES = 256 << 10 };

/* Allocations belong to the process, and so does their failure. */
struct memory {
	atomic_ulong failures, tries;
	atomic_size_t used;
	_Alignas(max_align_t) char reserve[RESERVE_BYTES]; /* is not freed */
};

static struct memory *memory(void)
{
	static struct memory process_wide;

	return &process_wide;
}

unsigned long memory_failures(void)
{
	return atomic_load(&memory()->failures);
}

unsigned long memory_allocations(void)
{
	return atomic_load(&memory()->tries);
}

static void *checked(void *p, size_t size)
{
	atomic_fetch_add_explicit(&memory()->tries, 1, memory_order_relaxed);
	if (!p && size)
		atomic_fetch_add(&memory()->failures, 1);
	return p;
}

static bool in_reserve(const void *p)
{
	const char *at = p, *begin = memory()->reserve;

	return at >= begin && at < begin + RESERVE_BYTES;
}

/* Declares the function that the linker renames, and ours. */
#define WRAP(type, name, ...)                                                                      \
	type __real_##name(__VA_ARGS__);                                                           \
	type __wrap_##name(__VA_ARGS__)

WRAP(void, free, void *p);
WRAP(void *, malloc, size_t size);
WRAP(void *, calloc, size_t nr, size_t size);
WRAP(void *, realloc, void *old, size_t size);
WRAP(void *, reallocarray, void *old, size_t nr, size_t size);
WRAP(char *, strdup, const char *text);
WRAP(char *, strndup, const char *text, size_t max);
WRAP(int, asprintf, char **ret, const char *fmt, ...);
WRAP(int, vasprintf, char **ret, const char *fmt, va_list ap);
/* What these two become with _FORTIFY_SOURCE. */
WRAP(int, __asprintf_chk, char **ret, int flag, const char *fmt, ...);
WRAP(int, __vasprintf_chk, char **ret, int flag, const char *fmt, va_list ap);

void __wrap_free(void *p)
{
	if (!in_reserve(p))
		__real_free(p);
}

void *__wrap_malloc(size_t size)
{
	return checked(__real_malloc(size), size);
}

void *__wrap_calloc(size_t nr, size_t size)
{
	return checked(__real_calloc(nr, size), nr && size);
}

void *__wrap_realloc(void *old, size_t size)
{
	return checked(__real_realloc(old, size), size);
}

char *__wrap_strdup(const char *text)
{
	return checked(__real_strdup(text), 1);
}

char *__wrap_strndup(const char *text, size_t max)
{
	return checked(__real_strndup(text, max), 1);
}

void *__wrap_reallocarray(void *old, size_t nr, size_t size)
{
	return checked(__real_reallocarray(old, nr, size), nr && size);
}

/* They fail without memory, and only then: the formats are constant. */
int __wrap_vasprintf(char **ret, const char *fmt, va_list ap)
{
	int len = __real_vasprintf(ret, fmt, ap);

	checked(len < 0 ? NULL : *ret, 1);
	return len;
}

int __wrap___vasprintf_chk(char **ret, int flag, const char *fmt, va_list ap)
{
	int len = __real___vasprintf_chk(ret, flag, fmt, ap);

	checked(len < 0 ? NULL : *ret, 1);
	return len;
}

int __wrap_asprintf(char **ret, const char *fmt, ...)
{
	va_list ap;
	int len;

	va_start(ap, fmt);
	len = __wrap_vasprintf(ret, fmt, ap);
	va_end(ap);
	return len;
}

int __wrap___asprintf_chk(char **ret, int flag, const char *fmt, ...)
{
	va_list ap;
	int len;

	va_start(ap, fmt);
	len = __wrap___vasprintf_chk(ret, flag, fmt, ap);
	va_end(ap);
	return len;
}

/* glibc's fclose() can succeed without the text. */
bool memstream_close(FILE *f, char **text)
{
	if (f && !fclose(f) && *text)
		return true;
	free(*text);
	*text = NULL;
	return checked(NULL, 1);
}

/* jansson's parser reads beyond its buffer if an allocation fails: it gets the reserve, and the command ends later. */
static void *json_malloc(size_t size)
{
	size_t room = (size + sizeof(max_align_t) - 1) / sizeof(max_align_t) * sizeof(max_align_t);
	void *p = malloc(size);

	if (p || room > RESERVE_BYTES)
		return p;
	size_t at = atomic_fetch_add(&memory()->used, room);

	return at <= RESERVE_BYTES - room ? memory()->reserve + at : NULL;
}

/*
 * No fastbins: where many small blocks were freed, as those of a large JSON document, the C library merges all of them
 * each time that a block of 64 KiB comes together. Most small blocks are in its per-thread cache anyway.
 *
 * A large table comes from the kernel, which has it zeroed: calloc() would else write all of it after the first large
 * block was freed, and most of what a table has room for is never used. When it is freed it goes back to the kernel,
 * even if small blocks stay that were allocated later.
 */
void memory_init(void)
{
	mallopt(M_MXFAST, 0);
	mallopt(M_MMAP_THRESHOLD, 128 << 10);
	json_set_alloc_funcs(json_malloc, free);
}
