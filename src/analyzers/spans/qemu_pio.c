// SPDX-License-Identifier: GPL-2.0-or-later
/* Port I/O as it arrives in QEMU: all of it under TCG, under KVM the accesses that KVM does not handle itself. */
#include "pairing/analyzer.h"

/* Where both are recorded kvm_pio has the same accesses and those that KVM handles itself. */
const struct analyzer qemu_pio_analyzer = {
	.name = "qemu-pio",
	.summary = "port I/O handled by QEMU",
	.begin = "qemu_pio",
	.by = "dir,port,size",
	.weight = "count",
	.size = "size",
	.explanation =
		"recorded in QEMU's memory functions: its probes cpu_in and cpu_out do not fire "
		"since QEMU 1.7 (KVM) and 2.4 (TCG); a string I/O of N counts as N",
};
