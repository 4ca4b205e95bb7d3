/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The life of virtqueue elements: which were popped by a device and never returned.
 *
 *              pop                          fill (push is fill and flush)
 *   driver's ────────► the device's ───────────────────────────► driver's
 *      ▲                  │  detach (dropped)   unpop, rewind (as if never popped)
 *      └──────────────────┴──  virtio_reset returned, queue reset, queue deleted
 *
 * An element is known by (VM, queue, head): the driver never has the same head in flight twice
 * (virtio 1.2, 2.7.13), while QEMU's element addresses are malloc'ed and reused at once. A recording
 * without heads (QEMU's own log) has only the addresses. Rules that avoid wrong verdicts:
 *
 * - virtio_reset clears at its return, not at its begin: with ioeventfd=off QEMU fills what is in
 * flight within it. A trace that has only status writes: status 0 makes the device's elements
 * "resetting" (fills still count), and the next status that is not 0 clears them. A status written
 * unchanged (every VM stop and start) is ignored.
 * - fills inside virtqueue_drop_all have no pop. They are known by their thread.
 * - a fill of an unknown head was popped before the recording began (or came by migration): not an
 * error.
 * - rewind(n) takes back the newest n of a queue.
 * - unpop calls detach where the compiler did not inline it: the pair counts once.
 * - the elements of a device that goes away (virtio_cleanup) end; its address may be used again.
 * - while the VM is stopped no element ages (QEMU drains, or keeps failed requests for `cont`).
 * - the balloon's statistics queue keeps one element by design (virtio 1.2, 5.5.6.3): "held".
 * - an event that may have ended elements, and lacks which (a reset without vdev, a rewind without count, a reset of a
 * device while that of an element is not known), makes these "unknown".
 * - virtio_error: nothing is returned until a reset: "broken device". vhost: pops do not happen in QEMU: "not visible".
 */
#ifndef HOSTRACE_ELEMENTS_H
#define HOSTRACE_ELEMENTS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "event/event.h"
#include "event/losses.h"
#include "event/virtio_names.h"

enum {
	ELEMENTS_MAX = 1 << 16, /* in flight at once, over all VMs: 64 whole queues of QEMU's largest size */
	ELEMENT_DEVICES_MAX = 16384,
	ELEMENT_VMS_MAX = 1024,
	ELEMENT_DROPPING_MAX = 256, /* threads inside virtqueue_drop_all at once */
};

enum element_verdict {
	ELEMENT_LEAKED,
	ELEMENT_IN_FLIGHT,
	ELEMENT_HELD,
	ELEMENT_MIGRATED,
	ELEMENT_BROKEN_DEVICE,
	ELEMENT_NOT_VISIBLE,
	ELEMENT_UNKNOWN, /* it may have ended: events were lost since its pop, or lack what they are about */
};

struct element {
	uint32_t pid, queue, head;   /* VIRTIO_NO_QUEUE, VIRTIO_NO_HEAD: not recorded */
	uint64_t id, vq, vdev, address; /* id: as in struct virtio_ids */
	uint64_t order; /* of the pops; several may have the same time */
	uint64_t popped_ns, age_ns; /* age without the time in which the VM was stopped */
	const char *device;	    /* QOM path, "" if unknown; valid as long as the elements */
	const char *kind;	    /* as elements_kind() has it */
	enum virtio_data data;
	enum element_verdict verdict;
	bool unknown; /* for struct element_watch: its end may be an earlier one's, as events may be missing */
};

struct element_totals {
	uint64_t popped, returned, detached, unpopped, reset;
	uint64_t at_start; /* in flight when the time window began; 0 without one */
	uint64_t before;   /* returned, but popped before the recording began */
	uint64_t replaced; /* popped again while still in flight: a missed return, or a guest's
			      mistake */
	uint64_t held, leaked, in_flight, other;
	uint64_t overflow; /* popped while ELEMENTS_MAX were in flight: not checked */
	struct loss_sums lost; /* events lost that may be of virtqueues: those of unknown type as well */
	uint64_t unidentified; /* events of elements in a recording without head or vq: not checked */
	uint64_t incomplete;   /* events that may have ended elements, and the recording lacks which ones */
	/* Events that were not checked: of devices and VMs above the limits, or threads in virtqueue_drop_all. */
	uint64_t unchecked_devices, unchecked_vms, unchecked_threads;
};

struct elements;

/* How an element stopped being the device's. */
enum element_end {
	ELEMENT_RETURNED, /* filled */
	ELEMENT_DETACHED,
	ELEMENT_UNPOPPED, /* unpop or rewind */
	ELEMENT_RESET,
	ELEMENT_REPLACED, /* its head was popped again: its end was missed */
};

/*
 * For reports that follow elements by the same rules: called for each one that is popped, and for its end; then when a
 * device's queues are cleared, or one of them (queue not UINT64_MAX). NULL: of no interest.
 */
struct element_watch {
	void (*popped)(void *arg, const struct event *ev);
	/* `el` as in elements_end(), without verdict, age, device and kind; `ev` ended it. */
	void (*left)(void *arg, const struct element *el, enum element_end how,
		     const struct event *ev);
	void (*cleared)(void *arg, const struct event *ev, uint64_t vdev, uint64_t queue);
	void *arg;
};

struct elements *elements_new(void);

/* `watch` must live as long as e; NULL ends it. */
void elements_watch(struct elements *e, const struct element_watch *watch);
void elements_free(struct elements *e);
DEFINE_CLEANUP(elements, struct elements *, elements_free);

/*
 * The totals count from since_ns on; what is in flight then is from the events before. To be called before the first
 * event.
 */
void elements_window(struct elements *e, uint64_t since_ns);

/* Does it look at this event? As struct read_hint wants it (and record --for leaks); arg is not used. */
bool elements_wants(const char *event, void *arg);

void elements_event(struct elements *e, const struct event *ev);

/* The same of an event. */
bool elements_take(const struct event *ev);

/* The totals so far; those of verdicts are only known to elements_end(). */
const struct element_totals *elements_totals(const struct elements *e);

/*
 * The elements still in flight at end_ns, oldest first; older than min_age_ns is leaked. *ret is allocated.
 * The totals are complete then. More events may follow, and another call. 0 or -ENOMEM.
 */
int elements_end(struct elements *e, uint64_t end_ns, uint64_t min_age_ns, struct element **ret,
		 size_t *ret_nr, struct element_totals *totals);

/* What QEMU calls the type of the device at this address, "virtio-blk"; "" if the recording does not say. */
const char *elements_kind(const struct elements *e, uint32_t pid, uint64_t vdev);

/* The same, if event/virtio_names.h knows it: a constant, as another device may get the address later. */
const char *elements_type(const struct elements *e, uint32_t pid, uint64_t vdev);

/* vhost devices seen, also if they were reset since: their queues cannot be checked. */
unsigned int elements_vhost(const struct elements *e, const char **ret_device, unsigned int max);

const char *element_verdict_name(enum element_verdict v);

#endif
