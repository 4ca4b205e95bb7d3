/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the two halves of elements.h share: elements.c follows events, elements_verdict.c judges what is left. */
#ifndef HOSTRACE_ELEMENTS_PRIVATE_H
#define HOSTRACE_ELEMENTS_PRIVATE_H

#include "pairing/elements.h"

enum {
	SLOTS = 2 * ELEMENTS_MAX,
	DROPPING_MAX = 256,
	VMS_MAX = 1024,
	PATH_MAX_LEN = 128,
	KIND_MAX_LEN = 32,
	BALLOON_STATS_QUEUE = 2
};

struct out { /* an element that the device has */
	uint32_t pid, head, queue;
	uint64_t vq, vdev, address, popped_ns;
	uint64_t stopped_ns; /* of its VM, when it was popped */
	uint64_t order;
	uint64_t losses; /* reports of lost events before it was popped */
	bool used;
};

struct device {
	uint32_t pid;
	uint64_t vdev;
	char path[PATH_MAX_LEN], kind[KIND_MAX_LEN];
	uint32_t status;
	bool status_known, resetting, broken, vhost;
	bool was_vhost; /* at any time: what was said of it then stays true after a reset */
	bool holds; /* one element by design, found at the end */
};

struct vm_clock {
	uint32_t pid;
	bool stopped, migrated;
	uint64_t since_ns, stopped_ns; /* stopped since; stopped in all before that */
};

struct elements {
	struct out *out; /* open-addressed by (pid, vq, head) */
	uint64_t nr, order, losses, blind_until_ns; /* end of the newest window of loss */
	struct device *device;
	unsigned int nr_devices;
	struct vm_clock vm[VMS_MAX];
	unsigned int nr_vms;
	struct {
		uint32_t tid;
		unsigned int depth;
	} dropping[DROPPING_MAX]; /* threads inside virtqueue_drop_all */
	bool sees_resets;	  /* the trace has virtio_reset events */
	struct {
		uint32_t tid, head;
		uint64_t vq;
	} unpopping; /* the newest unpop: QEMU's own calls detach where the compiler did not inline it */
	struct element_totals totals;
	const struct element_watch *watch;
};

/* What is known of a device, made if there is nothing yet; beyond the limit all share the last one. */
struct device *elements_device(struct elements *e, uint32_t pid, uint64_t vdev);
struct vm_clock *elements_vm(struct elements *e, uint32_t pid);

/* How long the VM has stood still until now. */
uint64_t elements_stopped_ns(const struct vm_clock *vm, uint64_t now_ns);

#endif
