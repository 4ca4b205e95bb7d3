// SPDX-License-Identifier: GPL-2.0-or-later
/* Interrupts that KVM puts into a guest by hand. With posted interrupts (APICv, AVIC) the hardware does it unseen. */
#include "pairing/analyzer.h"

const struct analyzer irq_inject_analyzer = {
	.name = "irq-inject",
	.summary = "interrupts injected into the guest",
	.begin = "kvm_inj_virq",
	.by = "vector",
};
