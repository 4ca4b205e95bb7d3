// SPDX-License-Identifier: GPL-2.0-or-later
/* A table of these events with their sentences, and the pass over an input's counts that chooses from it. */
#include <errno.h>
#include <stdlib.h>

#include "base/error.h"
#include "input/input_set.h"
#include "output/event_notes.h"

#define EXITS	   NOTE_EXITS
#define INTERRUPTS NOTE_INTERRUPTS
#define SUMMARY	   NOTE_SUMMARY

/* `interrupts` counts those of APICv's inhibition, of AVIC's IPIs and accesses, and of posted interrupts itself. */
const struct event_note event_notes[] = {
	{"kvm_apicv_inhibit_changed", EXITS | SUMMARY,
	 "APICv or AVIC was inhibited, or no longer, %llu times: interrupts cause exits while it "
	 "is"},
	{"kvm_avic_incomplete_ipi", EXITS | SUMMARY, "AVIC could not deliver %llu IPIs by itself"},
	{"kvm_avic_unaccelerated_access", EXITS,
	 "accesses to local APICs that AVIC does not handle: %llu"},
	{"kvm_avic_kick_vcpu_slowpath", INTERRUPTS | SUMMARY,
	 "%llu IPIs under AVIC were delivered by a search of all vCPUs"},
	{"kvm_avic_ga_log", INTERRUPTS,
	 "interrupts that the IOMMU posted for vCPUs that did not run (AVIC): %llu"},
	{"kvm_apicv_accept_irq", INTERRUPTS,
	 "interrupts that APICv or AVIC took for delivery without an exit: %llu"},
	{"kvm_avic_doorbell", INTERRUPTS,
	 "interrupts that AVIC delivered to vCPUs that ran, without exits: %llu"},
	{"kvm_pi_irte_update", EXITS,
	 "changes of the interrupt remapping table for vCPUs (posted interrupts): %llu"},
	{"kvm_try_async_get_page", EXITS,
	 "pages of the guest that were not there, and that KVM tried to fetch without the vCPU: "
	 "%llu"},
	{"kvm_async_pf_not_present", EXITS | SUMMARY,
	 "vCPUs accessed pages that the host had to fetch %llu times (async page faults): the host "
	 "swaps, or the VM is being restored"},
	{"kvm_async_pf_repeated_fault", EXITS | SUMMARY,
	 "vCPUs halted %llu times for a page that was being fetched already (async page faults)"},
	{"kvm_async_pf_completed", EXITS, "pages that were fetched for async page faults: %llu"},
	{"kvm_async_pf_ready", INTERRUPTS,
	 "times that a guest was told that a page is there (async page faults): %llu"},
	{"kvm_hv_hypercall", EXITS | SUMMARY, "The guest made %llu Hyper-V hypercalls"},
	{"kvm_hv_flush_tlb", EXITS | SUMMARY,
	 "The guest flushed TLBs by %llu Hyper-V hypercalls"},
	{"kvm_hv_flush_tlb_ex", EXITS | SUMMARY,
	 "The guest flushed TLBs of more than 64 vCPUs by %llu Hyper-V hypercalls"},
	{"kvm_hv_send_ipi", EXITS | INTERRUPTS, "IPIs by Hyper-V hypercalls: %llu"},
	{"kvm_hv_send_ipi_ex", EXITS | INTERRUPTS,
	 "IPIs by Hyper-V hypercalls to more than 64 vCPUs: %llu"},
	{"kvm_hv_synic_set_irq", INTERRUPTS,
	 "synthetic interrupts of Hyper-V that were raised: %llu"},
	{"kvm_hv_synic_send_eoi", INTERRUPTS,
	 "synthetic interrupts of Hyper-V that were ended: %llu"},
	{"kvm_hv_synic_set_msr", EXITS, "writes to Hyper-V's synthetic interrupt controller: %llu"},
	{"kvm_hv_stimer_set_count", EXITS, "times that a synthetic timer of Hyper-V was set: %llu"},
	{"kvm_hv_stimer_set_config", EXITS,
	 "times that a synthetic timer of Hyper-V was configured: %llu"},
	{"kvm_hv_stimer_start_periodic", EXITS | SUMMARY,
	 "Periodic synthetic timers of Hyper-V were started %llu times"},
	{"kvm_hv_stimer_start_one_shot", EXITS | SUMMARY,
	 "Synthetic timers of Hyper-V were started %llu times, each for one expiration"},
	{"kvm_hv_stimer_cleanup", EXITS, "synthetic timers of Hyper-V that were stopped: %llu"},
	{"kvm_hv_stimer_callback", INTERRUPTS,
	 "synthetic timers of Hyper-V that expired on the host: %llu"},
	{"kvm_hv_stimer_expiration", INTERRUPTS,
	 "synthetic timers of Hyper-V that expired: %llu"},
	{"kvm_hv_timer_state", EXITS,
	 "times that a local APIC's timer moved to the CPU's timer for VMs, or back: %llu"},
	{"kvm_hv_notify_acked_sint", INTERRUPTS,
	 "synthetic interrupts of Hyper-V that the guest acknowledged: %llu"},
	{"kvm_hv_hypercall_done", EXITS,
	 "Hyper-V hypercalls that the VMM handled: %llu"},
	{"kvm_update_master_clock", EXITS | SUMMARY,
	 "KVM computed %llu times whether all vCPUs share one kvm-clock: each time all vCPUs leave "
	 "the guest"},
	{"kvm_track_tsc", EXITS, "comparisons of a vCPU's TSC with the others': %llu"},
	{"kvm_dirty_ring_push", EXITS,
	 "pages that were written and logged in dirty rings (a migration, for example): %llu"},
	{"kvm_dirty_ring_reset", EXITS, "times that entries of dirty rings were collected: %llu"},
	{"kvm_dirty_ring_exit", EXITS | SUMMARY,
	 "vCPUs left KVM_RUN %llu times because their dirty ring was full"},
	{"kvm_nested_vmenter", EXITS | SUMMARY,
	 "The guest entered guests of its own (L2) %llu times: each of their exits costs several"},
	{"kvm_nested_vmenter_failed", EXITS | SUMMARY,
	 "The guest failed %llu times to enter a guest of its own (L2)"},
	{"kvm_nested_intercepts", EXITS,
	 "entries into nested guests (L2) with their intercepts: %llu"},
	{"kvm_nested_intr_vmexit", EXITS | INTERRUPTS,
	 "nested guests (L2) that were left because of a pending interrupt: %llu"},
	{NULL, 0, NULL},
};

