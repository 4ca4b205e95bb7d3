// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A disk request in QEMU: a device (virtio-blk, ide, nvme) asks its block layer, which asks the file or the host's
 * device. The time between is the disk's latency as QEMU accounts for it.
 */
#include "pairing/analyzer.h"

const struct analyzer block_analyzer = {
	.name = "block",
	.summary = "how long QEMU's block layer takes for a device's request",
	.begin = "block_begin",
	.end = "block_end",
	.key = "cookie",
	.by = "type",
	.explanation =
		"from block_acct_start() to block_acct_done() or _failed(), the same interval "
		"as in QEMU's disk statistics (query-blockstats)",
};
