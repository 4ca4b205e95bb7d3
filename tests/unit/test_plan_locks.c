// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The address of QEMU's global mutex, found in the code of its exported functions: this program
 * itself stands in for QEMU. Its functions pass texts and other variables, too. test_plan_bql.c has the names of
 * QEMU 9.0 and newer.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "symbols/decode/decode.h"
#include "collector/plan.h"
#ifdef HOSTRACE_LIVE
#include "collector/internal.h"
#endif

#include <cmocka.h>

#ifndef LOCK
#define LOCK "qemu_mutex_lock_iothread_impl"
#define UNLOCK "qemu_mutex_unlock_iothread"
#define COND_WAIT "qemu_cond_wait_iothread"
#endif

const char *volatile version = "QEMU emulator version 7.2.22 (pretended)\n";

pthread_mutex_t the_mutex = PTHREAD_MUTEX_INITIALIZER;

asm(".pushsection .text\n"
    "	.globl " LOCK ", " UNLOCK ", " COND_WAIT "\n"
    "	.type " LOCK ", @function\n"
    "	.type " UNLOCK ", @function\n"
    "	.type " COND_WAIT ", @function\n"
    LOCK ":\n"
    "	lea	" UNLOCK "(%rip), %rdi\n" /* not writable */
    "	lea	version(%rip), %rsi\n"	   /* another argument */
    "	lea	the_mutex(%rip), %rdi\n"
    "	ret\n"
    "	.size " LOCK ", . - " LOCK "\n"
    UNLOCK ":\n"
    "	lea	the_mutex(%rip), %rdi\n"
    "	ret\n"
    "	.size " UNLOCK ", . - " UNLOCK "\n"
    COND_WAIT ":\n"
    "	lea	version(%rip), %rdi\n"
    "	lea	the_mutex(%rip), %rsi\n"
    "	ret\n"
    "	.size " COND_WAIT ", . - " COND_WAIT "\n"
    "	lea	version(%rip), %rdi\n" /* after the last function */
    ".popsection\n");

/* The probe of the exact way is on the same function. */
static void lock_is_probed(void **state)
{
	unsigned int nr = 0;
	struct plan plan;

	(void)state;
	assert_int_equal(0, plan_make("/proc/self/exe", &plan));
	for (unsigned int i = 0; i < plan.nr; i++) {
		const struct probe_plan *p = &plan.probe[i];

		if (strcmp(p->event, "bql_lock") != 0)
			continue;
		assert_int_equal(PROBE_FUNCTION, p->how);
		assert_string_equal(LOCK, p->place[0].function);
		nr++;
	}
	assert_int_equal(1, nr);
	plan_free(&plan);
}

static void found_in_three_functions(void **state)
{
	struct plan plan;

	(void)state;
	assert_true(*version);
	assert_int_equal(0, plan_make("/proc/self/exe", &plan));
	assert_int_not_equal(0, plan.global_mutex);
	assert_non_null(strstr(plan.lock_note, "as 3 of its functions show"));
	plan_free(&plan);
}

static void variables_of_one_argument(void **state)
{
	/* lea 0x10(%rip), %rdi; lea -0x10(%rip), %rsi; lea 0x10(%rdi), %rdi; lea 0x20(%rip), %rdi
	 */
	static const uint8_t code[] = {0x48, 0x8d, 0x3d, 0x10, 0,    0,	   0,	 0x48, 0x8d,
				       0x35, 0xf0, 0xff, 0xff, 0xff, 0x48, 0x8d, 0x7f, 0x10,
				       0x48, 0x8d, 0x3d, 0x20, 0,    0,	   0};
	uint64_t at[4];

	(void)state;
	assert_int_equal(2, decode_variables(code, sizeof(code), 0x1000, 1, at, 4));
	assert_int_equal(0x1017, at[0]);
	assert_int_equal(0x1039, at[1]);
	assert_int_equal(1, decode_variables(code, sizeof(code), 0x1000, 1, at, 1));
	assert_int_equal(1, decode_variables(code, sizeof(code), 0x1000, 2, at, 4));
	assert_int_equal(0xffe, at[0]);
	assert_int_equal(0, decode_variables(code, 6, 0x1000, 1, at, 4));
}

#ifdef HOSTRACE_LIVE
/* In this process, at its load address; and not if what is there is no mutex. */
static void found_in_the_process(void **state)
{
	struct target t = {.pid = getpid(), .exe_open = "/proc/self/exe"};
	int kind = the_mutex.__data.__kind;

	(void)state;
	assert_int_equal(0, plan_make("/proc/self/exe", &t.plan));
	collector_mutex_find(&t);
	assert_int_equal((uintptr_t)&the_mutex, t.global_mutex);
	pthread_mutex_lock(&the_mutex);
	collector_mutex_find(&t);
	assert_int_equal((uintptr_t)&the_mutex, t.global_mutex);
	pthread_mutex_unlock(&the_mutex);

	the_mutex.__data.__kind = 0x1234;
	collector_mutex_find(&t);
	the_mutex.__data.__kind = kind;
	assert_int_equal(0, t.global_mutex);
	assert_string_equal("global mutex: what is at its address is not a mutex of glibc",
			    t.lock_note);

	t.exe_open = "/bin/sh"; /* a command that has not become QEMU yet */
	collector_mutex_find(&t);
	assert_int_equal(0, t.global_mutex);
	plan_free(&t.plan);
}
#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(found_in_three_functions),
		cmocka_unit_test(lock_is_probed),
		cmocka_unit_test(variables_of_one_argument),
#ifdef HOSTRACE_LIVE
		cmocka_unit_test(found_in_the_process),
#endif
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
