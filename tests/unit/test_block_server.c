// SPDX-License-Identifier: GPL-2.0-or-later
/* Which server has a block device's data, in a sysfs that is made here. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "vm/block_server.h"
#include "vm/disk_server.h"

#include <cmocka.h>

static char sys[] = "/tmp/hostrace-test-sys.XXXXXX";

static const char *const commands[] = {
	"mkdir -p class/block dev/block class/iscsi_connection/connection7:0 "
	"class/iscsi_session/session7 class/nvme/nvme3 devices/virtual/block/dm-0/slaves",
	"echo 10.0.0.5 >class/iscsi_connection/connection7:0/persistent_address",
	"echo 3260 >class/iscsi_connection/connection7:0/persistent_port",
	"echo iqn.2003-01.org.x:web >class/iscsi_session/session7/targetname",
	"echo tcp >class/nvme/nvme3/transport",
	"echo traddr=10.0.0.6,trsvcid=4420,src_addr=10.0.0.1 >class/nvme/nvme3/address",
	"ln -s ../../devices/platform/host3/session7/target3:0:0/3:0:0:0/block/sdb class/block",
	"ln -s ../../devices/platform/host3/session7/target3:0:0/3:0:0:0/block/sdb/sdb1 "
	"dev/block/8:17",
	"ln -s ../../devices/virtual/nvme-fabrics/ctl/nvme3/nvme3n1 class/block",
	"ln -s ../../devices/virtual/block/nbd0 class/block",
	"ln -s ../../devices/rbd/0/block/rbd0 class/block",
	"ln -s ../../devices/pci0000:00/ata1/host0/target0:0:0/0:0:0:0/block/sda class/block",
	"ln -s ../../devices/virtual/block/dm-0 class/block/dm-0",
	"ln -s ../../devices/virtual/block/dm-0 dev/block/253:0",
	"ln -s ../../../sdb devices/virtual/block/dm-0/slaves/sdb",
};

static int sys_make(void **state)
{
	(void)state;
	assert_non_null(mkdtemp(sys));
	for (size_t i = 0; i < sizeof(commands) / sizeof(*commands); i++) {
		char text[512];

		snprintf(text, sizeof(text), "cd %s && %s", sys, commands[i]);
		assert_int_equal(system(text), 0); /* NOLINT: the commands are above */
	}
	return 0;
}

static int sys_remove(void **state)
{
	char text[512];

	(void)state;
	snprintf(text, sizeof(text), "rm -r %s", sys);
	return system(text); /* NOLINT */
}

static void assert_server(const char *name, const char *expected)
{
	char driver[32], address[256], text[512] = "";

	if (block_server_find(sys, name, driver, sizeof(driver), address, sizeof(address)))
		snprintf(text, sizeof(text), "%s %s", driver, address);
	assert_string_equal(text, expected);
}

static void devices(void **state)
{
	(void)state;
	assert_server("sdb", "iscsi 10.0.0.5:3260 iqn.2003-01.org.x:web");
	assert_server("8:17", "iscsi 10.0.0.5:3260 iqn.2003-01.org.x:web");
	assert_server("253:0", "iscsi 10.0.0.5:3260 iqn.2003-01.org.x:web");
	assert_server("nvme3n1", "nvme-tcp 10.0.0.6:4420");
	assert_server("nbd0", "nbd /dev/nbd0");
	assert_server("rbd0", "rbd /dev/rbd0");
	assert_server("sda", "");
	assert_server("sdz", "");
	assert_server("../block/sdb", "");
	assert_server("", "");
}

static void file_expect(const char *file, const char *expected)
{
	static const char mounts[] = "22 1 8:1 / / rw - ext4 /dev/sda1 rw\n"
				     "23 22 253:0 / /vms rw - xfs /dev/mapper/vg-vms rw\n"
				     "24 22 0:50 / /butter rw - btrfs /dev/sdb rw\n"
				     "25 24 0:51 / /butter/tmp rw - tmpfs tmpfs rw\n";
	char drive[128], got[512] = "";
	char *const words[] = {"qemu", "-drive", drive};
	json_t *list, *one;

	snprintf(drive, sizeof(drive), "id=d0,file=%s", file);
	list = disk_servers_parse(words, 3, mounts, sys);
	one = json_array_get(list, 0);
	if (one)
		snprintf(got, sizeof(got), "%s %s",
			 json_string_value(json_object_get(one, "driver")),
			 json_string_value(json_object_get(one, "address")));
	assert_string_equal(got, expected);
	json_decref(list);
}

static void files(void **state)
{
	(void)state;
	file_expect("/dev/sdb", "iscsi 10.0.0.5:3260 iqn.2003-01.org.x:web");
	file_expect("/vms/web.img", "iscsi 10.0.0.5:3260 iqn.2003-01.org.x:web");
	file_expect("/butter/web.img", "iscsi 10.0.0.5:3260 iqn.2003-01.org.x:web");
	file_expect("/butter/tmp/web.img", "");
	file_expect("/home/web.img", "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(devices),
		cmocka_unit_test(files),
	};

	return cmocka_run_group_tests(tests, sys_make, sys_remove);
}
