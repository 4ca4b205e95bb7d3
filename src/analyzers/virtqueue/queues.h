/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where the requests of each virtqueue spend their time, and how many were in flight.
 *
 *   guest ─kick─► QEMU ─pop─► device ─complete─► QEMU ─push─► ring ─notify─► KVM ─raise─► guest
 *         virtio_queue_notify  virtqueue_pop      virtqueue_fill  virtio_notify  kvm_msi_set_irq
 *                              ... vblk_done                    kvm_set_irq    kvm_inj_virq
 *
 * What each stage pairs:
 *
 * - kick-pop: the newest kick of a queue with the first element popped after it, unless a reset comes between.
 *   Elements that are popped without a kick (the device polls) are not counted; on a receive queue it is the wait for
 *   a packet.
 * - pop-push and what lies between: an element by (VM, queue, head), by the rules of elements.h.
 * - push-notify: every element pushed since the queue's previous interrupt, with the next one.
 * - notify-raise: an interrupt with KVM's next one of the same thread, as QEMU raises it within the
 *   call. None follows where the guest wanted none.
 * - raise-guest: a message with the next injection of its vector into the vCPU that it is for.
 *
 * What spans lost events is not counted, by the rules of loss_state.h.
 */
#ifndef HOSTRACE_QUEUES_H
#define HOSTRACE_QUEUES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/quantiles.h"
#include "pairing/elements.h"

enum {
	QUEUES_MAX = 4096,
	QUEUES_COLUMNS = 64,	   /* of in-flight over time */
	QUEUES_PENDING_MAX = 1024, /* pushed and not notified: as many as a queue of QEMU's holds */
	QUEUES_DEVICE_MAX = 128,   /* bytes of a device's path with its NUL */
	QUEUES_KIND_MAX = 32,	   /* ... of what QEMU calls its type */
	/*
	 * A request of a disk in order may take so long: none of it is lost. One that takes twice as long, more
	 * than a rotating disk needs (seek and half a turn), is held by something, and all of it is lost; in
	 * between, twice what it takes longer than that. So what is lost grows with that time, without a step.
	 */
	QUEUES_NORMAL_NS = 5000000,
};

enum queue_stage {
	STAGE_KICK_POP,
	STAGE_POP_COMPLETE,
	STAGE_COMPLETE_PUSH,
	STAGE_POP_PUSH,
	STAGE_PUSH_NOTIFY,
	STAGE_NOTIFY_RAISE,
	STAGE_RAISE_GUEST,
	QUEUE_STAGES
};

/* Stages by name, and the event without which there is none. */
struct queue_stage_info {
	const char *name, *needs;
};
extern const struct queue_stage_info queue_stages[QUEUE_STAGES];

struct queue_figures {
	uint32_t pid, queue; /* queue: VIRTIO_NO_QUEUE: not recorded, and vq tells it from others */
	uint64_t vq;
	char device[QUEUES_DEVICE_MAX]; /* QOM path; "" if unknown */
	char kind[QUEUES_KIND_MAX];	/* "virtio-blk"; "" if unknown; set by queues_end() */
	enum virtio_data data;
	uint64_t popped, returned, other; /* other: detached, unpopped, reset */
	uint64_t kicks, interrupts;	  /* interrupts: QEMU asked for one */
	struct quantiles stage[QUEUE_STAGES];
	uint64_t in_flight, most; /* now; at most */
	unsigned __int128 area;	  /* in flight x ns */
	uint64_t busy_ns;	  /* with one or more in flight */
	uint64_t slow_ns;	  /* ... what is lost of it, also of one that is in flight at the end */
	uint32_t column[QUEUES_COLUMNS]; /* the most in flight during each */
};

struct queues;

/* What is lost of the time that a request takes. */
static inline uint64_t queues_lost_ns(uint64_t took_ns)
{
	uint64_t above = took_ns > QUEUES_NORMAL_NS ? took_ns - QUEUES_NORMAL_NS : 0;

	return above < QUEUES_NORMAL_NS ? 2 * above : took_ns;
}

/*
 * start_ns: of the recording, or of the time window. Events before it only tell what is in flight then; stages are
 * counted where they end.
 */
struct queues *queues_new(uint64_t start_ns);
void queues_free(struct queues *q);
DEFINE_CLEANUP(queues, struct queues *, queues_free);

/* Does it look at this event? As struct read_hint wants it; arg is not used. */
bool queues_wants(const char *event, void *arg);

/*
 * Optional ones, by which what is lost of requests is known without the time for which their VM was stopped, or its
 * threads that serve devices had no CPU.
 */
bool queues_stops_show(const char *event);

/* Receives each value of a stage, with the queue's figures, which live as long as the queues. 0 or -errno. */
typedef int queue_value_fn(void *arg, const struct queue_figures *f, enum queue_stage stage,
			   uint64_t end_ns, uint64_t ns);

/* To be called before the first event. */
void queues_watch(struct queues *q, queue_value_fn *fn, void *arg);

/* 0, -ENOMEM, or what the function returned. */
int queues_event(struct queues *q, const struct event *ev);

/*
 * After the last event: queues that had any event, busiest first; owned by q. *ret_column_ns: width
 * of a column of `column`, from start_ns on; *ret_columns: how many there are until end_ns.
 */
unsigned int queues_end(struct queues *q, uint64_t end_ns, struct queue_figures ***ret,
			uint64_t *ret_column_ns, unsigned int *ret_columns);

/* Was an event of this name seen? */
bool queues_saw(const struct queues *q, enum queue_stage stage);

/* Totals of the elements after it (lost events, popped before, ...), valid after queues_end(). */
const struct element_totals *queues_totals(const struct queues *q);

/* Number of events of queues above QUEUES_MAX, which were dropped. */
uint64_t queues_overflow(const struct queues *q);

/* Names of devices, completions and interrupts that could not be kept: stages lack some of their values. */
uint64_t queues_refused(const struct queues *q);

/* Values of stages that were not counted, because events in them may be missing. */
uint64_t queues_unknown(const struct queues *q);

/* For names of vhost devices, see elements_vhost(). */
const struct elements *queues_elements(const struct queues *q);

#endif
