// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer.h"

const struct analyzer halt_poll_analyzer = {
	.name = "halt-poll",
	.summary = "how long a halted vCPU polled or slept",
	.begin = "kvm_vcpu_wakeup",
	.duration = "ns",
	.by = "waited",
	.caveat = "waited=1: the vCPU slept; 0: halt polling caught the wake-up",
};
