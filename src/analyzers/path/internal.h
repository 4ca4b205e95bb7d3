/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shared by path's own files only. */
#ifndef HOSTRACE_PATH_INTERNAL_H
#define HOSTRACE_PATH_INTERNAL_H

#include "analyzers/path/path.h"
#include "event/virtio_ids.h"
#include "pairing/elements.h"

enum {
	PATH_OPEN_MAX = 1 << 16,
	PATH_DEVICES_MAX = 16384,
	PATH_NOTIFYING_MAX = 1 << 16,
	PATH_VCPUS_MAX = 1 << 16,
	PATH_NETS_MAX = 1 << 16,
	PATH_RAISED_MAX = 256, /* queues whose interrupt is not injected yet */
	PATH_DEVICE_BYTES = 128,
	PATH_BLK_READ = 1, /* 1 + VIRTIO_BLK_T_IN */
	PATH_BLK_WRITE = 2,
	PATH_BLK_FLUSH = 5,
};

/* Elements pushed and without an interrupt yet: first those that are raised, then those notified, then the others. */
struct path_queue {
	uint64_t key[2]; /* pid << 32 | index, vdev; without an index vq */
	uint64_t kick_ns, handler_ns; /* of the newest kick without a pop; 0: there is none */
	uint64_t popped_ns;	      /* ... whose handler has popped this one */
	uint64_t newest_kick_ns;
	uint32_t kick_tid, handler_tid;
	uint32_t vector, destination;
	bool logical, is_raised; /* is_raised: it is in struct path's list */
	struct loss_mark used;	 /* where its newest event was */
	uint64_t clears;	 /* of the device, when the queue was last used */
	unsigned int nr, nr_notified, nr_raised;
	uint32_t *waiting; /* indices of requests */
};

struct path_cleared {
	uint64_t key[2]; /* pid, vdev */
	uint64_t nr;	 /* how often all queues of the device were cleared */
};

struct path_open {
	uint64_t key[2]; /* pid << 32 | head, vq; without a head id of struct virtio_ids */
	uint64_t kick_ns, handler_ns, arrive_ns, receive_ns, pop_ns, send_ns;
	uint64_t sector;
	uint32_t pid, blk_type;
	bool no_disk;
	uint32_t pop_tid, kick_tid;
	bool batched;
};

struct path_device {
	uint64_t key[2]; /* pid, vdev */
	char *path;
	bool no_disk; /* it is known to be something else */
	bool is_net;
};

/* What a thread of QEMU's does for network devices. */
struct path_net {
	uint64_t tid;
	uint64_t arrive_ns;	      /* of its newest packet for the guest; 0: unknown */
	struct loss_mark received;    /* ... ns 0: there is none */
	struct loss_mark popped;      /* where it popped what it will send */
	uint64_t popped_key[2];	      /* ... the key of its path_open */
};

struct path_notifying {
	uint64_t tid;
	struct loss_mark mark;
	uint64_t queue[2]; /* its key */
};

struct path_vcpu {
	uint64_t key; /* pid << 16 | vcpu */
	uint32_t tid;
};

struct path {
	struct threads threads;
	struct elements *elements;
	struct element_watch watch;
	struct path_totals totals;
	struct hash_table queues, open, devices, notifying, vcpus, nets, cleared;
	struct loss_state losses;
	uint64_t raised[PATH_RAISED_MAX][2]; /* keys of queues */
	unsigned int nr_raised;
	struct path_request *request;
	size_t nr;
	struct path_io *io;
	size_t nr_ios;
	uint64_t since_ns, until_ns;
	int err;
};

static inline uint32_t path_queue_pid(const struct path_queue *q)
{
	return q->key[0] >> 32;
}

/*
 * Queues are found by these only, for an event of theirs: what may have ended unseen since the one before is forgotten.
 * NULL: there are too many, or out of memory; no queue has this key.
 */
struct path_queue *path_queue_of(struct path *p, const struct event *ev);
struct path_queue *path_queue_get(struct path *p, uint32_t pid, uint64_t vdev, uint32_t index,
				  uint64_t vq, const struct event *ev);
struct path_queue *path_queue_find(struct path *p, const uint64_t key[2],
				   const struct event *ev);

/* Does the thread's event still belong to what it did there? */
static inline bool path_goes_on(const struct path *p, const struct loss_mark *mark,
				const struct event *ev)
{
	return mark->ns && !end_is_unknown(&p->losses, mark, ev);
}

/* interrupts.c */
void path_waiting_drop(struct path_queue *q, unsigned int from, unsigned int nr);
void interrupts_on_notify(struct path *p, const struct event *ev);
void interrupts_on_raise(struct path *p, const struct event *ev);
void interrupts_on_inject(struct path *p, const struct event *ev);

/* net.c: an element of a network device was popped. Is it for a packet that QEMU's net layer has passed to it? */
bool net_popped(struct path *p, const struct path_queue *q, struct path_open *o,
		const struct event *ev);
void net_on_packet(struct path *p, const struct event *ev);
void net_on_send(struct path *p, const struct event *ev);

/* end.c: a point that lies before an earlier one is not used. */
void path_points_order(struct path *p, struct path_request *rq);

/* io.c: which I/O requests of the host belong to which element. 0 or -ENOMEM with the error message set. */
int path_ios_assign(struct path *p);

#endif
