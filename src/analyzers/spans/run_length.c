// SPDX-License-Identifier: GPL-2.0-or-later
/* The other half of exit-latency: how long the guest ran between an entry and the next exit. */
#include "pairing/analyzer.h"

const struct analyzer run_length_analyzer = {
	.name = "run-length",
	.summary = "how long a vCPU stays in guest mode",
	.begin = "kvm_entry",
	.end = "kvm_exit",
	.key = "tid",
	.by = "vcpu",
	.explanation =
		"run length is the time from the kvm_entry tracepoint to the next kvm_exit of "
		"the same vCPU thread",
};
