// SPDX-License-Identifier: GPL-2.0-or-later
/* Which server has a disk's data, by the forms that QEMU's command line has for it, and by mounts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "vm/disk_server.h"

#include <cmocka.h>

static const char mounts[] = "22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n"
			     "30 22 0:45 / /vms rw,relatime shared:9 - nfs4 filer:/export/vms "
			     "rw,vers=4.2,addr=10.0.0.7\n"
			     "31 22 0:46 / /vms/local rw - xfs /dev/sdb1 rw\n"
			     "32 22 0:47 / /ssh rw - fuse.sshfs user@10.0.0.8:/d rw\n"
			     "33 22 0:48 / /fuse rw - fuse.mergerfs a rw\n"
			     "34 22 0:49 / /ceph rw - ceph 10.0.0.9:6789:/ rw\n"
			     "a line that is none\n";

/* "device drive driver address" of each, one a line. */
static void assert_servers(const char *expected, char *const *words, unsigned int nr)
{
	json_t *list = disk_servers_parse(words, nr, mounts, NULL), *one;
	char text[1024] = "";
	size_t i;

	json_array_foreach (list, i, one)
		for (size_t k = 0; k < 4; k++) {
			static const char *const keys[] = {"device", "drive", "driver", "address"};
			size_t len = strlen(text);

			snprintf(text + len, sizeof(text) - len, "%s%s",
				 json_string_value(json_object_get(one, keys[k])),
				 k < 3 ? " " : "\n");
		}
	assert_string_equal(text, expected);
	json_decref(list);
}

#define SERVERS(expected, ...)                                                                     \
	assert_servers(expected, (char *[]){"qemu", __VA_ARGS__},                                  \
		       sizeof((char *[]){"qemu", __VA_ARGS__}) / sizeof(char *))

/* Of -device virtio-blk-pci,drive=d0,id=disk */
#define DRIVE(expected, drive)                                                                     \
	SERVERS(expected, "-drive", drive ",if=none,id=d0", "-device",                             \
		"virtio-blk-pci,drive=d0,id=disk")

static void drives(void **state)
{
	(void)state;
	DRIVE("disk d0 nbd 10.0.0.1:10809\n", "file=nbd://user:secret@10.0.0.1:10809/web");
	DRIVE("disk d0 nbd /run/nbd.sock\n", "file=nbd+unix:///web?socket=/run/nbd.sock");
	DRIVE("disk d0 nbd 10.0.0.1:10809\n", "file=nbd:10.0.0.1:10809:exportname=web");
	DRIVE("disk d0 nbd /run/nbd.sock\n", "nbd:unix:/run/nbd.sock");
	DRIVE("disk d0 nbd /run/nbd.sock\n",
	      "driver=nbd,server.type=unix,server.path=/run/nbd.sock");
	DRIVE("disk d0 nbd 10.0.0.1:10809\n", "driver=nbd,host=10.0.0.1,port=10809");
	DRIVE("disk d0 nbd 10.0.0.1:10809\n",
	      "driver=raw,file.driver=nbd,file.server.type=inet,file.server.host=10.0.0.1,"
	      "file.server.port=10809");
	DRIVE("disk d0 iscsi [::1]:3260\n", "file=iscsi://[::1]:3260/iqn.2003-01.org.x/0");
	DRIVE("disk d0 iscsi 10.0.0.5:3260\n", "driver=iscsi,portal=10.0.0.5:3260,target=x");
	DRIVE("disk d0 iscsi 10.0.0.5:3260\n",
	      "file=/dev/disk/by-path/ip-10.0.0.5:3260-iscsi-iqn.2003-01.org.x:web-lun-0");
	DRIVE("disk d0 rbd pool/image\n", "file=rbd:pool/image:id=web:conf=/etc/ceph/ceph.conf");
	DRIVE("disk d0 nfs 10.0.0.7\n", "file=nfs://10.0.0.7/vms/web.img");
	DRIVE("disk d0 gluster 10.0.0.6\n", "file=gluster+tcp://10.0.0.6/vol/web.img");
	DRIVE("disk d0 https images.example\n", "file=https://images.example/web.img?token=secret");
	DRIVE("disk d0 ssh 10.0.0.8:22\n",
	      "driver=ssh,server.host=10.0.0.8,server.port=22,path=/x");
	DRIVE("disk d0 nbd 10.0.0.1\n",
	      "json:{\"driver\":\"raw\",,\"file\":{\"driver\":\"nbd\",,\"host\":\"10.0.0.1\"}}");
	SERVERS(" d1 nbd 10.0.0.1\n", "-drive", "file=nbd://10.0.0.1/web,if=virtio,id=d1");
}

static void files(void **state)
{
	(void)state;
	DRIVE("disk d0 nfs4 filer:/export/vms\n", "file=/vms/web.img,format=raw");
	DRIVE("disk d0 nfs4 filer:/export/vms\n", "driver=qcow2,file.filename=/vms/web.qcow2");
	DRIVE("disk d0 fuse.sshfs user@10.0.0.8:/d\n", "file=file:/ssh/web.img");
	DRIVE("disk d0 ceph 10.0.0.9:6789:/\n", "file=/ceph/web.img");
	DRIVE("", "file=/vms/local/web.img");
	DRIVE("", "file=/vmsx/web.img");
	DRIVE("", "file=/fuse/web.img");
	DRIVE("", "file=web.img");
	DRIVE("", "driver=null-co,size=1M");
}

static void nodes(void **state)
{
	(void)state;
	SERVERS("disk f nbd 10.0.0.1:10809\n", "-blockdev",
		"{\"driver\":\"nbd\",\"server\":{\"type\":\"inet\",\"host\":\"10.0.0.1\",\"port\":"
		"\"10809\"},\"node-name\":\"s\"}",
		"-blockdev", "{\"node-name\":\"f\",\"driver\":\"raw\",\"file\":\"s\"}", "-device",
		"{\"driver\":\"virtio-blk-pci\",\"drive\":\"f\",\"id\":\"disk\"}");
	SERVERS("disk f rbd 10.0.0.2:6789\n", "-blockdev",
		"{\"driver\":\"rbd\",\"pool\":\"p\",\"image\":\"i\",\"server\":[{\"host\":\"10.0.0."
		"2\","
		"\"port\":\"6789\"}],\"node-name\":\"s\"}",
		"-blockdev", "driver=throttle,node-name=f,throttle-group=g,file=s", "-device",
		"scsi-hd,drive=f,id=disk");
	SERVERS("disk f nbd 10.0.0.1\n", "-blockdev",
		"driver=qcow2,node-name=f,file.driver=file,file.filename=/x,backing=b", "-blockdev",
		"driver=nbd,node-name=b,server.host=10.0.0.1", "-device",
		"virtio-blk,drive=f,id=disk");
	/* each has its data in the other */
	SERVERS("", "-blockdev", "driver=raw,node-name=a,file=b", "-blockdev",
		"driver=raw,node-name=b,file=a", "-device", "virtio-blk,drive=a");
	SERVERS("", "-device", "virtio-blk,drive=none", "-drive");
	SERVERS("", "-append", "-drive", "file=nbd://10.0.0.1/web", "-blockdev", "{\"a\":");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(drives),
		cmocka_unit_test(files),
		cmocka_unit_test(nodes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
