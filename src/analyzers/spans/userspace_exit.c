// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The outer cycle: a vCPU thread of the VMM calls KVM_RUN, which returns when KVM needs the VMM (port I/O and
 * MMIO of emulated devices, above all). It is there on every backend, also where no tracepoint shows the exits.
 */
#include "pairing/analyzer.h"

const struct analyzer userspace_exit_analyzer = {
	.name = "userspace-exit",
	.summary = "how long the VMM takes to handle an exit",
	.begin = "kvm_userspace_exit",
	.end = "kvm_run",
	.mark = "kvm_userspace_exit", /* each of them was handled in userspace */
	.key = "tid",
	.by = "reason",
	.explanation =
		"a userspace exit lasts from the return of KVM_RUN to its next call in the same "
		"thread; exits handled within KVM are not counted",
};
