// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Model-specific registers are read and written all the time; those that KVM lets the guest have do not exit. What is
 * seen here is what it must intercept: timers, the APIC in x2APIC mode, paravirtual clocks.
 */
#include "pairing/analyzer.h"

const struct analyzer msr_analyzer = {
	.name = "msr",
	.summary = "intercepted RDMSR and WRMSR",
	.begin = "kvm_msr",
	.by = "dir,msr",
};
