/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The virtqueues of a running QEMU, read out of its memory. */
#ifndef HOSTRACE_VIRTQ_STATE_H
#define HOSTRACE_VIRTQ_STATE_H

#include "vm/qmp.h"
#include "vm/vm.h"

enum {
	VIRTQ_DEVICES_MAX = 1024,
	VIRTQ_QUEUES_MAX = 1024,    /* VIRTIO_QUEUE_MAX of QEMU */
	VIRTQ_SIZE_MAX = 32768,	    /* virtio 1.2, 2.7: the largest queue */
	VIRTQ_PATH_MAX = 128,
};

struct virtq_device {
	uint64_t vdev, array;
	uint32_t vdev_offset; /* of VirtQueue.vdev: identifies the release's layout */
	char path[VIRTQ_PATH_MAX]; /* QOM path; "" if it cannot be read */
};

/* Where QEMU has a ring mapped: addresses in the process, and bytes. */
struct virtq_rings {
	uint64_t desc, avail, used;
	uint64_t desc_len, avail_len, used_len;
};

/* Does one side want notifications? EVENT: when the other side's index passes `at`. */
enum virtq_notify_mode { VIRTQ_ON, VIRTQ_OFF, VIRTQ_AT };

struct virtq_notify {
	enum virtq_notify_mode mode;
	uint16_t at; /* VIRTQ_AT: split: an index; packed: a descriptor's offset */
	bool wrap;   /* VIRTQ_AT, packed: the wrap counter that goes with the offset */
};

struct virtq_state {
	uint64_t vq; /* QEMU's VirtQueue */
	unsigned int index, size;
	uint64_t desc, avail, used; /* guest physical; packed: descriptors, driver area, device area */
	bool ready;		    /* the driver has set it up */

	/* The device's own state. */
	uint16_t last_avail_idx, shadow_avail_idx, used_idx, signalled_used;
	bool signalled_used_valid;
	bool last_avail_wrap, used_wrap; /* packed */
	uint32_t inuse; /* elements popped and not returned; packed: descriptors */
	uint16_t vector; /* MSI-X; 0xffff: none */
	int kick_fd, interrupt_fd; /* eventfds of the process, by which KVM and QEMU notify each other; -1: none */

	/* The rings' contents; only if rings is set. */
	bool rings, packed, event_idx;
	struct virtq_rings at;
	uint16_t ring_avail_idx, ring_used_idx; /* packed: avail is counted, used unknown (0) */
	uint32_t posted;	/* offered by the guest, not yet popped; more than size: the guest errs */
	struct virtq_notify kicks, interrupts; /* notifications that the device, and the guest, wants */
	bool elsewhere;		/* the ring continued without QEMU: vhost */
	bool moving;		/* it changed under our hands */
};

/*
 * All virtio devices of the process; `skip_bytes`: the size of guest memory, so that it is not searched (0: unknown).
 * *ret is allocated. Returns 0 or -ENOMEM with the error message set; none found is not an error.
 */
int virtq_devices_find(const struct memory *m, uint64_t skip_bytes, struct virtq_device **ret,
		       unsigned int *ret_nr);

/*
 * Queue `index` of a device. 1: read into *ret; 0: the device has no such queue; -EFAULT: removed meanwhile.
 */
int virtq_read(const struct memory *m, const struct virtq_device *d, unsigned int index,
	       struct virtq_state *ret);

/* The QOM path of any device of QEMU; "" if it cannot be read. */
void virtq_path_read(const struct memory *m, uint64_t device, char path[VIRTQ_PATH_MAX]);

/* What a side's flags and event index in a split ring, and its event suppression in a packed one (4 bytes), mean. */
struct virtq_notify virtq_notify_split(bool event_idx, uint16_t flags, uint16_t event);
struct virtq_notify virtq_notify_packed(const uint8_t *p);

/* "on", "off", "at 17". buf has at least 16 bytes. Returns buf. */
const char *virtq_notify_print(const struct virtq_notify *n, char *buf, size_t size);

struct virtq_qmp {
	char path[VIRTQ_PATH_MAX];
	char name[32]; /* "virtio-blk" */
	unsigned int index;
	bool vhost; /* served outside QEMU: no indices */
	unsigned int size;
	uint64_t desc, avail, used;
	uint16_t last_avail_idx, shadow_avail_idx, used_idx, signalled_used;
	uint32_t inuse;
};

/* All queues of all devices; *ret is allocated. As qmp_execute(); -EOPNOTSUPP: QEMU is older than 7.2. */
int virtq_qmp_read(struct qmp *q, struct virtq_qmp **ret, unsigned int *ret_nr);

/* Parses one reply to x-query-virtio-queue-status. False: it is malformed. */
bool virtq_qmp_parse(const json_t *answer, struct virtq_qmp *ret);

enum virtq_agreement { VIRTQ_AGREE_UNKNOWN, VIRTQ_AGREE_YES, VIRTQ_AGREE_NO };

struct virtq_entry {
	char device[VIRTQ_PATH_MAX]; /* QOM path; "" if it cannot be read */
	unsigned int queue;
	bool in_memory, in_qmp;
	struct virtq_state state; /* in_memory: the newer reading */
	struct virtq_qmp qmp;	  /* in_qmp */
	enum virtq_agreement agree;
};

struct virtq_list {
	struct virtq_entry *entry;
	unsigned int nr;
	char *memory_error; /* why memory could not be read; NULL: it was */
};

/*
 * qmp: the monitor's socket, or NULL. Memory that may not be read is an error only without a
 * monitor. 0 or -errno with the error message set; free with virtq_list_free() in any case.
 */
int virtq_list_read(const struct vm *vm, const char *qmp, struct virtq_list *ret);
void virtq_list_free(struct virtq_list *list);

/* Has the driver set it up? Is it served outside QEMU (vhost)? */
bool virtq_entry_ready(const struct virtq_entry *e);
bool virtq_entry_elsewhere(const struct virtq_entry *e);

#endif
