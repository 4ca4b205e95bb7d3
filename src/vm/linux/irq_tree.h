/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The tree in which a Linux kernel has its interrupt descriptors by number: to 6.4 irq_desc_tree, a radix tree
 * (struct xarray), from 6.5 on sparse_irqs, a maple tree (721255b9826b).
 */
#ifndef HOSTRACE_LINUX_IRQ_TREE_H
#define HOSTRACE_LINUX_IRQ_TREE_H

#include "vm/linux/btf.h"
#include "vm/linux/guest.h"

enum {
	LINUX_IRQS_MAX = 1 << 20,
	LINUX_IRQ_NODES_MAX = 1 << 16, /* of the tree */
};

struct linux_irq {
	uint32_t irq;
	uint64_t desc; /* address of its struct irq_desc */
};

/*
 * In the order of their numbers; *ret is allocated, also on failure. A descriptor that says that it has another number
 * is left out, and counted in g->torn, as are nodes of the tree that cannot be. -ENOENT: the kernel lacks the tree or
 * its BTF a type; -E2BIG: the tree has more nodes or interrupts than there can be; -ENOMEM; with the error message set.
 */
int linux_irqs_read(struct linux_guest *g, const struct btf_types *types, struct linux_irq **ret,
		    size_t *ret_nr);

#endif
