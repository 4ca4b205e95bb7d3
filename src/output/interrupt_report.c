// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * `hostrace interrupts`: its tables of vectors and of timers, and what limits the figures. The stages of an interrupt
 * are those of analyzers/interrupts/interrupts.h.
 */
#include "output/interrupt_report.h"

#include <errno.h>
#include <inttypes.h>

#include "base/error.h"
#include "output/report.h"

json_t *interrupt_report_caveats(const struct interrupt_report *r)
{
	const struct irq_counts *n = interrupts_counts(r->interrupts);
	json_t *list = json_array();

	if (n->accepts && !n->injections)
		caveat_add(list,
			   "no kvm_inj_virq with a vector in this trace (posted interrupts, or a "
			   "KVM without VMX and SVM): injections and coalescing are unknown");
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
	caveat_count(list,
		     "events without a vector or APIC id in this trace, which are not counted",
		     n->unnamed);
	caveat_count(list,
		  "inputs of the I/O APIC that were driven and sent nothing, as an interrupt was "
		  "pending (coalesced)",
		  n->pin_coalesced);
	caveat_count(list,
		  "interrupts injected without a recorded accept (of the PIC or a thread of the "
		  "kernel, from before the recording, or lost)",
		  n->unaccepted);
	if (n->inhibits || n->allowed)
		caveat_add(list, "APICv or AVIC was inhibited %" PRIu64 " times, and %" PRIu64
				 " times no longer for a reason: while it is, interrupts cause "
				 "exits (hostrace list --event kvm_apicv_inhibit_changed)",
			   n->inhibits, n->allowed);
	caveat_count(list, "IPIs that AVIC could not deliver by itself", n->ipis);
	caveat_count(list, "accesses to local APICs that AVIC does not handle", n->accesses);
	if (n->accepts && n->sources && !n->messages)
		caveat_add(list, "no kvm_set_irq, kvm_msi_set_irq and kvm_timer_irq in this trace: "
				 "who raised the interrupts is only recorded of the I/O APIC");
	if (n->accepts && !n->sources)
		caveat_add(list, "no kvm_set_irq, kvm_msi_set_irq and kvm_timer_irq in this trace: "
				 "who raised the interrupts is not recorded");
	caveat_count(list,
		     "interrupts of devices that are posted to a vCPU by the IOMMU from then on",
		     n->posted);
	caveat_count(list,
		     "injections that were repeated, as an exit came before the guest had taken "
		     "the interrupt (reinjected: --wide)",
		     n->reinjections);
	caveat_count(list, "losses, at which interrupts under way were dropped", n->losses);
	caveat_count(list, "events ignored, as there are too many vCPUs", n->refused);
	return list;
}

/* ---- vectors ---- */

static const char *source_print(const struct irq_counts *n, const struct irq_vector *v, char *buf,
				size_t size)
{
	static const char *const names[IRQ_SOURCES] = {"msi", "gsi", "timer", "ipi", "other"};
	unsigned int best = IRQ_MSI;

	for (unsigned int i = 0; i < IRQ_SOURCES; i++)
		if (irq_from(v, i) > irq_from(v, best))
			best = i;
	if (!irq_from(v, best) || (best == IRQ_IPI && !n->messages))
		return "-";
	if (best == IRQ_IPI && !n->timers)
		return "ipi/timer";
	if (best != IRQ_LINE)
		return names[best];
	snprintf(buf, size, "gsi %u", v->gsi);
	return buf;
}

static const struct irq_counts *counts_of(const struct table *t)
{
	return interrupts_counts(((const struct interrupt_report *)t->report)->interrupts);
}

static struct cell get_source(struct table *t, const void *at)
{
	char text[32];

	if (!counts_of(t)->sources)
		return (struct cell){0, NULL};
	return (struct cell){0, table_text(t, source_print(counts_of(t), at, text, sizeof(text)))};
}

