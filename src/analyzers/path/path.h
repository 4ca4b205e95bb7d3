/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The whole path of a virtqueue request. It passes these points, of which some may be unknown:
 *
 *	issue     the guest's driver has it (guest's trace)
 *	kick      the vCPU leaves guest mode to notify the device; where no exit is recorded, the wake-up that the
 *	          notification causes
 *	handler   QEMU's handler of the queue begins
 *	arrive    of a packet for the guest: QEMU's thread is woken for it
 *	receive   ... and QEMU's net layer has it
 *	pop       QEMU has it
 *	send      of a packet of the guest's: QEMU passes it to its net layer
 *	submit    QEMU, or a worker of it, gives the host's kernel the first I/O request for it
 *	dispatch  the host's block layer gives that to the driver of the disk
 *	done      the host's last I/O request for it is complete
 *	push      QEMU returns it
 *	notify    QEMU requests an interrupt for it
 *	raise     KVM has the interrupt
 *	inject    KVM injects it into the vCPU
 *	irq       the guest's interrupt handler begins (guest's trace)
 *	complete  the guest's driver completes it (guest's trace)
 *
 * A stage lies between two points that follow each other: a point that is unknown joins the stages at its sides, so
 * that the stages of a request always add up to its time. A stage is divided by what the thread did that the request
 * waited for then (enum path_run): the vCPU before the kick and after the interrupt, the thread of QEMU in between
 * (or its worker, while the thread sleeps), and nobody while the host's disk works. Such a piece is a part; parts are
 * adjacent as well.
 *
 * Which of the host's I/O requests belong to an element: see struct path_io.
 */
#ifndef HOSTRACE_PATH_H
#define HOSTRACE_PATH_H

#include "event/virtio_names.h"
#include "analyzers/path/threads.h"
#include "analyzers/virtqueue/requests.h"

enum {
	PATH_REQUESTS_MAX = 1 << 18,
	PATH_IOS_MAX = 1 << 19,
	PATH_QUEUES_MAX = 4096,
	PATH_WAITING_MAX = 1024, /* pushed and not yet interrupted: as many as a queue of QEMU's holds */
	PATH_PARTS_MAX = 256,	 /* of one request; stages at its end are not divided then */
};

enum path_point {
	POINT_ISSUE,
	POINT_KICK,
	POINT_HANDLER,
	POINT_ARRIVE,
	POINT_RECEIVE,
	POINT_POP,
	POINT_SEND,
	POINT_SUBMIT,
	POINT_DISPATCH,
	POINT_DONE,
	POINT_PUSH,
	POINT_NOTIFY,
	POINT_RAISE,
	POINT_INJECT,
	POINT_IRQ,
	POINT_COMPLETE,
	PATH_POINTS
};

/* Names, the event without which a point is unknown, and what records it. */
struct path_point_info {
	const char *name, *event, *record;
};
extern const struct path_point_info path_points[PATH_POINTS];

/* Whose state a part has. PATH_NOBODY: the host's kernel and its disk. */
enum path_role { PATH_NOBODY, PATH_VCPU, PATH_IO_THREAD, PATH_WORKER, PATH_ROLES };
extern const char *const path_role_names[PATH_ROLES];

struct path_request {
	uint32_t pid, queue, head;
	uint16_t source;
	const char *device;	    /* QOM path, "" if unknown; as long as the path */
	const char *kind;	    /* as elements_type() has it, when it was returned */
	enum virtio_data data;
	uint64_t at[PATH_POINTS];   /* ns; 0: unknown */
	uint32_t pop_tid, push_tid; /* QEMU's threads */
	uint32_t submit_tid;	    /* another thread that submitted it to the kernel; 0: none */
	uint32_t kick_tid, irq_tid; /* vCPU threads; 0: unknown */
	uint32_t first_io, nr_ios;  /* of the list of I/O requests of the host */
	uint64_t sector, bytes;	    /* of a virtio-blk, where blk_type is not 0; bytes 0: unknown */
	uint32_t blk_type;	    /* 1 + VIRTIO_BLK_T_*; 0: unknown */
	bool no_disk;		    /* of a device that is known to be no disk */
	bool batched;		    /* popped in the handler of an earlier request's kick */
	bool ambiguous;		    /* host I/O not attributable to one request */
	const struct request *guest; /* NULL: unknown */
};

