// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The tree in which a Linux kernel has its interrupt descriptors by number: to 6.4 irq_desc_tree, a radix tree
 * (struct xarray), from 6.5 on sparse_irqs, a maple tree (721255b9826b).
 */
#include <errno.h>
#include <limits.h>

#include "base/array.h"
#include "base/error.h"
#include "event/event.h"
#include "vm/linux/lists.h"

/* What a Linux guest's /proc/interrupts has, by the offsets in its BTF. */

struct linux_irq {
	uint32_t irq;
	uint64_t desc; /* address of its struct irq_desc */
};

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

struct tree_walk {
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

static int torn(struct tree_walk *w)
{
	w->g->torn++;
	return 0;
}

static int node_count(struct tree_walk *w)
{
	return w->nodes++ < LINUX_IRQ_NODES_MAX
		       ? 0
		       : fail(-E2BIG, "the guest's tree of interrupts has more than %d nodes",
			      LINUX_IRQ_NODES_MAX);
}

/* An entry of the tree that is no node: the descriptor of one of the numbers from..to. */
static int desc_add(struct tree_walk *w, uint64_t desc, uint64_t from, uint64_t to)
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
static int xa_walk(struct tree_walk *w, uint64_t entry, uint64_t from, unsigned int above)
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

static int radix_walk(struct tree_walk *w, const struct btf_types *t, uint64_t tree)
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

static bool node_read(struct tree_walk *w, uint64_t entry, struct maple_node *ret)
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

static int maple_walk(struct tree_walk *w, uint64_t entry, uint64_t from, uint64_t to, int height)
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

static int maple_begin(struct tree_walk *w, const struct btf_types *t, uint64_t tree)
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

/*
 * In the order of their numbers; *ret is allocated, also on failure. A descriptor that says that it has another number
 * is left out, and counted in g->torn, as are nodes of the tree that cannot be. -ENOENT: the kernel lacks the tree or
 * its BTF a type; -E2BIG: the tree has more nodes or interrupts than there can be; -ENOMEM; with the error message set.
 */
static int linux_irqs_read(struct linux_guest *g, const struct btf_types *types,
			   struct linux_irq **ret, size_t *ret_nr)
{
	uint64_t radix = linux_symbol(g, "irq_desc_tree"), maple = linux_symbol(g, "sparse_irqs");
	struct tree_walk w = {.g = g, .number = btf_offset(types, "irq_desc", "irq_data.irq")};
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

/* As show_interrupts() (kernel/irq/proc.c) and arch_show_interrupts() (arch/x86/kernel/irq.c) print them. */

enum {
	IRQ_HIDDEN = 1 << 20, /* kernel/irq/settings.h */
	ARCH_ROWS_MAX = 256,
	VECTORS = 256,
};

/* Offsets in irq_desc and what it points to; < 0: there is no such member. */
struct layout {
	int counts, count; /* count: within what `counts` points to */
	int action, status, name, hwirq, chip, domain;
	int chip_name, action_name, action_next;
};

struct walk {
	struct linux_guest *g;
	const struct btf_types *types;
	struct layout l;
	uint64_t chained; /* the action of interrupts that lead to others; 0: unknown */
	struct linux_interrupts *out;
};

static int layout_find(const struct btf_types *t, struct layout *ret)
{
	static const char desc[] = "irq_desc";

	*ret = (struct layout){
		.counts = btf_offset(t, desc, "kstat_irqs"),
		.count = btf_offset(t, "irqstat", "cnt"), /* since 6.10 */
		.action = btf_offset(t, desc, "action"),
		.status = btf_offset(t, desc, "status_use_accessors"),
		.name = btf_offset(t, desc, "name"),
		.hwirq = btf_offset(t, desc, "irq_data.hwirq"),
		.chip = btf_offset(t, desc, "irq_data.chip"),
		.domain = btf_offset(t, desc, "irq_data.domain"),
		.chip_name = btf_offset(t, "irq_chip", "name"),
		.action_name = btf_offset(t, "irqaction", "name"),
		.action_next = btf_offset(t, "irqaction", "next"),
	};
	ret->count = ret->count < 0 ? 0 : ret->count;
	return ret->counts < 0 || ret->action < 0 || ret->status < 0 || ret->name < 0 ||
			       ret->hwirq < 0 || ret->chip < 0 || ret->domain < 0 ||
			       ret->chip_name < 0 || ret->action_name < 0 || ret->action_next < 0
		       ? fail(-ENOENT, "the guest kernel's BTF has no usable struct irq_desc")
		       : 0;
}

/* 0: it cannot be read. */
static uint64_t pointer_read(struct linux_guest *g, uint64_t object, int at)
{
	uint64_t v;

	return linux_read_u64(g, object + (uint64_t)at, &v) ? 0 : v;
}

/* Of its first line, without the spaces before it; "" where there is none. */
static void name_read(struct linux_guest *g, uint64_t object, int at, char *ret, size_t size)
{
	uint64_t text = pointer_read(g, object, at);
	size_t spaces, len;

	if (!text || linux_read_text(g, text, ret, size))
		*ret = '\0';
	spaces = strspn(ret, " ");
	len = strcspn(ret + spaces, "\n");
	memmove(ret, ret + spaces, len);
	ret[len] = '\0';
	text_sanitize(ret);
}

/* ---- counts ---- */

/* Reserves a row and its counts, which are 0. */
static int row_begin(struct linux_interrupts *o, bool single)
{
	size_t nr = single ? 1 : o->cpus.nr;

	if (o->nr_counts + nr > LINUX_IRQ_COUNTS_MAX)
		return fail(-E2BIG, "the guest has more than %d interrupts by CPU",
			    LINUX_IRQ_COUNTS_MAX);
	if (array_room(o->row, o->nr))
		return -ENOMEM;
	o->row[o->nr] =
		(struct linux_interrupt){.irq = -1, .count = o->nr_counts, .single = single};
	for (size_t i = 0; i < nr; i++) {
		if (array_room(o->count, o->nr_counts + i))
			return -ENOMEM;
		o->count[o->nr_counts + i] = 0;
	}
	return 0;
}

/* Of a per-CPU counter. Did it ever count? */
static bool counts_read(struct linux_guest *g, struct linux_interrupts *o, uint64_t counter)
{
	bool any = false;

	for (size_t i = 0; i < o->cpus.nr; i++) {
		uint32_t *count = &o->count[o->nr_counts + i];

		if (linux_read_u32(g, counter + o->cpus.offset[i], count))
			*count = 0;
		any = any || *count;
	}
	return any;
}

static void row_end(struct linux_interrupts *o)
{
	o->nr_counts += o->row[o->nr++].single ? 1 : o->cpus.nr;
}

/* ---- interrupts ---- */

static void actions_read(struct walk *w, uint64_t action, struct linux_interrupt *r)
{
	char name[LINUX_IRQ_NAME_MAX];
	size_t len = 0;

	for (int i = 0; action && i < LINUX_IRQ_ACTIONS_MAX; i++) {
		name_read(w->g, action, w->l.action_name, name, sizeof(name));
		if (len + strlen(name) + sizeof(", ") > sizeof(r->actions))
			return;
		len += (size_t)sprintf(r->actions + len, "%s%s", i ? ", " : "", name);
		action = pointer_read(w->g, action, w->l.action_next);
	}
}

static int irq_read(struct walk *w, const struct linux_irq *irq)
{
	uint64_t desc = irq->desc, action = pointer_read(w->g, desc, w->l.action);
	uint64_t counts = pointer_read(w->g, desc, w->l.counts), chip;
	struct linux_interrupt *r;
	uint32_t status;
	bool any;
	int err = row_begin(w->out, false);

	if (err)
		return err;
	if (linux_read_u32(w->g, desc + (uint64_t)w->l.status, &status)) {
		w->g->torn++;
		return 0;
	}
	any = counts && counts_read(w->g, w->out, counts + (uint64_t)w->l.count);
	if (status & IRQ_HIDDEN || ((!action || action == w->chained) && !any))
		return 0;
	r = &w->out->row[w->out->nr];
	r->irq = (int32_t)irq->irq;
	snprintf(r->label, sizeof(r->label), "%u", irq->irq);
	chip = pointer_read(w->g, desc, w->l.chip);
	if (chip)
		name_read(w->g, chip, w->l.chip_name, r->chip, sizeof(r->chip));
	if (!*r->chip)
		snprintf(r->chip, sizeof(r->chip), "%s", chip ? "-" : "None");
	r->has_hwirq = pointer_read(w->g, desc, w->l.domain);
	r->hwirq = pointer_read(w->g, desc, w->l.hwirq);
	name_read(w->g, desc, w->l.name, r->flow, sizeof(r->flow));
	actions_read(w, action, r);
	row_end(w->out);
	return 0;
}

/* ---- of the architecture, to 7.0 ---- */

/* member: of irq_cpustat_t; or else variable. vector: shown only if the system uses it, or it came. */
static const struct {
	const char *label, *member, *variable, *text;
	uint8_t vector;
	bool single, seldom; /* seldom: only if it came */
} arch[] = {
	{"NMI", "__nmi_count", NULL, "Non-maskable interrupts"},
	{"LOC", "apic_timer_irqs", NULL, "Local timer interrupts"},
	{"SPU", "irq_spurious_count", NULL, "Spurious interrupts"},
	{"PMI", "apic_perf_irqs", NULL, "Performance monitoring interrupts"},
	{"IWI", "apic_irq_work_irqs", NULL, "IRQ work interrupts"},
	{"RTR", "icr_read_retry_count", NULL, "APIC ICR read retries"},
	{"PLT", "x86_platform_ipis", NULL, "Platform interrupts", .seldom = true},
	{"RES", "irq_resched_count", NULL, "Rescheduling interrupts"},
	{"CAL", "irq_call_count", NULL, "Function call interrupts"},
	{"TLB", "irq_tlb_count", NULL, "TLB shootdowns"},
	{"TRM", "irq_thermal_count", NULL, "Thermal event interrupts"},
	{"THR", "irq_threshold_count", NULL, "Threshold APIC interrupts"},
	{"DFR", "irq_deferred_error_count", NULL, "Deferred Error APIC interrupts"},
	{"MCE", NULL, "mce_exception_count", "Machine check exceptions"},
	{"MCP", NULL, "mce_poll_count", "Machine check polls"},
	{"HYP", "irq_hv_callback_count", NULL, "Hypervisor callback interrupts", .vector = 0xf3},
	{"HRE", "irq_hv_reenlightenment_count", NULL, "Hyper-V reenlightenment interrupts",
	 .vector = 0xee},
	{"HVS", "hyperv_stimer0_count", NULL, "Hyper-V stimer0 interrupts", .vector = 0xed},
	{"ERR", NULL, "irq_err_count", NULL, .single = true},
	{"MIS", NULL, "irq_mis_count", NULL, .single = true},
	{"PIN", "kvm_posted_intr_ipis", NULL, "Posted-interrupt notification event"},
	{"NPI", "kvm_posted_intr_nested_ipis", NULL, "Nested posted-interrupt event"},
	{"PIW", "kvm_posted_intr_wakeup_ipis", NULL, "Posted-interrupt wakeup event"},
	{"PMN", "posted_msi_notification_count", NULL, "Posted MSI notification event"},
};

static bool vector_used(struct linux_guest *g, uint32_t vector)
{
	uint64_t bitmap = linux_symbol(g, "system_vectors");
	uint8_t bits = 0;

	return bitmap && vector < VECTORS && !linux_read(g, bitmap + vector / CHAR_BIT, &bits, 1) &&
	       bits >> vector % CHAR_BIT & 1;
}

/* 0: this kernel does not count it. */
static uint64_t arch_counter(const struct walk *w, size_t i)
{
	uint64_t stat = linux_symbol(w->g, arch[i].member ? "irq_stat" : arch[i].variable);
	int at = arch[i].member ? btf_offset(w->types, "irq_cpustat_t", arch[i].member) : 0;

	return stat && at >= 0 ? stat + (uint64_t)at : 0;
}

static int arch_read(struct walk *w, size_t i)
{
	struct linux_interrupts *o = w->out;
	uint64_t counter = arch_counter(w, i);
	struct linux_interrupt *r;
	bool any;
	int err = counter ? row_begin(o, arch[i].single) : 0;

	if (err || !counter)
		return err;
	r = &o->row[o->nr];
	if (arch[i].single)
		any = !linux_read_u32(w->g, counter, &o->count[r->count]);
	else
		any = counts_read(w->g, o, counter);
	if (!any && (arch[i].seldom || (arch[i].vector && !vector_used(w->g, arch[i].vector))))
		return 0;
	snprintf(r->label, sizeof(r->label), "%s", arch[i].label);
	if (arch[i].text)
		snprintf(r->text, sizeof(r->text), "%s", arch[i].text);
	row_end(o);
	return 0;
}

/* ---- of the architecture, where the kernel has a table of what it counts ---- */

struct arch_table {
	uint64_t counts, info; /* addresses */
	int nr, info_bytes, skip, label, text;
};

/* False: this kernel has no such table. */
static bool arch_table_find(const struct walk *w, struct arch_table *ret)
{
	uint64_t stat = linux_symbol(w->g, "irq_stat");
	int counts = btf_offset(w->types, "irq_cpustat_t", "counts");

	*ret = (struct arch_table){
		.counts = stat + (uint64_t)counts,
		.info = linux_symbol(w->g, "irq_stat_info"),
		.nr = btf_enum_value(w->types, "irq_stat_counts", "IRQ_COUNT_MAX"),
		.info_bytes = btf_size(w->types, "irq_stat_info"),
		.skip = btf_offset(w->types, "irq_stat_info", "skip_vector"),
		.label = btf_offset(w->types, "irq_stat_info", "symbol"),
		.text = btf_offset(w->types, "irq_stat_info", "text"),
	};
	return stat && counts >= 0 && ret->info && ret->nr >= 0 && ret->nr <= ARCH_ROWS_MAX &&
	       ret->info_bytes > 0 && ret->skip >= 0 && ret->label >= 0 && ret->text >= 0;
}

static int arch_table_read(struct walk *w, const struct arch_table *t, int i)
{
	uint64_t info = t->info + (uint64_t)i * (uint64_t)t->info_bytes;
	struct linux_interrupt *r;
	uint32_t skip;
	bool any;
	int err = row_begin(w->out, false);

	if (err || linux_read_u32(w->g, info + (uint64_t)t->skip, &skip))
		return err;
	r = &w->out->row[w->out->nr];
	any = counts_read(w->g, w->out, t->counts + (uint64_t)i * sizeof(uint32_t));
	name_read(w->g, info, t->label, r->label, sizeof(r->label));
	name_read(w->g, info, t->text, r->text, sizeof(r->text));
	if (any || (skip ? vector_used(w->g, skip) : strcmp(r->label, "PLT") != 0))
		row_end(w->out);
	return 0;
}

static int arch_all(struct walk *w)
{
	int nr = sizeof(arch) / sizeof(*arch), err = 0;
	struct arch_table t;
	bool table = arch_table_find(w, &t);

	for (int i = 0; i < (table ? t.nr : nr) && !err; i++)
		err = table ? arch_table_read(w, &t, i) : arch_read(w, (size_t)i);
	return err;
}

int linux_interrupts_read(struct linux_guest *g, const struct btf_types *types,
			  struct linux_interrupts *ret)
{
	struct walk w = {.g = g, .types = types, .out = ret};
	_cleanup_free_ struct linux_irq *irq = NULL;
	size_t nr = 0;
	int err, listed;

	*ret = (struct linux_interrupts){0};
	w.chained = linux_symbol(g, "chained_action");
	err = layout_find(types, &w.l);
	if (!err)
		err = linux_cpus_online(g, &ret->cpus);
	if (err)
		return err;
	linux_reads_begin(g);
	listed = linux_irqs_read(g, types, &irq, &nr);
	for (size_t i = 0; i < nr && !err; i++)
		err = irq_read(&w, &irq[i]);
	if (!err)
		err = arch_all(&w);
	return linux_reads_end(g, err ? err : listed);
}

void linux_interrupts_deinit(struct linux_interrupts *i)
{
	free(i->row);
	free(i->count);
	linux_cpus_deinit(&i->cpus);
	*i = (struct linux_interrupts){0};
}
