/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a Linux guest's /proc/interrupts has, by the offsets in its BTF. */
#ifndef HOSTRACE_LINUX_INTERRUPTS_H
#define HOSTRACE_LINUX_INTERRUPTS_H

#include "vm/linux/irq_tree.h"
#include "vm/linux/percpu.h"

enum {
	LINUX_IRQ_COUNTS_MAX = 4 << 20, /* interrupts times CPUs */
	LINUX_IRQ_ACTIONS_MAX = 64,	/* of one interrupt */
	LINUX_IRQ_LABEL_MAX = 16,
	LINUX_IRQ_NAME_MAX = 64,
	LINUX_IRQ_ACTIONS_BYTES = 512,
};

struct linux_interrupt {
	char label[LINUX_IRQ_LABEL_MAX]; /* "24", "LOC" */
	int32_t irq;			 /* < 0: of the architecture */
	char chip[LINUX_IRQ_NAME_MAX];	 /* "PCI-MSI"; what follows of an irq >= 0 only; sanitized */
	char flow[LINUX_IRQ_NAME_MAX];	 /* "edge"; "": unknown */
	char actions[LINUX_IRQ_ACTIONS_BYTES]; /* of drivers, "virtio0-req.0, eth0" */
	bool has_hwirq;
	uint64_t hwirq;
	char text[LINUX_IRQ_NAME_MAX]; /* of the architecture: what is counted; "": unknown; sanitized */
	bool single;	  /* one count for all CPUs */
	size_t count;	  /* index of that of the first CPU in counts */
};

struct linux_interrupts {
	struct linux_interrupt *row; /* owned, as are the counts */
	size_t nr;
	uint32_t *count;
	size_t nr_counts;
	struct linux_cpus cpus;
};

/*
 * The rows of /proc/interrupts, in its order: those of interrupts, but for hidden ones and those that nobody handles
 * and that never came, then those of the architecture (x86) that the BTF has. -ENOENT, -E2BIG, -ENOMEM with the error
 * message set; what was read until then is in *ret, which is the caller's, also on failure. Descriptors that changed
 * meanwhile are left out, and counted in g->torn.
 */
int linux_interrupts_read(struct linux_guest *g, const struct btf_types *types,
			  struct linux_interrupts *ret);
void linux_interrupts_deinit(struct linux_interrupts *i);

#endif
