// SPDX-License-Identifier: GPL-2.0-or-later
/* Each in and out of a guest is an exit. Old hardware talks so: serial ports, PCI configuration, IDE, ACPI. */
#include "pairing/analyzer.h"

const struct analyzer pio_analyzer = {
	.name = "pio",
	.summary = "port I/O: the guest's in and out",
	.begin = "kvm_pio",
	.by = "dir,port,size",
	.weight = "count",
	.size = "size",
	.caveat =
		"in and out are what QEMU's probes cpu_in and cpu_out told before they fell silent "
		"(QEMU 1.7, 2.4); a string I/O of N counts N",
	.fallback = "qemu-pio",
};
