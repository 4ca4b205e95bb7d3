// SPDX-License-Identifier: GPL-2.0-or-later
/* Every analyzer, in the order of the manual. To add one, add its file to this folder and a line here. */

#include "pairing/analyzer.h"

/* clang-format off */
#define ANALYZERS(ANALYZER) \
	ANALYZER(exit_latency) \
	ANALYZER(userspace_exit) \
	ANALYZER(run_length) \
	ANALYZER(pio) \
	ANALYZER(mmio) \
	ANALYZER(msr) \
	ANALYZER(virtqueue) \
	ANALYZER(virtio_kick) \
	ANALYZER(halt_poll) \
	ANALYZER(irq_inject) \
	ANALYZER(sched_out) \
	ANALYZER(qemu_pio) \
	ANALYZER(exit_pio) \
	ANALYZER(exit_msr) \
	ANALYZER(exit_mmio) \
	ANALYZER(bql_wait) \
	ANALYZER(bql_hold) \
	ANALYZER(block) \
	ANALYZER(aio_poll)
/* clang-format on */

#define DECLARE(name) extern const struct analyzer name##_analyzer;
ANALYZERS(DECLARE)

#define LIST(name) &name##_analyzer,
const struct analyzer *const analyzers[] = {ANALYZERS(LIST) NULL};
