// SPDX-License-Identifier: GPL-2.0-or-later
/* A module of usdt_prog.c with USDT probes of its own: 7 hits of QEMU's, one of a library's. */
#include <sys/sdt.h>

void module_work(void);

void module_work(void)
{
	for (int i = 0; i < 7; i++)
		STAP_PROBE1(qemu, of_module, i);
	STAP_PROBE(spice, of_library);
}