/* A figure of events that the trace has not is not 0 (kvm_apicv_accept_irq is another event). */
GET_NUMBER_IF(get_accepted, const struct irq_vector *v, counts_of(t)->accepts, v->accepted)
GET_NUMBER_IF(get_injected, const struct irq_vector *v, counts_of(t)->injections, v->injected)
GET_NUMBER_IF(get_eois, const struct irq_vector *v, counts_of(t)->eois, v->eois)
GET_NUMBER_IF(get_late_eois, const struct irq_vector *v, counts_of(t)->late_eois, v->late)
GET_NUMBER_IF(get_coalesced, const struct irq_vector *v,
	      counts_of(t)->accepts && counts_of(t)->injections, v->coalesced)
GET_NUMBER_IF(get_from_msi, const void *at, counts_of(t)->sources, irq_from(at, IRQ_MSI))
GET_NUMBER_IF(get_from_gsi, const void *at, counts_of(t)->sources, irq_from(at, IRQ_LINE))
GET_NUMBER_IF(get_from_timer, const void *at, counts_of(t)->sources, irq_from(at, IRQ_TIMER))
GET_NUMBER_IF(get_from_ipi, const void *at, counts_of(t)->messages, irq_from(at, IRQ_IPI))
GET_NUMBER_IF(get_from_other, const void *at, counts_of(t)->sources, irq_from(at, IRQ_OTHER))
GET_NUMBER_IF(get_reinjected, const struct irq_vector *v, counts_of(t)->repeats, v->reinjected)

/* Median, 99th percentile and maximum of a struct quantiles. */
#define STAGE(name, type, member, spare_p50, spare_p99, spare_max, head_p50, text) \
	{name "_p50_ns", head_p50, COL_NS, QUANTILE(p50, type, member), spare_p50, true, \
	 .doc = text ": median"}, \
	{name "_p99_ns", "p99", COL_NS, QUANTILE(p99, type, member), spare_p99, true, \
	 .doc = "99th percentile"}, \
	{name "_max_ns", "max", COL_NS, QUANTILE(max, type, member), spare_max, true, \
	 .doc = "the longest"}

static const struct column_def vector_columns[] = {
	COLUMN_VM(struct irq_vector, pid),
	COLUMN_VCPU(struct irq_vector, vcpu),
	{"apic_id", NULL, COL_COUNT, MEMBER(struct irq_vector, apic_id),
	 .doc = "id of its local APIC"},
	{"vector", "vector", COL_COUNT, MEMBER(struct irq_vector, vector), .doc = "its number"},
	{"source", "source", COL_TEXT, .get = get_source, .nullable = true,
	 .doc = "what raised most of them: msi, gsi N (an interrupt line), timer (of the local "
		"APIC), "
		"ipi (a vCPU), ipi/timer (either: the trace has no kvm_timer_irq), other (another "
		"thread of the VMM)"},
	{"accepted", "accepted", COL_COUNT, .get = get_accepted, .nullable = true,
	 .doc = "how often the local APIC accepted it; null: the trace has no "
		"kvm_apic_accept_irq"},
	{"coalesced", "coalesced", COL_COUNT, .get = get_coalesced, .nullable = true,
	 .doc = "how often it was pending already: the guest gets it once for both; null: the "
		"trace has no accepts, or no injections"},
	{"reinjected", "reinj", COL_COUNT, .get = get_reinjected, .spare = 5, .nullable = true,
	 .doc = "injections that were repeated, as an exit came before the guest had taken the "
		"interrupt; they are not in \"injected\"; null: the trace does not say which are "
		"(Linux before 6.0)"},
	{"injected", NULL, COL_COUNT, .get = get_injected, .nullable = true,
	 .doc = "injections; null: the trace has none"},
	{"eois", NULL, COL_COUNT, .get = get_eois, .nullable = true,
	 .doc = "ends of its handling; null: the trace has none"},
	{"late_eois", NULL, COL_COUNT, .get = get_late_eois, .nullable = true,
	 .doc = "EOIs that the guest wrote to memory, seen at its next exit; null: the trace has "
		"none"},
	STAGE("inject", struct irq_vector, stage[IRQ_INJECT], 0, 1, 2, "inject",
	      "from the first accept that is pending to the injection"),
	STAGE("handle", struct irq_vector, stage[IRQ_HANDLE], 0, 1, 2, "handle",
	      "from the injection to the EOI"),
	STAGE("total", struct irq_vector, stage[IRQ_TOTAL], 3, 4, 0, "total",
	      "from the accept to the EOI"),
	{"from_msi", NULL, COL_COUNT, .get = get_from_msi, .nullable = true,
	 .doc = "accepted from an MSI"},
	{"from_gsi", NULL, COL_COUNT, .get = get_from_gsi, .nullable = true,
	 .doc = "from an interrupt line"},
	{"from_timer", NULL, COL_COUNT, .get = get_from_timer, .nullable = true,
	 .doc = "from its own timer"},
	{"from_ipi", NULL, COL_COUNT, .get = get_from_ipi, .nullable = true,
	 .doc = "from a vCPU; of its own timer, too, if the trace has no kvm_timer_irq"},
	{"from_other", NULL, COL_COUNT, .get = get_from_other, .nullable = true,
	 .doc = "from something else"},
	{0},
};

