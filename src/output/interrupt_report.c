// SPDX-License-Identifier: GPL-2.0-or-later
#include "output/interrupt_report.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "output/report.h"

static void count_add(json_t *list, const char *what, uint64_t nr)
{
	if (nr)
		caveat_add(list, "%s: %" PRIu64, what, nr);
}

json_t *interrupt_report_caveats(const struct interrupt_report *r)
{
	const struct irq_counts *n = interrupts_counts(r->interrupts);
	json_t *list = json_array();

	if (n->accepts && !n->injections)
		caveat_add(list, "no kvm_inj_virq in this trace (posted interrupts, or a KVM "
				 "without VMX and SVM): injections and coalescing are unknown");
	if (n->accepts && !n->eois && n->nameless)
		caveat_add(list, "EOIs name no vector (%" PRIu64 "): when the guest has handled an "
				 "interrupt is unknown", n->nameless);
	else if (n->accepts && !n->eois)
		caveat_add(list, "no kvm_eoi in this trace: the hardware ends interrupts (AVIC, "
				 "APICv), or it was not recorded");
	if (!n->accepts && !n->injections && n->nameless)
		caveat_add(list,
			   "no local APIC accepted an interrupt, and EOIs name no vector "
			   "(EOIs: %" PRIu64 ", lines raised: %" PRIu64
			   "): they are interrupts of the 8259 (PIC), whose injection this KVM "
			   "does not report; the guest's EOIs to it are writes to ports 0x20 and "
			   "0xa0 (hostrace ports)",
			   n->nameless, n->lines);
	count_add(list,
		  "inputs of the I/O APIC that were driven and sent nothing, as an interrupt was "
		  "pending (coalesced)",
		  n->pin_coalesced);
	count_add(list,
		  "interrupts injected without a recorded accept (of the PIC or a thread of the "
		  "kernel, from before the recording, or lost)",
		  n->unaccepted);
	count_add(list, "losses, at which interrupts under way were dropped", n->losses);
	count_add(list, "events ignored, as there are too many vCPUs", n->refused);
	return list;
}

/* ---- keys ---- */

static void key_columns(const struct interrupt_report *r, struct table *t)
{
	if (r->vms)
		table_column(t, "vm", "VM", COL_TEXT, 0);
	table_column(t, "vcpu", "vcpu", COL_COUNT, 0);
	table_column(t, "apic_id", NULL, COL_COUNT, 0);
	table_column(t, "vector", "vector", COL_COUNT, 0);
}

static struct cell *key_cells(const struct interrupt_report *r, uint32_t pid, uint16_t vcpu,
			      struct table *t, struct cell *row)
{
	char text[VM_NAME_BYTES];

	if (r->vms)
		(row++)->text = table_text(t, vm_name(r->vms, pid, text, sizeof(text)));
	*row++ = (struct cell){vcpu, vcpu == RECORD_NO_VCPU ? "-" : NULL};
	return row;
}

static struct cell *stage_cells(struct quantiles *q, struct cell *row)
{
	const char *none = q->count ? NULL : "-";

	*row++ = (struct cell){quantiles_at(q, 0.5), none};
	*row++ = (struct cell){quantiles_at(q, 0.99), none};
	*row++ = (struct cell){q->max, none};
	return row;
}

/* ---- vectors ---- */

static const char *source_print(const struct irq_vector *v, char *buf, size_t size)
{
	static const char *const names[IRQ_SOURCES] = {"msi", "gsi", "timer", "ipi", "other"};
	unsigned int best = IRQ_MSI;

	for (unsigned int i = 0; i < IRQ_SOURCES; i++)
		if (irq_from(v, i) > irq_from(v, best))
			best = i;
	if (!irq_from(v, best))
		return "-";
	if (best != IRQ_LINE)
		return names[best];
	snprintf(buf, size, "gsi %u", v->gsi);
	return buf;
}

