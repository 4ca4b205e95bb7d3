// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer.h"

const struct analyzer pio_analyzer = {
	.name = "pio",
	.summary = "port I/O: the guest's in and out",
	.begin = "kvm_pio",
	.by = "dir,port,size",
	.weight = "count",
	.size = "size",
	.caveat = "a string I/O of N counts N",
	.fallback = "qemu-pio",
};
