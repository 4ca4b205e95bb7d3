// SPDX-License-Identifier: GPL-2.0-or-later
/* A guest's virtual addresses: its paging mode from QMP, and its page tables in memory of this test. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/error.h"
#include "vm/qmp.h"

#include <cmocka.h> /* after ours: it has a fail() too */

static int ram = -1;

static void put64(uint64_t at, uint64_t v)
{
	assert_int_equal(pwrite(ram, &v, 8, (off_t)at), 8);
}

static void put32(uint64_t at, uint32_t v)
{
	assert_int_equal(pwrite(ram, &v, 4, (off_t)at), 4);
}

static int ram_read(const struct memory *m, uint64_t at, void *buf, size_t size)
{
	return pread(m->fd, buf, size, (off_t)at) == (ssize_t)size ? 0 : -EFAULT;
}

#define RAM_SIZE 0x110000000ull

static uint64_t walk(enum guest_paging paging, uint64_t cr3, uint64_t address)
{
	const struct guest_ram at_0 = {.base = 0x10000000, .low = 0xc0000000, .size = RAM_SIZE};
	const struct guest_space space = {paging, cr3};
	const struct memory m = {.read = ram_read, .fd = ram};
	uint64_t at = guest_address(&m, &at_0, &space, address);

	return at ? at - 0x10000000 : 0;
}

static void page_tables(void **state)
{
	const uint64_t base = 0x10000000;

	(void)state;
	ram = memfd_create("ram", MFD_CLOEXEC);
	assert_int_equal(ftruncate(ram, 0x20000000), 0);
	assert_int_equal(walk(GUEST_PHYSICAL, 0, 0x1234), 0x1234);
	assert_int_equal(walk(GUEST_PHYSICAL, 0, 0x100001234), 0xc0001234);
	/* four levels: 4 KiB, 2 MiB and 1 GiB pages, at 0xffff900012345000 and next to it */
	put64(base + 0x1000 + 8 * 288, 0x2000 | 3);
	put64(base + 0x2000, 0x3000 | 3);
	put64(base + 0x3000 + 8 * 145, 0x4000 | 3);
	put64(base + 0x4000 + 8 * 325, 0x8000000000077003 | 0x63);
	put64(base + 0x3000 + 8 * 146, 0x400000 | 0x83);
	put64(base + 0x2000 + 8, 0x40000000 | 0x83);
	assert_int_equal(walk(GUEST_PAGING_4, 0x1000 | 0x18, 0xffff900012345678), 0x77678);
	assert_int_equal(walk(GUEST_PAGING_4, 0x1000, 0xffff900012345678 + 0x1000), 0);
	assert_int_equal(walk(GUEST_PAGING_4, 0x1000, 0xffff900012412345), 0x412345);
	assert_int_equal(walk(GUEST_PAGING_4, 0x1000, 0xffff900040000010), 0x40000010);
	assert_int_equal(walk(GUEST_PAGING_4, 0x1000, 0xffff800012345678), 0);
	/* five */
	put64(base + 0x5000 + 8 * 3, 0x1000 | 3);
	assert_int_equal(walk(GUEST_PAGING_5, 0x5000, 0x0003900012345678), 0x77678);
	/* PAE: four pointers anywhere at 32 bytes */
	put64(base + 0x6020 + 8 * 3, 0x3000 | 1);
	assert_int_equal(walk(GUEST_PAGING_PAE, 0x6020, 0xc0000000 + 0x12345678), 0x77678);
	assert_int_equal(walk(GUEST_PAGING_PAE, 0x6020, 0x12345678), 0);
	/* two levels: 4 KiB and 4 MiB */
	put32(base + 0x7000 + 4 * 768, 0x8000 | 3);
	put32(base + 0x8000 + 4 * 5, 0x99000 | 3);
	put32(base + 0x7000 + 4 * 769, 0x800000 | 0x83);
	assert_int_equal(walk(GUEST_PAGING_32, 0x7000, 0xc0005abc), 0x99abc);
	assert_int_equal(walk(GUEST_PAGING_32, 0x7000, 0xc0400010), 0x800010);
	assert_int_equal(walk(GUEST_PAGING_32, 0x7000, 0xc0006abc), 0);
	/* beyond RAM lies other memory of the process: a page, a large page, a table, and a hole below 4 GiB */
	put64(base + 0x4000 + 8 * 326, (RAM_SIZE + 0x40000000) | 3);
	assert_int_equal(walk(GUEST_PAGING_4, 0x1000, 0xffff900012346000), 0);
	put64(base + 0x4000 + 8 * 326, (RAM_SIZE + 0x40000000 - 0x1000) | 3);
	assert_int_equal(walk(GUEST_PAGING_4, 0x1000, 0xffff900012346000), RAM_SIZE - 0x1000);
	put64(base + 0x2000 + 8 * 2, 0xffffc0000000 | 0x83);
	assert_int_equal(walk(GUEST_PAGING_4, 0x1000, 0xffff900080000000), 0);
	put64(base + 0x4000 + 8 * 327, 0xc0000000 | 3);
	assert_int_equal(walk(GUEST_PAGING_4, 0x1000, 0xffff900012347000), 0);
	assert_int_equal(walk(GUEST_PAGING_4, RAM_SIZE + 0x40000000, 0xffff900012345678), 0);
	assert_int_equal(walk(GUEST_PHYSICAL, 0, 0xfee00000), 0);
	close(ram);
}

static void registers(void **state)
{
	struct guest_space s;

	(void)state;
	assert_int_equal(
		qmp_space_parse("EAX=0\r\nCR0=80010033 CR2=00 CR3=0000000002a0c000 CR4=000006f0\r\n"
				"EFER=0000000000000d01\r\n",
				&s),
		0);
	assert_int_equal(s.paging, GUEST_PAGING_4);
	assert_int_equal(s.cr3, 0x2a0c000);
	qmp_space_parse("CR0=80010033 CR3=1000 CR4=000016f0 EFER=0d01", &s);
	assert_int_equal(s.paging, GUEST_PAGING_5);
	qmp_space_parse("CR0=80010033 CR3=1000 CR4=00000030 EFER=0000", &s);
	assert_int_equal(s.paging, GUEST_PAGING_PAE);
	qmp_space_parse("CR0=80010033 CR3=1000 CR4=00000010 EFER=0000", &s);
	assert_int_equal(s.paging, GUEST_PAGING_32);
	qmp_space_parse("CR0=00000033 CR3=0 CR4=0 EFER=0000", &s);
	assert_int_equal(s.paging, GUEST_PHYSICAL);
	assert_int_equal(qmp_space_parse("nothing", &s), -EBADMSG);
}

/* A monitor in use by another client accepts the connection but does not answer. */
static void qmp_timeout(void **state)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct guest_space s;

	(void)state;
	snprintf(address.sun_path, sizeof(address.sun_path), "/tmp/guest-source.%d.qmp",
		 (int)getpid());
	unlink(address.sun_path);
	assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(listen(fd, 4), 0);
	assert_int_equal(qmp_space(address.sun_path, 20500000, &s), -ETIMEDOUT);
	assert_non_null(strstr(error_text(), "within 21 ms"));
	close(fd);
	unlink(address.sun_path);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(page_tables),
		cmocka_unit_test(registers),
		cmocka_unit_test(qmp_timeout),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
