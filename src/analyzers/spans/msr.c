// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Model-specific registers are read and written all the time; those that KVM passes through do not exit. Recorded
 * are those that it intercepts: timers, the APIC in x2APIC mode, paravirtual clocks.
 */
#include "pairing/analyzer.h"

const struct analyzer msr_analyzer = {
	.name = "msr",
	.summary = "intercepted RDMSR and WRMSR",
	.begin = "kvm_msr",
	.by = "dir,msr",
	.fallback = {{"exit-msr", "MSR accesses are counted from kvm_exit"}},
};