/* Also of a text that has no fields of it: "ftrace:kvm_nested_vmenter_failed". */
static bool is_of(const struct event_type *type, const char *event)
{
	const char *colon = strrchr(type->name, ':');

	return !strcmp(colon ? colon + 1 : type->name, event);
}

/* By the file, or of what was read. -ENOTSUP: neither. */
static int reader_counts(struct reader *r, uint64_t *counts)
{
	if (!r || (!r->ops->counts && !r->info.types_read))
		return -ENOTSUP;
	if (r->ops->counts)
		return r->ops->counts(r, counts);
	for (unsigned int i = 0; i < event_types_count(); i++)
		counts[i] += r->info.types_read[i];
	return 0;
}

/* Of the inputs that have counts; one whose counts cannot be read is named in the list. */
static void counts_read(json_t *list, const struct input_set *in, uint64_t *counts)
{
	for (unsigned int i = 0; i < in->nr_hosts; i++) {
		struct reader *r = in->input[i].reader;
		int err = reader_counts(r, counts);

		if (err && err != -ENOTSUP)
			json_array_append_new(list, json_sprintf("what else %s has is unknown: %s",
								 r->info.file, error_text()));
	}
}

void event_notes_add(json_t *list, unsigned int where, const struct input_set *in)
{
	_cleanup_free_ uint64_t *counts = calloc(EVENT_TYPES_MAX, sizeof(*counts));

	if (in->is_trimmed || !counts)
		return;
	counts_read(list, in, counts);
	for (const struct event_note *n = event_notes; n->event; n++) {
		unsigned long long sum = 0;

		for (unsigned int i = 0; n->where & where && i < event_types_count(); i++)
			if (counts[i] && is_of(event_type_at(i), n->event))
				sum += counts[i];
		if (sum)
			json_array_append_new(list, json_sprintf(n->sentence, sum));
	}
}