/*
 * A host I/O request, from host_io. It was submitted by a thread of the VM, so it is the VM's own. Only elements whose
 * pop and push enclose it can have caused it. If there is one, it is the element's. If there are several, it is that of
 * those whose sectors it has, if the file is known to be the raw image of their disk: nearly all of the file's I/O has
 * to be at sectors of elements around it. As QEMU merges requests, it may be of several. Else it is ambiguous, and
 * counted.
 */
struct path_io {
	uint64_t submit_ns, dispatch_ns, done_ns; /* dispatch 0: unknown */
	uint64_t inode, offset, bytes;		  /* inode 0: offset on the disk `dev` */
	uint32_t pid, tid, dev, op;
	uint16_t source;
	bool exact;	  /* by its sectors */
	uint32_t request; /* index; PATH_NO_REQUEST: none */
};

enum { PATH_NO_REQUEST = 0xffffffff };

struct path_part {
	uint64_t start_ns, end_ns;
	enum path_point from, to; /* the stage */
	enum path_role role;
	enum path_run run; /* of the role's thread; PATH_RUN_UNKNOWN for PATH_NOBODY */
	uint32_t tid;	     /* of the role; 0: unknown */
	uint32_t other_tid;  /* PATH_RUNQUEUE: who has the CPU */
	const char *other;   /* its name; as long as the path */
	uint16_t cpu;
};

struct path_totals {
	uint64_t requests, kicks;
	uint64_t batched;	/* popped in the handler of an earlier one's kick */
	uint64_t notifies, raises;
	uint64_t unnotified;	/* returned without an interrupt requested */
	uint64_t suppressed;	/* notified, and that thread raised no interrupt: not wanted, or another did */
	uint64_t unknown;	/* dropped: events in them may be missing */
	uint64_t ios, ios_ambiguous, ios_foreign; /* foreign: within no element */
	uint64_t out_of_order;	/* points that lie before an earlier one, within the clocks' error: not used */
	uint64_t refused;	/* events and requests above the limits */
	uint64_t guest_only;	/* requests of the guest whose element is not known */
	bool saw[PATH_POINTS], switches, wakes;
	bool packets; /* a virtio-net device popped elements */
	bool disks; /* ... one that is, or may be, a disk */
};

struct path;

struct path *path_new(void);
void path_free(struct path *p);
DEFINE_CLEANUP(path, struct path *, path_free);

/* Only requests that are returned in [since_ns, until_ns) count. To be called before the first event. */
void path_window(struct path *p, uint64_t since_ns, uint64_t until_ns);

/* Does it look at this event? As struct read_hint wants it; arg is not used. */
bool path_wants(const char *event, void *arg);

/* The host's events in order of time. 0, or -ENOMEM with the error message set. */
int path_event(struct path *p, const struct event *ev);

/* After the last event: orders the requests and assigns the host's I/O. 0 or -ENOMEM with the error message set. */
int path_end(struct path *p);

/* After path_end(): what the guest's trace says about the element of a request, which must live as long as p. */
void path_guest(struct path *p, const struct request *rq);

/* In order of their pops; owned by p. */
const struct path_request *path_requests(const struct path *p, size_t *ret_nr);
const struct path_totals *path_totals(const struct path *p);
const struct elements *path_elements(const struct path *p); /* for names of vhost devices */

/* The vCPU of a thread of the VM; UINT32_MAX: it is none, or not known to be one. */
uint32_t path_vcpu(const struct path *p, uint32_t pid, uint32_t tid);

/* First and last known point. */
uint64_t path_start_ns(const struct path_request *rq);
uint64_t path_end_ns(const struct path_request *rq);

/* Its parts in order; returns how many, at most PATH_PARTS_MAX. */
unsigned int path_parts(const struct path *p, const struct path_request *rq,
			struct path_part part[PATH_PARTS_MAX]);

#endif
