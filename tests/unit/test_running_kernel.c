// SPDX-License-Identifier: GPL-2.0-or-later
/* The kernel's code by /proc/kcore, of which this makes one. */
#include <elf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "symbols/running_kernel.h"

#include <cmocka.h>

enum { CODE_AT = 4096 };

static int kcore_make(uint16_t machine, uint16_t nr_headers)
{
	int fd = memfd_create("kcore", 0);
	Elf64_Ehdr head = {.e_ident = ELFMAG, .e_machine = machine, .e_phoff = sizeof(head),
			   .e_phnum = nr_headers};
	Elf64_Phdr segment[2] = {{.p_type = PT_NOTE, .p_vaddr = 0, .p_memsz = UINT64_MAX},
				 {.p_type = PT_LOAD,
				  .p_vaddr = 0xffffffff81000000,
				  .p_memsz = 8,
				  .p_offset = CODE_AT}};

	assert_true(fd > 0);
	assert_int_equal(sizeof(head), pwrite(fd, &head, sizeof(head), 0));
	assert_int_equal(sizeof(segment), pwrite(fd, segment, sizeof(segment), sizeof(head)));
	assert_int_equal(8, pwrite(fd, "01234567", 8, CODE_AT));
	return fd;
}

static void code(void **state)
{
	int fd = kcore_make(EM_X86_64, 2), other = kcore_make(EM_AARCH64, 2),
	    cut = kcore_make(EM_X86_64, 1);
	uint8_t got[16];

	(void)state;
	assert_int_equal(3, running_kernel_code(fd, 0xffffffff81000002, got, 3));
	assert_memory_equal("234", got, 3);
	assert_int_equal(2, running_kernel_code(fd, 0xffffffff81000006, got, sizeof(got)));
	assert_memory_equal("67", got, 2);
	assert_int_equal(0, running_kernel_code(fd, 0xffffffff81000008, got, 1));
	assert_int_equal(0, running_kernel_code(fd, 0xffffffff80ffffff, got, 1));
	assert_int_equal(0, running_kernel_code(other, 0xffffffff81000002, got, 1));
	assert_int_equal(0, running_kernel_code(cut, 0xffffffff81000002, got, 1));
	assert_int_equal(0, running_kernel_code(0, 0xffffffff81000002, got, 1));
	close(fd);
	close(other);
	close(cut);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(code)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
