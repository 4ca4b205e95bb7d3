// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "vm/linux/irq_tree.h"

enum {
	/* include/linux/xarray.h: an entry that is a node, and the root of a maple tree if it is one, has these bits */
	NODE_BITS = 2,
	NODE_BITS_MASK = 3,
	NODE_LOWEST = 4096,
	XA_SLOTS = 64,
	XA_SHIFT_STEP = 6,
	XA_SHIFT_MAX = 60,

	/* include/linux/maple_tree.h: a node's address has its type in bits 3 to 6 */
	MAPLE_NODE_MASK = 255,
	MAPLE_TYPE_SHIFT = 3,
	MAPLE_TYPE_MASK = 15,
	MAPLE_LEAF_64 = 1,
	MAPLE_RANGE_64 = 2,
	MAPLE_ARANGE_64 = 3,
	MAPLE_SLOTS = 16,
	MAPLE_ARANGE_SLOTS = 10,
	MAPLE_HEIGHT_MAX = 31,
};

struct walk {
	struct linux_guest *g;
	int number; /* irq_desc.irq_data.irq */
	int shift, xa_slots; /* in xa_node */
	int pivots, slots, arange_pivots, arange_slots; /* in maple_range_64, maple_arange_64 */
	struct linux_irq *irq;
	size_t nr;
	unsigned int nodes;
};

static bool is_node(uint64_t entry)
{
	return (entry & NODE_BITS_MASK) == NODE_BITS && entry > NODE_LOWEST;
}

static int torn(struct walk *w)
{
	w->g->torn++;
	return 0;
}

static int node_count(struct walk *w)
{
	return w->nodes++ < LINUX_IRQ_NODES_MAX
		       ? 0
		       : fail(-E2BIG, "the guest's tree of interrupts has more than %d nodes",
			      LINUX_IRQ_NODES_MAX);
}

/* An entry of the tree that is no node: the descriptor of one of the numbers from..to. */
static int desc_add(struct walk *w, uint64_t desc, uint64_t from, uint64_t to)
{
	uint32_t irq;

	if (!desc)
		return 0;
	if (linux_read_u32(w->g, desc + (uint64_t)w->number, &irq) || irq < from || irq > to)
		return torn(w);
	if (w->nr == LINUX_IRQS_MAX)
		return fail(-E2BIG, "the guest has more than %d interrupts", LINUX_IRQS_MAX);
	if (array_room(w->irq, w->nr))
		return -ENOMEM;
	w->irq[w->nr++] = (struct linux_irq){.irq = irq, .desc = desc};
	return 0;
}

/* ---- the radix tree ---- */

/* Each node has a smaller shift than the one above it, of which it is the part that begins with number `from`. */
static int xa_walk(struct walk *w, uint64_t entry, uint64_t from, unsigned int above)
{
	uint64_t node = entry - NODE_BITS, slot[XA_SLOTS];
	uint8_t shift;
	int err;

	if (!is_node(entry))
		return desc_add(w, entry, from, from);
	err = node_count(w);
	if (err)
		return err;
	if (linux_read(w->g, node + (uint64_t)w->shift, &shift, 1) || shift >= above ||
	    shift % XA_SHIFT_STEP ||
	    linux_read(w->g, node + (uint64_t)w->xa_slots, slot, sizeof(slot)))
		return torn(w);
	for (unsigned int i = 0; i < XA_SLOTS && !err; i++)
		err = xa_walk(w, slot[i], from + ((uint64_t)i << shift), shift);
	return err;
}

static int radix_walk(struct walk *w, const struct btf_types *t, uint64_t tree)
{
	int head = btf_offset(t, "xarray", "xa_head");
	uint64_t entry;

	w->shift = btf_offset(t, "xa_node", "shift");
	w->xa_slots = btf_offset(t, "xa_node", "slots");
	if (head < 0 || w->shift < 0 || w->xa_slots < 0)
		return fail(-ENOENT, "the guest kernel's BTF has no usable struct xarray");
	if (linux_read_u64(w->g, tree + (uint64_t)head, &entry))
		return torn(w);
	return xa_walk(w, entry, 0, XA_SHIFT_MAX + 1);
}