const struct table_def interrupt_vectors_table = {
	"interrupts", "", "a vector of a vCPU", {vector_columns}};

int interrupt_report_vectors(const struct interrupt_report *r, struct table *t)
{
	size_t nr;
	_cleanup_free_ struct irq_vector **all = interrupts_vectors(r->interrupts, &nr);
	int err = all ? 0 : fail(-ENOMEM, "out of memory");

	table_open(t, &interrupt_vectors_table, r, r->vms);
	for (size_t i = 0; !err && i < nr; i++)
		if (r->selects(r->arg, all[i]->vcpu))
			err = table_add(t, all[i]);
	return err;
}

/* ---- timers ---- */

GET_NUMBER(get_accept_total_ns, const struct irq_timer *x, x->accept.sum)

static const struct column_def timer_columns[] = {
	COLUMN_VM(struct irq_timer, pid),
	COLUMN_VCPU(struct irq_timer, vcpu),
	{"apic_id", NULL, COL_COUNT, MEMBER(struct irq_timer, apic_id),
	 .doc = "id of its local APIC"},
	{"vector", "vector", COL_COUNT, MEMBER(struct irq_timer, vector),
	 .doc = "the timer's vector"},
	{"count", "count", COL_COUNT, MEMBER(struct irq_timer, fired),
	 .doc = "interrupts that the timer made"},
	{"ticks_lost", "lost", COL_COUNT, MEMBER(struct irq_timer, lost),
	 .doc = "ticks of a periodic timer without an interrupt, as the previous one was not "
		"delivered yet"},
	{"early", "early", COL_COUNT, MEMBER(struct irq_timer, early),
	 .doc = "before their deadline: KVM may raise them early, to hide the time of the entry"},
	{"unknown", NULL, COL_COUNT, MEMBER(struct irq_timer, unknown),
	 .doc = "the deadline cannot be converted to host time"},
	STAGE("accept", struct irq_timer, accept, 0, 0, 0, "accept",
	      "from the guest's deadline to the accept"),
	{"accept_total_ns", NULL, COL_NS, .get = get_accept_total_ns, .doc = "their sum"},
	STAGE("entry", struct irq_timer, entry, 0, 0, 0, "entry",
	      "from the deadline to the VM-entry after the injection"),
	{0},
};

const struct table_def interrupt_timers_table = {
	"interrupts", "--timers", "the timer of a vCPU", {timer_columns}};

int interrupt_report_timers(const struct interrupt_report *r, struct table *t)
{
	size_t nr;
	_cleanup_free_ struct irq_timer **all = interrupts_timers(r->interrupts, &nr);
	int err = all ? 0 : fail(-ENOMEM, "out of memory");

	table_open(t, &interrupt_timers_table, r, r->vms);
	for (size_t i = 0; !err && i < nr; i++)
		if (r->selects(r->arg, all[i]->vcpu))
			err = table_add(t, all[i]);
	return err;
}
