// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer.h"

/*
 * A read that KVM must hand to the VMM makes two events: "unsatisfied read" when it starts and
 * "read" when the value is there (read_prepare() and vcpu_mmio_read() in arch/x86/kvm/x86.c). Only
 * the second counts.
 */
static bool unsatisfied(const struct event *ev)
{
	const struct field *type = event_field(ev->type, "type");

	return type && !event_u64(ev, type);
}

const struct analyzer mmio_analyzer = {
	.name = "mmio",
	.summary = "emulated memory-mapped I/O",
	.begin = "kvm_mmio",
	.by = "dir,page,size",
	.size = "size",
	.skip = unsatisfied,
	.caveat = "a read that went to the VMM counts once, when it was answered",
};
