// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * QEMU's threads wait for work in event loops. The main loop's wait is where the machine is idle, unless the big
 * lock or a device holds it up elsewhere.
 */
#include "pairing/analyzer.h"

const struct analyzer aio_poll_analyzer = {
	.name = "aio-poll",
	.summary = "how long an event loop of QEMU sleeps",
	.begin = "qemu_poll",
	.end = "qemu_poll_done",
	.key = "tid",
	.by = "tid",
	.explanation =
		"from the call of qemu_poll_ns() to its return; event loops that wait in epoll "
		"or io_uring are not counted; for busy polling, use "
		"pair:poll_begin,poll_end,tid",
};