static void vector_columns(const struct interrupt_report *r, struct table *t)
{
	static const char *const from_keys[IRQ_SOURCES] = {"from_msi", "from_gsi", "from_timer",
							   "from_ipi", "from_other"};

	key_columns(r, t);
	table_column(t, "source", "source", COL_TEXT, 0);
	table_column(t, "accepted", "accepted", COL_COUNT, 0);
	table_column(t, "coalesced", "coalesced", COL_COUNT, 0);
	table_column(t, "injected", NULL, COL_COUNT, 0);
	table_column(t, "eois", NULL, COL_COUNT, 0);
	table_column(t, "late_eois", NULL, COL_COUNT, 0);
	table_column(t, "inject_p50_ns", "inject", COL_NS, 0);
	table_column(t, "inject_p99_ns", "p99", COL_NS, 1);
	table_column(t, "inject_max_ns", "max", COL_NS, 2);
	table_column(t, "handle_p50_ns", "handle", COL_NS, 0);
	table_column(t, "handle_p99_ns", "p99", COL_NS, 1);
	table_column(t, "handle_max_ns", "max", COL_NS, 2);
	table_column(t, "total_p50_ns", "total", COL_NS, 3);
	table_column(t, "total_p99_ns", "p99", COL_NS, 4);
	table_column(t, "total_max_ns", "max", COL_NS, 0);
	for (unsigned int i = 0; i < IRQ_SOURCES; i++)
		table_column(t, from_keys[i], NULL, COL_COUNT, 0);
}

static void vector_row(const struct interrupt_report *r, struct irq_vector *v, struct table *t,
		       struct cell *row)
{
	bool injections = interrupts_counts(r->interrupts)->injections;
	char text[32];

	row = key_cells(r, v->pid, v->vcpu, t, row);
	(row++)->number = v->apic_id;
	(row++)->number = v->vector;
	(row++)->text = table_text(t, source_print(v, text, sizeof(text)));
	(row++)->number = v->accepted;
	*row++ = (struct cell){v->coalesced, injections ? NULL : "-"};
	*row++ = (struct cell){v->injected, injections ? NULL : "-"};
	(row++)->number = v->eois;
	(row++)->number = v->late;
	for (unsigned int i = 0; i < IRQ_STAGES; i++)
		row = stage_cells(&v->stage[i], row);
	for (unsigned int i = 0; i < IRQ_SOURCES; i++)
		(row++)->number = irq_from(v, i);
}

int interrupt_report_vectors(const struct interrupt_report *r, struct table *t)
{
	size_t nr;
	_cleanup_free_ struct irq_vector **all = interrupts_vectors(r->interrupts, &nr);

	if (!all)
		return fail(-ENOMEM, "out of memory");
	vector_columns(r, t);
	for (size_t i = 0; i < nr; i++) {
		bool selected = r->selects(r->arg, all[i]->vcpu);
		struct cell *row = selected ? table_row(t) : NULL;

		if (selected && !row)
			return -ENOMEM;
		if (row)
			vector_row(r, all[i], t, row);
	}
	return 0;
}

/* ---- timers ---- */

int interrupt_report_timers(const struct interrupt_report *r, struct table *t)
{
	size_t nr;
	_cleanup_free_ struct irq_timer **all = interrupts_timers(r->interrupts, &nr);

	if (!all)
		return fail(-ENOMEM, "out of memory");
	key_columns(r, t);
	table_column(t, "count", "count", COL_COUNT, 0);
	table_column(t, "ticks_lost", "lost", COL_COUNT, 0);
	table_column(t, "early", "early", COL_COUNT, 0);
	table_column(t, "unknown", NULL, COL_COUNT, 0);
	table_column(t, "accept_p50_ns", "accept", COL_NS, 0);
	table_column(t, "accept_p99_ns", "p99", COL_NS, 0);
	table_column(t, "accept_max_ns", "max", COL_NS, 0);
	table_column(t, "accept_total_ns", NULL, COL_NS, 0);
	table_column(t, "entry_p50_ns", "entry", COL_NS, 0);
	table_column(t, "entry_p99_ns", "p99", COL_NS, 0);
	table_column(t, "entry_max_ns", "max", COL_NS, 0);
	for (size_t i = 0; i < nr; i++) {
		bool selected = r->selects(r->arg, all[i]->vcpu);
		struct cell *row = selected ? table_row(t) : NULL;

		if (selected && !row)
			return -ENOMEM;
		if (!row)
			continue;
		row = key_cells(r, all[i]->pid, all[i]->vcpu, t, row);
		(row++)->number = all[i]->apic_id;
		(row++)->number = all[i]->vector;
		(row++)->number = all[i]->fired;
		(row++)->number = all[i]->lost;
		(row++)->number = all[i]->early;
		(row++)->number = all[i]->unknown;
		row = stage_cells(&all[i]->accept, row);
		(row++)->number = (uint64_t)all[i]->accept.sum;
		stage_cells(&all[i]->entry, row);
	}
	return 0;
}
