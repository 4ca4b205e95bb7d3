// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Stands for a QEMU that leaks: to be installed as "qemu-system-...". Allocates and frees exactly known numbers of
 * blocks, by glib's, the C library's and QEMU's functions, and maps memory.
 *
 *	heapleak	prints "ready PID", waits for a line, works, prints "done", waits for another one
 *
 * Built without frame pointers, as QEMU is. glib is linked by its file, without its headers.
 */
#include <err.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

void *g_malloc(size_t bytes);
void *g_malloc0(size_t bytes);
void *g_realloc(void *block, size_t bytes);
void g_free(void *block);
char *g_strdup_printf(const char *format, ...);

const char *volatile version = "QEMU emulator version 10.1.0 (heap)\n";

#define NOINLINE __attribute__((noinline, noclone))
#define NOT_A_TAIL_CALL() asm volatile("" ::: "memory")

enum { THREADS = 4 };

/* ---- what QEMU has ---- */

NOINLINE void *qemu_memalign(size_t alignment, size_t size)
{
	void *block = NULL;

	if (posix_memalign(&block, alignment, size))
		errx(1, "no memory");
	return block;
}

NOINLINE void qemu_vfree(void *block)
{
	free(block);
	NOT_A_TAIL_CALL();
}

/* ---- leaks ---- */

NOINLINE void *device_state_new(size_t bytes)
{
	void *block = g_malloc(bytes);

	NOT_A_TAIL_CALL();
	return block;
}

/* 1000 blocks of 100 bytes, of which 100 are not freed. */
NOINLINE void leak_some(void)
{
	for (int i = 0; i < 1000; i++) {
		void *block = device_state_new(100);

		if (i % 10)
			g_free(block);
	}
}

/* Two callers of one function. */
NOINLINE void plug_a(void)
{
	for (int i = 0; i < 300; i++)
		device_state_new(64);
}

NOINLINE void plug_b(void)
{
	for (int i = 0; i < 200; i++)
		device_state_new(64);
}

/* Nothing remains: calloc() and free() of 500 blocks. */
NOINLINE void balanced(void)
{
	static void *block[500];

	for (int i = 0; i < 500; i++)
		block[i] = calloc(3, 7);
	for (int i = 0; i < 500; i++)
		free(block[i]);
}

/* One block of 4096 bytes remains, of 9 reallocations. */
NOINLINE void grow(void)
{
	char *block = NULL;

	for (size_t bytes = 16; bytes <= 4096; bytes *= 2)
		block = g_realloc(block, bytes);
	block[0] = 1;
	NOT_A_TAIL_CALL();
}

/* Freed by what they are not for. */
NOINLINE void mix(void)
{
	for (int i = 0; i < 7; i++)
		free(g_malloc0(40));
	for (int i = 0; i < 5; i++)
		g_free(malloc(50));
	for (int i = 0; i < 2; i++)
		g_free(qemu_memalign(512, 512));
	qemu_vfree(qemu_memalign(512, 512));
	NOT_A_TAIL_CALL();
}

/* Texts that glib has the C library allocate, which are for g_free(): 6 of 10 remain. */
NOINLINE void texts(void)
{
	for (int i = 0; i < 10; i++) {
		char *text = g_strdup_printf("%0300d", i); /* longer than the first guess */

		if (i < 4)
			g_free(text);
	}
}

NOINLINE void aligned(void)
{
	for (int i = 0; i < 3; i++)
		qemu_memalign(4096, 8192);
	NOT_A_TAIL_CALL();
}

/* Mapped by malloc() itself: two of four remain. Neither they nor what is unmapped counts as mmap(). */
NOINLINE void large(void)
{
	for (int i = 0; i < 4; i++) {
		void *volatile block = malloc(1 << 20);

		if (i % 2)
			free(block);
	}
}

/* 3 MiB remain of 8: one mapping has a hole, one is unmapped. */
NOINLINE void map(void)
{
	char *a = mmap(NULL, 4 << 20, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *b = mmap(NULL, 4 << 20, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	munmap(a + (1 << 20), 1 << 20);
	munmap(b, 4 << 20);
}

NOINLINE void *thread_leaks(void *arg)
{
	for (int i = 0; i < 250; i++)
		g_malloc0(33);
	return arg;
}

static void threads(void)
{
	pthread_t thread[THREADS];

	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&thread[i], NULL, thread_leaks, NULL))
			errx(1, "no thread");
	for (int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
}

static void line_wait(void)
{
	char line[16];

	if (!fgets(line, sizeof(line), stdin))
		errx(1, "stdin ended before a line came");
}

int main(void)
{
	void *before = g_malloc(1234);

	printf("ready %d%.0s\n", getpid(), version);
	fflush(stdout);
	line_wait();
	leak_some();
	plug_a();
	plug_b();
	balanced();
	grow();
	mix();
	texts();
	aligned();
	large();
	map();
	threads();
	g_free(before); /* not followed */
	puts("done");
	fflush(stdout);
	line_wait();
	return 0;
}
