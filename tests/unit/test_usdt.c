// SPDX-License-Identifier: GPL-2.0-or-later
/* USDT probes and symbols, read from this program itself, and from truncated or damaged copies of it. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define _SDT_HAS_SEMAPHORES 1
#include <sys/sdt.h>

#include "base/error.h"
#include "collector/elf.h"

#include <cmocka.h>

#define SEMAPHORE(name)                                                                            \
	unsigned short name##_semaphore                                                            \
		__attribute__((section(".probes"), used, visibility("hidden")))

SEMAPHORE(hostrace_twice);
SEMAPHORE(hostrace_once);

int usdt_test_variable = 1;
int usdt_test_function(int x);

__attribute__((noinline)) int usdt_test_function(int x)
{
	STAP_PROBE1(hostrace, twice, x);
	if (x > usdt_test_variable)
		STAP_PROBE1(hostrace, twice, x + 1);
	STAP_PROBE4(hostrace, once, x, &usdt_test_variable, 7, 8L);
	return x + usdt_test_variable;
}

static unsigned int count(const struct usdt_marks *marks, const char *name)
{
	unsigned int nr = 0;

	for (unsigned int i = 0; i < marks->nr; i++)
		nr += !strcmp(marks->mark[i].provider, "hostrace") &&
		      !strcmp(marks->mark[i].name, name);
	return nr;
}

static void own_marks(void **state)
{
	_cleanup_elf_file_ struct elf_file *e = NULL;
	struct usdt_marks marks;

	(void)state;
	assert_int_equal(3, usdt_test_function(2));
	assert_int_equal(0, elf_file_open("/proc/self/exe", &e));
	assert_int_equal(0, usdt_read(e, &marks));
	assert_int_equal(2, count(&marks, "twice"));
	assert_int_equal(1, count(&marks, "once"));
	assert_int_equal(0, marks.broken);
	for (unsigned int i = 0; i < marks.nr; i++) {
		const struct usdt_mark *m = &marks.mark[i];
		size_t len;
		const uint8_t *code = elf_file_bytes(e, m->address, &len);

		if (strcmp(m->provider, "hostrace"))
			continue;
		assert_non_null(code);
		assert_int_equal(0x90, *code); /* a nop */
		assert_true(m->semaphore != 0);
		assert_true(usdt_args_readable(m->args, !strcmp(m->name, "once") ? 4 : 1));
	}
	usdt_free(&marks);
}

static void own_symbols(void **state)
{
	_cleanup_elf_file_ struct elf_file *e = NULL;
	struct elf_symbol symbol;
	uint64_t offset;
	size_t len;

	(void)state;
	assert_int_equal(0, elf_file_open("/proc/self/exe", &e));
	assert_true(elf_file_has_symbols(e));
	assert_true(elf_file_symbol(e, "usdt_test_function", &symbol));
	assert_true(symbol.size > 4);
	assert_false(elf_file_symbol(e, "usdt_test_functio", &symbol));
	assert_true(elf_file_symbol(e, "usdt_test_function", &symbol));
	assert_true(elf_file_offset(e, symbol.address, &offset));
	assert_memory_equal(elf_file_bytes(e, symbol.address, &len), (void *)usdt_test_function,
			    16);
	assert_false(elf_file_offset(e, UINT64_MAX, &offset));
	assert_null(elf_file_bytes(e, 0x7fffffffffff, &len));
}

static void other_files(void **state)
{
	struct elf_file *e;

	(void)state;
	assert_int_equal(-ENOENT, elf_file_open("/no/such/file", &e));
	assert_int_equal(-EINVAL, elf_file_open("/proc/self/cmdline", &e));
	assert_non_null(strstr(error_text(), "not an ELF file"));
	elf_file_close(NULL);
}

static void argument_forms(void **state)
{
	(void)state;
	assert_true(usdt_args_readable("8@%rdi -4@$7 -4@-20(%rbp) 8@(%rax) 4@8(%rsp)", 5));
	assert_true(usdt_args_readable("", 0));
	assert_true(
		usdt_args_readable("8@%rdi 8@(%r8,%rdx,8)", 1)); /* the second is not asked for */
	assert_false(usdt_args_readable("8@%rdi 8@(%r8,%rdx,8)", 2));
	assert_false(usdt_args_readable("8@counter(%rip)", 1));
	assert_false(usdt_args_readable("8@16(%rip)", 1));
	assert_false(usdt_args_readable("8@%rdi", 2));
	assert_false(usdt_args_readable("%rdi", 1));
	assert_false(usdt_args_readable("8@", 1));
	assert_false(usdt_args_readable("8@12", 1));
}

/* Reads all there is to read; only crashes and reads outside the file matter. */
static void read_all(const char *path)
{
	_cleanup_elf_file_ struct elf_file *e = NULL;
	struct usdt_marks marks;
	struct elf_symbol symbol;
	size_t len;

	if (elf_file_open(path, &e))
		return;
	elf_file_symbol(e, "usdt_test_function", &symbol);
	elf_file_symbol(e, "no such symbol", &symbol);
	if (usdt_read(e, &marks))
		return;
	for (unsigned int i = 0; i < marks.nr; i++)
		elf_file_bytes(e, marks.mark[i].address, &len);
	usdt_free(&marks);
}

static void damaged(void **state)
{
	char path[] = "/tmp/hostrace-elf-XXXXXX";
	int in = open("/proc/self/exe", O_RDONLY), out = mkstemp(path);
	struct stat st;
	uint8_t *copy;

	(void)state;
	assert_true(in >= 0 && out >= 0 && !fstat(in, &st));
	copy = malloc((size_t)st.st_size);
	assert_int_equal(st.st_size, read(in, copy, (size_t)st.st_size));
	srand(2);
	for (int i = 0; i < 300; i++) {
		size_t len = i % 3 ? (size_t)st.st_size : (size_t)rand() % (size_t)st.st_size;
		size_t at = (size_t)st.st_size -
			    (size_t)rand() % 4096; /* section headers lie at the end */
		uint8_t was[64];

		if (i & 1)
			at = (size_t)rand() % 1024; /* program headers at the beginning */
		at = at > (size_t)st.st_size - sizeof(was) ? (size_t)st.st_size - sizeof(was) : at;
		memcpy(was, copy + at, sizeof(was));
		for (size_t k = 0; k < sizeof(was); k += 7)
			copy[at + k] = (uint8_t)rand();
		assert_int_equal(0, ftruncate(out, 0));
		assert_int_equal(len, pwrite(out, copy, len, 0));
		read_all(path);
		memcpy(copy + at, was, sizeof(was));
	}
	free(copy);
	close(in);
	close(out);
	unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(own_marks),   cmocka_unit_test(own_symbols),
		cmocka_unit_test(other_files), cmocka_unit_test(argument_forms),
		cmocka_unit_test(damaged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
