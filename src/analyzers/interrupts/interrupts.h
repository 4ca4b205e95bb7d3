/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The way of interrupts into each vCPU, by vector:
 *
 *   device, timer, vCPU ─accept─► local APIC ─inject─► guest's handler ─EOI─► local APIC
 *                 kvm_apic_accept_irq     kvm_inj_virq                kvm_eoi
 *
 * - inject: from the first accept that is pending to the injection. An accept of a vector that is pending already is
 *   coalesced: the guest gets one interrupt for both.
 * - handle: from the injection to the EOI. With PV EOI the guest writes the EOI to memory, and KVM sees it at the next
 *   exit: `late` counts these.
 * - total: from the accept to the EOI; also where there are no injections in the trace.
 *
 * Stages in which events may be missing (loss_state.h) are not counted.
 *
 * And the timers of local APICs: from the deadline that the guest set to the accept, and to the VM-entry after it.
 */
#ifndef HOSTRACE_INTERRUPTS_H
#define HOSTRACE_INTERRUPTS_H

#include "base/cleanup.h"
#include "base/quantiles.h"
#include "model/loss_state.h"

/* Who raised it: an MSI, an interrupt line (GSI), the vCPU's own timer, a vCPU (IPI), or something else. */
enum irq_source { IRQ_MSI, IRQ_LINE, IRQ_TIMER, IRQ_IPI, IRQ_OTHER, IRQ_SOURCES };
enum irq_stage { IRQ_INJECT, IRQ_HANDLE, IRQ_TOTAL, IRQ_STAGES };

struct irq_vector {
	uint64_t key[2]; /* source and pid; APIC id, vector */
	uint32_t pid, apic_id, vector;
	uint16_t vcpu; /* RECORD_NO_VCPU: unknown */
	uint64_t accepted, coalesced, injected, eois, late;
	uint64_t reinjected; /* again, as an exit came before the guest had taken it: not in `injected` */
	uint64_t from[IRQ_SOURCES]; /* see irq_from() */
	uint32_t gsi; /* of IRQ_LINE: the newest */
	struct quantiles stage[IRQ_STAGES];

	struct loss_mark pending, handled, since; /* where it came into a stage; ns 0: it is in none */
};

struct irq_timer {
	uint64_t key[2]; /* source and pid; APIC id */
	uint32_t pid, apic_id, vector;
	uint16_t vcpu;
	uint64_t fired, lost; /* lost: expirations without an interrupt of their own */
	uint64_t unknown;     /* the deadline cannot be converted to host time */
	uint64_t early;	      /* before the deadline: KVM raises it early, to hide the time of the entry */
	struct quantiles accept, entry;

	uint64_t deadline_ns;	/* 0: no timer waits for its entry */
	struct loss_mark mark;	/* ... which expired here */
	bool injected;		/* ... since its injection */
};

struct irq_counts {
	uint64_t accepts;
	bool injections, eois, entries; /* the trace has them; EOIs: with a vector */
	bool repeats; /* injections say whether they are repeated */
	bool late_eois; /* the trace has kvm_pv_eoi */
	bool sources; /* events that tell who raises interrupts */
	bool messages; /* those of messages or lines, or timers: what they do not show is an IPI, or a timer */
	bool timers;   /* ... of timers: it is an IPI */
	uint64_t reinjections;
	uint64_t unaccepted; /* injections without an accept in the trace */
	uint64_t pin_coalesced; /* inputs of the I/O APIC that were driven and sent nothing, as one was pending */
	uint64_t lines;	 /* raised: kvm_set_irq */
	uint64_t nameless; /* EOIs without a vector */
	uint64_t unnamed;  /* events whose vector or APIC the trace does not have: they are not counted elsewhere */
	uint64_t inhibits, allowed; /* APICv or AVIC is inhibited, or no longer */
	uint64_t ipis, accesses; /* that AVIC does not handle: kvm_avic_incomplete_ipi, _unaccelerated_access */
	uint64_t posted; /* entries of the interrupt remapping table that were set */
	uint64_t losses;
	uint64_t refused;
};

struct interrupts;

/* NULL: out of memory. */
struct interrupts *interrupts_new(void);
void interrupts_free(struct interrupts *x);
DEFINE_CLEANUP(interrupts, struct interrupts *, interrupts_free);

/* All events in order of time; 0 or -ENOMEM with the error message set. */
int interrupts_event(struct interrupts *x, const struct event *ev);

/* As struct read_hint has it. */
bool interrupts_wants(const char *event, void *arg);

const struct irq_counts *interrupts_counts(const struct interrupts *x);

/* How many were raised by this source. A timer's accept looks like an IPI, which kvm_timer_irq corrects. */
uint64_t irq_from(const struct irq_vector *v, enum irq_source source);

/* By VM, vCPU and vector. Arrays of pointers into *x, to be freed; NULL: out of memory. */
struct irq_vector **interrupts_vectors(const struct interrupts *x, size_t *ret_nr);
struct irq_timer **interrupts_timers(const struct interrupts *x, size_t *ret_nr);

#endif
