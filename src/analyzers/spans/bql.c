// SPDX-License-Identifier: GPL-2.0-or-later
/* QEMU's big lock (BQL): every userspace exit acquires it, and so does the main loop. */
#include "pairing/analyzer.h"

const struct analyzer bql_wait_analyzer = {
	.name = "bql-wait",
	.summary = "how long a thread waits for QEMU's big lock",
	.begin = "bql_lock",
	.end = "bql_locked",
	.key = "tid",
	.by = "tid",
	.caveat = "from the call of bql_lock() to its return; about 17 us of each wait are the "
		  "time of the two probes, which also make the lock contended more often; "
		  "'hostrace blame' finds waits without probes",
};

const struct analyzer bql_hold_analyzer = {
	.name = "bql-hold",
	.summary = "how long a thread holds QEMU's big lock",
	.begin = "bql_locked",
	.end = "bql_unlock",
	.key = "tid",
	.by = "tid",
	.caveat = "a thread that releases the lock to wait for a condition (a stopped vCPU) is "
		  "counted as holding it; the probes prolong each hold",
};
