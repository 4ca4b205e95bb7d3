/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Internals of elements.h: elements.c follows events, elements_verdict.c judges what is left. */
#ifndef HOSTRACE_ELEMENTS_PRIVATE_H
#define HOSTRACE_ELEMENTS_PRIVATE_H

#include "event/virtio_ids.h"
#include "pairing/elements.h"
#include "model/loss_state.h"
#include "pairing/open_table.h"

enum { PATH_MAX_LEN = 128, KIND_MAX_LEN = 32 };

/* Lists of elements in flight: of a device, of one of its queues, of a VirtQueue by its address. */
enum element_chain { CHAIN_DEVICE, CHAIN_QUEUE, CHAIN_VQ, CHAINS };

struct chain_link {
	uint32_t older, newer; /* numbers of elements; 0: none */
	bool on;
};

struct open_element { /* an element that the device has; its key is pid, vq and id */
	struct open_begin begin;
	uint32_t pid, head, queue;
	uint64_t id, vq, vdev, address, popped_ns;
	uint64_t stopped_ns; /* of its VM, when it was popped */
	enum virtio_data data;
	struct loss_mark mark;
	struct chain_link link[CHAINS];
};

struct device {
	uint32_t pid;
	uint64_t vdev;
	char path[PATH_MAX_LEN], kind[KIND_MAX_LEN];
	uint32_t status;
	bool status_known, resetting, broken, vhost;
	bool was_vhost; /* at any time: a reset does not change what was not visible before */
	bool holds; /* one element by design, found at the end */
};

struct vm_clock {
	uint64_t pid;
	bool stopped, migrated;
	uint64_t since_ns, stopped_ns; /* stopped since; stopped in all before that */
};

struct dropping {
	uint64_t tid;
	unsigned int depth;
};

struct elements {
	struct open_table open; /* of struct open_element */
	struct hash_table chains; /* elements_chains.c */
	struct loss_state losses;
	struct device *device; /* in the order in which they were first seen */
	struct hash_table devices;  /* of struct device_place */
	struct hash_table vms;	    /* of struct vm_clock */
	struct hash_table dropping; /* threads inside virtqueue_drop_all */
	bool sees_resets;	    /* the trace has virtio_reset events */
	bool pops_have[2];	    /* seen: pops without a head, with one */
	struct {
		uint32_t tid;
		uint64_t vq, id;
	} unpopping; /* the newest unpop: QEMU's own calls detach where the compiler did not inline it */
	struct element_totals totals;
	uint64_t since_ns; /* start of a time window that has not begun yet; 0: none */
	const struct element_watch *watch;
};

/* The state of a device and of a VM, added if new. NULL: the table is full. */
struct device *elements_device(struct elements *e, uint32_t pid, uint64_t vdev);
struct vm_clock *elements_vm(struct elements *e, uint32_t pid);

/* The time window begins: counts start. */
void elements_window_begin(struct elements *e);

/* How long the VM was stopped until now. */
uint64_t elements_stopped_ns(const struct vm_clock *vm, uint64_t now_ns);

#endif
