// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A guest runs until something needs the hypervisor: the CPU leaves guest mode (an exit), KVM handles it or asks
 * the VMM in user space, and enters again. The guest does not run in between.
 */
#include "pairing/analyzer.h"

const struct analyzer exit_latency_analyzer = {
	.name = "exit-latency",
	.summary = "how long an exit keeps the vCPU out of guest mode",
	.begin = "kvm_exit",
	.end = "kvm_entry",
	.mark = "kvm_userspace_exit",
	.key = "tid",
	.needs = "kvm_nested_vmexit,kvm_nested_vmexit_inject",
	.by = "reason",
	.explanation =
		"exit latency is the time from the kvm_exit tracepoint to the next kvm_entry of "
		"the same vCPU thread; it includes halting, userspace and preemption",
	.fallback = {{"userspace-exit", "these are exits to the VMM, not all exits"}},
};
