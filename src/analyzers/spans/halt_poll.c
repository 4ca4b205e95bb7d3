// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A vCPU that halts is not put to sleep at once: KVM polls for a while, since a wake-up costs more than a short wait
 * (Documentation/virt/kvm/halt-polling.rst). One event at the end has the duration and which of the two it was.
 */
#include "pairing/analyzer.h"

const struct analyzer halt_poll_analyzer = {
	.name = "halt-poll",
	.summary = "how long a halted vCPU polled or slept",
	.begin = "kvm_vcpu_wakeup",
	.duration = "ns",
	.by = "waited",
	.caveat = "waited=1: the vCPU slept; waited=0: halt polling saw the wake-up",
};
