// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Stands for a QEMU that was built with marks: to be installed as "qemu-system-...", so that it is taken for one. Its
 * version is VERSION, and its structures lie where that release has them (VQ_VDEV).
 *
 *	usdt_prog POPS FILLS	waits for a line; pops and fills that many elements on queue 5, kicks, interrupts, sets
 *				a status, stops the VM; then prints what it did
 *
 * The mark of pop has two sites, as in QEMU, where split and packed rings each have one. What stands behind a semaphore
 * is only done while a recorder has raised it, also as in QEMU.
 */
#include <err.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define _SDT_HAS_SEMAPHORES 1
#include <sys/sdt.h>

#define SEMAPHORE(mark)                                                                            \
	unsigned short qemu_##mark##_semaphore __attribute__((section(".probes"), used))

SEMAPHORE(virtqueue_pop);
SEMAPHORE(virtqueue_fill);
SEMAPHORE(virtqueue_flush);
SEMAPHORE(virtio_queue_notify);
SEMAPHORE(virtio_notify);
SEMAPHORE(virtio_notify_irqfd);
SEMAPHORE(virtio_set_status);
SEMAPHORE(vm_state_notify);
SEMAPHORE(unheard_of);

enum { VQ_QUEUE = 72, VDEV_PATH = 48, QUEUE = 5, ELEMENTS = 4096 };

const char *volatile version = "QEMU emulator version " VERSION " (marks)\n";

static uint8_t vq[160], vdev[512];
static struct element {
	uint32_t head, len, ndescs, out_num, in_num, order;
} elements[ELEMENTS];

#ifdef MODULE
void module_work(void); /* in usdt_module.c, a shared library */
#endif

static void layout_fill(void)
{
	static const char *const path = "/machine/peripheral/marked/virtio-backend";
	void *device = vdev;
	uint16_t queue = QUEUE;

	memcpy(vq + VQ_VDEV, &device, sizeof(device));
	memcpy(vq + VQ_QUEUE, &queue, sizeof(queue));
	memcpy(vdev + VDEV_PATH, &path, sizeof(path));
}

static void pop(struct element *e)
{
	if (e->head & 1)
		STAP_PROBE4(qemu, virtqueue_pop, vq, e, 2, 1);
	else
		STAP_PROBE4(qemu, virtqueue_pop, vq, e, e->in_num, e->out_num);
}

static void fill(struct element *e)
{
	STAP_PROBE4(qemu, virtqueue_fill, vq, e, 512, 0);
	STAP_PROBE2(qemu, virtqueue_flush, vq, 1);
	if (e->head & 1)
		STAP_PROBE2(qemu, virtio_notify, vdev, vq);
	else
		STAP_PROBE2(qemu, virtio_notify_irqfd, vdev, vq);
}

/* Must come out right whatever is attached: values are kept in registers and on the stack across
 * the marks. */
static uint64_t work(int pops, int fills)
{
	uint64_t sum = 0;

	for (int i = 0; i < pops; i++) {
		elements[i] = (struct element){.head = i, .ndescs = 3, .out_num = 1, .in_num = 2};
		pop(&elements[i]);
		sum += elements[i].head;
	}
	for (int i = 0; i < fills; i++) {
		fill(&elements[i]);
		sum += elements[i].head;
	}
	return sum;
}

int main(int argc, char **argv)
{
	int pops = argc > 1 ? atoi(argv[1]) : 0, fills = argc > 2 ? atoi(argv[2]) : 0;
	char line[16];

	if (pops < 1 || pops > ELEMENTS || fills > pops)
		errx(2, "usage: usdt_prog POPS FILLS");
	layout_fill();
	printf("ready %d%.0s\n", getpid(), version);
	fflush(stdout);
	if (!fgets(line, sizeof(line), stdin))
		errx(1, "stdin ended before a line came");
	STAP_PROBE3(qemu, virtio_queue_notify, vdev, QUEUE, vq);
	printf("sum %llu\n", (unsigned long long)work(pops, fills));
	if (qemu_virtio_set_status_semaphore)
		STAP_PROBE2(qemu, virtio_set_status, vdev, 15);
	STAP_PROBE3(qemu, vm_state_notify, 0, 4, "paused");
	for (int i = 0; i < 3; i++)
		STAP_PROBE5(qemu, unheard_of, 1, 2, 3, 4, 5); /* no release has it */
#ifdef MODULE
	module_work();
#endif
	printf("semaphores %d %d\n", qemu_virtio_set_status_semaphore,
	       qemu_virtqueue_pop_semaphore);
	return 0;
}
