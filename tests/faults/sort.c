// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * For LD_PRELOAD: checks what the program passes to qsort() and qsort_r().
 *
 * A comparison that is no total order sorts differently with each library, or reads outside the array. So qsort()
 * aborts if an element is not equal to itself, if two are each less than the other, or if a <= b <= c and not a <= c;
 * NULL is no array even of 0 elements. Then it shuffles the elements before it sorts: output that depends on the order
 * of elements that compare equal is not the expected one.
 *
 *   SORT_SEED=N    another order; default 1
 */
#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

enum { CHECKS = 256 };

typedef int compare_fn(const void *a, const void *b, void *arg);
typedef void sort_fn(void *base, size_t nr, size_t size, compare_fn *compare, void *arg);

struct sorted {
	uint8_t *base;
	size_t nr, size;
	compare_fn *compare;
	void *arg;
	const void *caller;
	uint64_t random;
};

static sort_fn *libc_sort;
static const void *program;
static uint64_t seed = 1;

static const void *object_of(const void *address)
{
	Dl_info info;

	return dladdr(address, &info) ? info.dli_fbase : NULL;
}

__attribute__((constructor)) static void begin(void)
{
	const char *text = getenv("SORT_SEED");

	unsetenv("LD_PRELOAD"); /* for the programs that this one starts: they may run as another user */
	libc_sort = (sort_fn *)dlsym(RTLD_NEXT, "qsort_r");
	program = object_of((const void *)getauxval(AT_ENTRY));
	seed = text ? strtoull(text, NULL, 0) | 1 : 1;
}

static __attribute__((noreturn)) void broken(const struct sorted *s, const char *what)
{
	Dl_info info = {0};

	dladdr((const void *)s->compare, &info);
	fprintf(stderr, "sort.so: %s: comparison at +%#lx (%s), called from +%#lx\n", what,
		(unsigned long)((const char *)s->compare - (const char *)info.dli_fbase),
		info.dli_sname ? info.dli_sname : "static",
		(unsigned long)((const char *)s->caller - (const char *)program));
	abort();
}

/* xorshift64 */
static size_t random_below(struct sorted *s, size_t limit)
{
	s->random ^= s->random << 13;
	s->random ^= s->random >> 7;
	s->random ^= s->random << 17;
	return s->random % limit;
}

static int order(const struct sorted *s, size_t i, size_t j)
{
	int c = s->compare(s->base + i * s->size, s->base + j * s->size, s->arg);

	return (c > 0) - (c < 0);
}

static void order_check(struct sorted *s)
{
	for (unsigned int n = 0; s->nr && n < CHECKS; n++) {
		size_t i = random_below(s, s->nr), j = random_below(s, s->nr),
		       k = random_below(s, s->nr);

		if (order(s, i, i))
			broken(s, "an element is not equal to itself");
		if (order(s, i, j) != -order(s, j, i))
			broken(s, "two elements are each before the other");
		if (order(s, i, j) <= 0 && order(s, j, k) <= 0 && order(s, i, k) > 0)
			broken(s, "a <= b <= c, but not a <= c");
		if (!order(s, i, j) && order(s, i, k) != order(s, j, k))
			broken(s, "two equal elements differ in how they compare to a third");
	}
}

static void shuffle(struct sorted *s)
{
	uint8_t old[s->size];

	for (size_t i = s->nr; i > 1; i--) {
		uint8_t *a = s->base + (i - 1) * s->size;
		uint8_t *b = s->base + random_below(s, i) * s->size;

		memcpy(old, a, s->size);
		memmove(a, b, s->size);
		memcpy(b, old, s->size);
	}
}

static void sort(struct sorted *s)
{
	if (object_of(s->caller) == program) {
		if (!s->base)
			broken(s, "the array is NULL");
		s->random = seed;
		order_check(s);
		shuffle(s);
	}
	libc_sort(s->base, s->nr, s->size, s->compare, s->arg);
}

/* qsort()'s comparison takes no third argument; the calling convention lets it be passed. */
__attribute__((visibility("default"))) void qsort(void *base, size_t nr, size_t size,
						  int (*compare)(const void *, const void *))
{
	struct sorted s = {.base = base, .nr = nr, .size = size,
			   .compare = (compare_fn *)(void *)compare,
			   .caller = __builtin_return_address(0)};

	sort(&s);
}

__attribute__((visibility("default"))) void qsort_r(void *base, size_t nr, size_t size,
						    compare_fn *compare, void *arg)
{
	struct sorted s = {.base = base, .nr = nr, .size = size, .compare = compare, .arg = arg,
			   .caller = __builtin_return_address(0)};

	sort(&s);
}
