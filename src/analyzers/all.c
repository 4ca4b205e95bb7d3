// SPDX-License-Identifier: GPL-2.0-or-later
/* Every analyzer, in the order of the manual. A new one: its file here beside, and its two lines.
 */
#include <stddef.h>

#include "analyzer.h"

extern const struct analyzer exit_latency_analyzer;
extern const struct analyzer userspace_exit_analyzer;
extern const struct analyzer run_length_analyzer;
extern const struct analyzer pio_analyzer;
extern const struct analyzer qemu_pio_analyzer;
extern const struct analyzer mmio_analyzer;
extern const struct analyzer msr_analyzer;
extern const struct analyzer virtqueue_analyzer;
extern const struct analyzer virtio_kick_analyzer;
extern const struct analyzer halt_poll_analyzer;
extern const struct analyzer irq_inject_analyzer;
extern const struct analyzer sched_out_analyzer;
extern const struct analyzer bql_wait_analyzer;
extern const struct analyzer bql_hold_analyzer;
extern const struct analyzer block_analyzer;
extern const struct analyzer aio_poll_analyzer;

const struct analyzer *const analyzers[] = {
	&exit_latency_analyzer, &userspace_exit_analyzer, &run_length_analyzer,
	&pio_analyzer,		&mmio_analyzer,		  &msr_analyzer,
	&virtqueue_analyzer,	&virtio_kick_analyzer,	  &halt_poll_analyzer,
	&irq_inject_analyzer,	&sched_out_analyzer,	  &qemu_pio_analyzer,
	&bql_wait_analyzer,	&bql_hold_analyzer,	  &block_analyzer,
	&aio_poll_analyzer,	NULL,
};
