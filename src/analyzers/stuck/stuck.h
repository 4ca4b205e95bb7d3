/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a VM that hangs waits for, from two looks at it: its queues and requests as memory has them, its threads as
 * /proc shows them. Nothing was recorded before, and nothing is asked of the VM: it may be stopped.
 *
 * What stood still between the looks is at least as old as their distance. A virtio-blk request has its exact age.
 */
#ifndef HOSTRACE_STUCK_H
#define HOSTRACE_STUCK_H

#include "symbols/symbols.h"
#include "vm/kvm_state.h"
#include "vm/thread_state.h"
#include "vm/virtq_requests.h"
#include "vm/vm.h"

enum {
	STUCK_TEXT = 512,
	STUCK_QUEUES_MAX = 65536,
	STUCK_FINDINGS_MAX = 1024, /* further ones are counted */
};

/* What the guest offers in a queue. */
enum stuck_role {
	STUCK_REQUESTS, /* it waits for an answer */
	STUCK_BUFFERS,	/* for input that may never come: network packets, console input, events */
	STUCK_HELD,	/* the device keeps one by design: the balloon's statistics */
};

struct stuck_queue {
	struct virtq_device device;
	struct virtq_state state;
	enum stuck_role role;
	struct virtq_request *request;
	unsigned int nr;
	int64_t kicks, interrupts; /* counts of its eventfds, not consumed; -1: unknown */
	unsigned int dev;	   /* in stuck_look.dev */
	struct block_backend *disk; /* of a SCSI adapter's requests, the one that holds most; NULL: none is known */
};

/* The VM at one moment. */
struct stuck_look {
	uint64_t time_ns; /* CLOCK_MONOTONIC */
	struct thread_state *thread; /* of threads_read(), freed with the look */
	unsigned int nr_threads;
	int stacks_err; /* why kernel stacks are unknown; 0: they are known */
	const char *memory_error; /* why the memory could not be read; NULL: it was */

	/* KVM's own state. Pending are the interrupts that were so since the first look. */
	const struct kvm_vm *kvm; /* NULL: unknown, or there is no KVM */

	/* Set by stuck_look_memory(). */
	struct virtio_device *dev;
	struct block_backend *backend; /* of each device; of others than virtio-blk, empty */
	struct stuck_queue *queue;
	unsigned int nr_devs, nr_queues;
	bool ram_known; /* guest memory was found: chains and headers are known */
};

/* Reads the queues. Hostile input: the caller is confined. 0 or -errno with the error message set. */
int stuck_look_memory(const struct vm *vm, const struct memory *m, struct stuck_look *l);
void stuck_look_free(struct stuck_look *l);

/* What the queue's requests pass; empty if there is no disk. */
const struct block_backend *stuck_backend(const struct stuck_look *l, const struct stuck_queue *q);

/* ---- what stands still ---- */

struct stuck_request {
	const struct stuck_queue *queue;
	const struct virtq_request *request;
	bool stands;	 /* it was there at the first look, too */
	bool age_exact;	 /* else the age is a lower bound */
	uint64_t age_ns;
};

struct stuck_finding {
	const char *kind; /* "lost-kick" */
	char text[STUCK_TEXT];
	const struct stuck_queue *queue; /* NULL: none */
	pid_t tid;			 /* 0: none */
	uint64_t age_ns;		 /* that it has lasted, at least */
};

struct stuck_report {
	const struct vm *vm;
	const struct stuck_look *before, *now;
	struct stuck_request *request;
	unsigned int nr_requests;
	struct stuck_finding *finding;
	unsigned int nr_findings, nr_dropped;
	struct stuck_vcpu *vcpu;
	unsigned int nr_vcpus;
	struct addresses *symbols; /* of the guest; NULL: none. Not set by stuck_report_make() */
};

/* Compares the looks, which must outlive the report. 0 or -ENOMEM with the error message set. */
int stuck_report_make(const struct vm *vm, const struct stuck_look *before,
		      const struct stuck_look *now, struct stuck_report *ret);
void stuck_report_free(struct stuck_report *r);

/* Adds what is wrong with programs that QEMU is connected to: of interest if something else is stuck. 0 or -ENOMEM. */
int stuck_peer_findings(struct stuck_report *r, const struct socket_peer *peer, unsigned int nr);

/* Is there a finding at least so old? */
bool stuck_report_found(const struct stuck_report *r, uint64_t min_age_ns);

/* ---- parts of it, each in its file ---- */

int stuck_find(struct stuck_report *r, const char *kind, const struct stuck_queue *q, pid_t tid,
	       uint64_t age_ns, const char *fmt, ...) __attribute__((format(printf, 6, 7)));

/* The same queue at the first look; NULL: it was not there. */
const struct stuck_queue *stuck_queue_before(const struct stuck_report *r,
					     const struct stuck_queue *q);

int stuck_queue_findings(struct stuck_report *r);
int stuck_thread_findings(struct stuck_report *r);
int stuck_vcpu_findings(struct stuck_report *r);

/* Sets mutex_owner of the threads. */
void stuck_mutexes_read(const struct memory *m, struct stuck_look *l);
int stuck_mutex_findings(struct stuck_report *r);

/* "thread 4712 (CPU 0/KVM, vcpu 0)". Returns buf. */
const char *stuck_thread_print(const struct stuck_report *r, const struct thread_state *t,
			       char *buf, size_t size);

/* Since when it has not run; at least the time between the looks. */
uint64_t stuck_thread_age(const struct stuck_report *r, const struct thread_state *t);

/* Where a vCPU is. */
struct stuck_vcpu {
	unsigned int index;
	bool index_known;
	const struct thread_state *thread;
	/* "halted", "guest", "kvm" (in KVM_RUN, not in the guest), "userspace" (in QEMU), "stopped", "runnable" */
	const char *where;
	const struct kvm_vcpu_state *kvm; /* NULL: unknown */
	uint64_t busy_ns, guest_ns; /* CPU time between the looks, and of that in guest mode (steps of 10 ms) */
};

/* *ret is allocated; vCPUs whose thread is unknown are missing. 0 or -ENOMEM with the error message set. */
int stuck_vcpus(const struct stuck_report *r, struct stuck_vcpu **ret, unsigned int *ret_nr);

/* The highest vector of irr or isr; -1: none. */
int stuck_vector_highest(const uint32_t bits[KVM_APIC_WORDS]);

const struct thread_state *stuck_thread_before(const struct stuck_report *r, pid_t tid);
bool stuck_in_kvm_run(const struct thread_state *t);
bool stuck_is_halted(const struct thread_state *t); /* by KVM; of a thread that sleeps */

/* By its cgroup's freezer, or as the host is being suspended (kernel/cgroup/freezer.c, kernel/freezer.c). */
bool stuck_is_frozen(const struct thread_state *t);

/* ... or by a signal or a tracer: it runs no more until somebody lets it go on. */
bool stuck_is_stopped(const struct thread_state *t);
bool stuck_process_stopped(const struct stuck_report *r); /* any of its threads */

/* What a thread is to QEMU: "vcpu 0", "main", or "". */
const char *stuck_thread_role(const struct stuck_report *r, const struct thread_state *t, char *buf,
			      size_t size);

#endif
