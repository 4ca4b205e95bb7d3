// SPDX-License-Identifier: GPL-2.0-or-later
/* Interrupts that KVM injects in software. With posted interrupts (APICv, AVIC) the hardware injects them, without an
 * event. */
#include "pairing/analyzer.h"

const struct analyzer irq_inject_analyzer = {
	.name = "irq-inject",
	.summary = "interrupts injected into the guest",
	.begin = "kvm_inj_virq",
	.by = "vector",
};
