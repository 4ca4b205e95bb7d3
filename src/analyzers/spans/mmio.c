// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A read that KVM passes to the VMM has two events: "unsatisfied read" (type 0) when it starts
 * and "read" when the value is available (read_prepare() and vcpu_mmio_read() in arch/x86/kvm/x86.c).
 * Only the second counts.
 */
#include "pairing/analyzer.h"

const struct analyzer mmio_analyzer = {
	.name = "mmio",
	.summary = "emulated memory-mapped I/O",
	.begin = "kvm_mmio",
	.by = "dir,page,size",
	.size = "size",
	.skip_zero = "type",
	.explanation = "a read that exits to userspace is counted once, when it completes",
	.fallback = {{"exit-mmio", "MMIO is counted from kvm_exit"}},
};
