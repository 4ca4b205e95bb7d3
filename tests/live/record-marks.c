// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A program that carries QEMU's marks (USDT, provider "qemu") and looks like QEMU where it is read:
 * a VirtQueue knows its device and index, the device its path, an element its head. It holds a KVM
 * VM, so that it counts as one.
 *
 *   record-marks N K	waits for a line, pops N elements on queue 3 and returns the first N - K of
 * them
 *
 * As QEMU's own, a mark has a semaphore; what is behind one fires only while somebody has raised
 * it.
 */
#include <err.h>
#include <fcntl.h>
#include <linux/kvm.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define _SDT_HAS_SEMAPHORES 1
#include <sys/sdt.h>

#define SEMAPHORE(mark)                                                                            \
	unsigned short qemu_##mark##_semaphore __attribute__((section(".probes"), used))

SEMAPHORE(virtqueue_pop);
SEMAPHORE(virtqueue_fill);
SEMAPHORE(virtqueue_flush);
SEMAPHORE(virtio_set_status);

enum { VQ_QUEUE = 72, VQ_VDEV = 96, VDEV_PATH = 48, QUEUE = 3 }; /* probes/qemu.def */

struct element {
	uint32_t head, len, ndescs, out_num, in_num;
};

int main(int argc, char **argv)
{
	static uint8_t vq[152], vdev[512];
	static struct element elements[1000];
	const char *path = "/machine/peripheral/marks0/virtio-backend";
	void *device = vdev;
	uint16_t queue = QUEUE;
	int n = argc > 2 ? atoi(argv[1]) : 0, kept = argc > 2 ? atoi(argv[2]) : 0;
	char line[16];

	if (n < 1 || n > 1000)
		errx(2, "usage: record-marks N K");
	int kvm = open("/dev/kvm", O_RDWR | O_CLOEXEC);

	if (kvm < 0 || ioctl(kvm, KVM_CREATE_VM, 0) < 0)
		err(1, "/dev/kvm");
	memcpy(vq + VQ_VDEV, &device, sizeof(device));
	memcpy(vq + VQ_QUEUE, &queue, sizeof(queue));
	memcpy(vdev + VDEV_PATH, &path, sizeof(path));
	printf("ready %d\n", getpid());
	fflush(stdout);
	if (!fgets(line, sizeof(line), stdin))
		errx(1, "stdin ended before a line came");
	if (qemu_virtio_set_status_semaphore)
		STAP_PROBE2(qemu, virtio_set_status, vdev, 15);
	for (int i = 0; i < n; i++) {
		elements[i] = (struct element){.head = i, .ndescs = 2, .out_num = 1, .in_num = 1};
		STAP_PROBE4(qemu, virtqueue_pop, vq, &elements[i], 1, 1);
	}
	for (int i = 0; i < n - kept; i++) {
		STAP_PROBE4(qemu, virtqueue_fill, vq, &elements[i], 512, 0);
		STAP_PROBE2(qemu, virtqueue_flush, vq, 1);
	}
	printf("semaphore %d\n", qemu_virtio_set_status_semaphore);
	return 0;
}