/* ---- the maple tree ---- */

struct maple_node {
	uint64_t pivot[MAPLE_SLOTS]; /* the last number of each slot */
	uint64_t slot[MAPLE_SLOTS];
	unsigned int nr; /* slots */
	bool leaf;
};

static bool node_read(struct walk *w, uint64_t entry, struct maple_node *ret)
{
	unsigned int type = entry >> MAPLE_TYPE_SHIFT & MAPLE_TYPE_MASK;
	bool arange = type == MAPLE_ARANGE_64;
	uint64_t node = entry & ~(uint64_t)MAPLE_NODE_MASK;
	uint64_t pivots = node + (uint64_t)(arange ? w->arange_pivots : w->pivots);
	uint64_t slots = node + (uint64_t)(arange ? w->arange_slots : w->slots);

	*ret = (struct maple_node){.leaf = type == MAPLE_LEAF_64,
				   .nr = arange ? MAPLE_ARANGE_SLOTS : MAPLE_SLOTS};
	return (ret->leaf || arange || type == MAPLE_RANGE_64) &&
	       !linux_read(w->g, pivots, ret->pivot, (ret->nr - 1) * sizeof(*ret->pivot)) &&
	       !linux_read(w->g, slots, ret->slot, ret->nr * sizeof(*ret->slot));
}

static int maple_walk(struct walk *w, uint64_t entry, uint64_t from, uint64_t to, int height)
{
	struct maple_node n;
	int err = node_count(w);

	if (err)
		return err;
	if (height > MAPLE_HEIGHT_MAX || !node_read(w, entry, &n))
		return torn(w);
	for (unsigned int i = 0; i < n.nr && !err; i++) {
		/* the last slot has no pivot; after the last one that is used comes 0 */
		uint64_t last = i + 1 < n.nr && (n.pivot[i] || !i) ? n.pivot[i] : to;

		if (last < from || last > to)
			return torn(w);
		if (n.leaf)
			err = desc_add(w, n.slot[i], from, last);
		else
			err = maple_walk(w, n.slot[i], from, last, height + 1);
		if (last == to)
			break;
		from = last + 1;
	}
	return err;
}

static int maple_begin(struct walk *w, const struct btf_types *t, uint64_t tree)
{
	int root = btf_offset(t, "maple_tree", "ma_root");
	uint64_t entry;

	w->pivots = btf_offset(t, "maple_range_64", "pivot");
	w->slots = btf_offset(t, "maple_range_64", "slot");
	w->arange_pivots = btf_offset(t, "maple_arange_64", "pivot");
	w->arange_slots = btf_offset(t, "maple_arange_64", "slot");
	if (root < 0 || w->pivots < 0 || w->slots < 0 || w->arange_pivots < 0 ||
	    w->arange_slots < 0)
		return fail(-ENOENT, "the guest kernel's BTF has no usable struct maple_tree");
	if (linux_read_u64(w->g, tree + (uint64_t)root, &entry))
		return torn(w);
	return is_node(entry) ? maple_walk(w, entry, 0, UINT64_MAX, 1) : desc_add(w, entry, 0, 0);
}

int linux_irqs_read(struct linux_guest *g, const struct btf_types *types, struct linux_irq **ret,
		    size_t *ret_nr)
{
	uint64_t radix = linux_symbol(g, "irq_desc_tree"), maple = linux_symbol(g, "sparse_irqs");
	struct walk w = {.g = g, .number = btf_offset(types, "irq_desc", "irq_data.irq")};
	int err;

	if (w.number < 0)
		err = fail(-ENOENT, "the guest kernel's BTF has no usable struct irq_desc");
	else if (maple)
		err = maple_begin(&w, types, maple);
	else if (radix)
		err = radix_walk(&w, types, radix);
	else
		err = fail(-ENOENT, "the guest's kernel has no symbol irq_desc_tree or sparse_irqs "
				    "(CONFIG_SPARSE_IRQ)");
	*ret = w.irq;
	*ret_nr = w.nr;
	return err;
}
