// SPDX-License-Identifier: GPL-2.0-or-later
/* Each in and out of a guest is an exit. Used by legacy hardware: serial ports, PCI configuration, IDE, ACPI. */
#include "pairing/analyzer.h"

const struct analyzer pio_analyzer = {
	.name = "pio",
	.summary = "port I/O: the guest's in and out",
	.begin = "kvm_pio",
	.by = "dir,port,size",
	.weight = "count",
	.size = "size",
	.explanation = "in and out are the accesses that QEMU's probes cpu_in and cpu_out reported "
		  "before QEMU 1.7 (KVM) and 2.4 (TCG); a string I/O of N counts as N",
	.fallback = {{"qemu-pio", NULL},
		     {"exit-pio", "port I/O is counted from kvm_exit"}},
};
