/* SPDX-License-Identifier: GPL-2.0-or-later */
/* For analyzers/virtqueue/requests*.c only. */
#ifndef HOSTRACE_REQUESTS_PRIVATE_H
#define HOSTRACE_REQUESTS_PRIVATE_H

#include "analyzers/virtqueue/requests.h"
#include "base/array.h"
#include "base/hash.h"
#include "pairing/elements.h"

enum {
	CPUS_MAX = 4096,
	DEVICES_MAX = 256,
	DEVICE_BYTES = 120,
	OPEN_MAX = 4096,      /* requests of the guest in flight */
	EXITS_LOOKED_AT = 256, /* of its VM, between an issue and its pop; of all VMs: */
	EXITS_PASSED_MAX = 1 << 14,
	VCPUS_MAX = 1 << 16,   /* of all VMs */
};

struct element_times {
	uint64_t pop_ns, fill_ns, interrupt_ns, vq;
	uint32_t device, queue, head;
	const char *kind; /* of the device */
	bool taken; /* it is matched to a request */
};

struct exit_times {
	uint64_t ns, latency_ns;
	uint32_t pid, reason;
	uint16_t isa, vcpu; /* isa 0xffff: a userspace exit */
};

enum { ISA_USERSPACE = 0xffff };

/* What is known of a vCPU: of a VM (pid) by the host, of a guest (source) by its own trace. */
struct vcpu_exit {
	uint64_t id;
	uint32_t exit; /* index + 1 of the exit that it is in, 0: none */
};

struct vcpu_irq {
	uint64_t id;
	uint64_t ns; /* the newest handler's entry */
};

struct disk {
	uint32_t major, minor, pid;
	uint16_t source;
	int device; /* of the host; -1: none */
	uint32_t *list; /* of requests, by issue */
	uint32_t *open; /* of those that are compared with elements, for as many */
	size_t nr;
};

struct requests {
	struct request *rq;
	size_t nr_rq;
	uint32_t open[OPEN_MAX]; /* indices of requests without a completion */
	unsigned int nr_open;
	struct element_times *el;
	size_t nr_el, quiet; /* quiet: elements before it have their interrupt */
	struct exit_times *exit;
	size_t nr_exits;
	struct hash_table last_exit; /* of struct vcpu_exit */
	struct hash_table irq;	     /* of struct vcpu_irq */
	struct {
		uint32_t pid;
		uint64_t vdev;
		char path[DEVICE_BYTES];
	} device[DEVICES_MAX];
	unsigned int nr_devices;
	struct disk disk[REQUEST_DISKS_MAX];
	unsigned int nr_disks;
	struct elements *elements;
	struct element_watch watch;
	struct request_totals totals;
	uint64_t since_ns, until_ns; /* the time window */
	bool begun;		     /* it has begun */
};

/* Room for one more in a list that grows by doubling; NULL: full or no memory, which is counted. */
static inline void *requests_grow(struct requests *r, void **list, size_t nr, size_t max,
				  size_t size)
{
	if (nr == max || array_room_(list, nr, size)) {
		r->totals.overflow++;
		return NULL;
	}
	return (char *)*list + nr * size;
}

/* Which element belongs to which request: requests' `matched` and what the host saw of them, disks, totals. */
void requests_match(struct requests *r, uint64_t error_ns);

#endif
