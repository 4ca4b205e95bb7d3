// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer.h"

const struct analyzer irq_inject_analyzer = {
	.name = "irq-inject",
	.summary = "interrupts injected into the guest",
	.begin = "kvm_inj_virq",
	.by = "vector",
};
