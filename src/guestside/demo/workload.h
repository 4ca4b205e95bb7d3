/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The demo's workload: what the guest does, known to both sides. The guest (freestanding, 32 bits)
 * does it, `hostrace demo` makes the disk image for it and compares what was recorded with it.
 *
 * The counts may be changed on the guest's command line ("reads=100 outb=5"); these are the
 * defaults.
 */
#ifndef HOSTRACE_WORKLOAD_H
#define HOSTRACE_WORKLOAD_H

#include <stdint.h>

enum {
	WORK_READS = 1000,
	WORK_WRITES = 500,
	WORK_OUTB = 23,
	WORK_INB = 17,
	WORK_OUTSB = 64, /* elements of one `rep outsb` */
	WORK_INSB = 0,	 /* elements of one `rep insb` */
	WORK_MMIO = 29,	 /* 32-bit reads of WORK_MMIO_ADDR */
	WORK_HLT = 12,	 /* halts, each ended by one timer interrupt */
	WORK_LEAK = 0,	 /* requests for a disk that never answers */
};

/*
 * Ports that no device of QEMU's pc and q35 machines decodes and that neither SeaBIOS nor Linux
 * probes (`info mtree` shows the first, reading 0xff the second).
 */
enum {
	WORK_PORT = 0x2f0,
	WORK_STRING_PORT = 0x2d0,
	WORK_EXIT_PORT = 0xf4, /* isa-debug-exit: QEMU ends with status 2 * value + 1 */
};

/*
 * The HPET's capability register: emulated by QEMU, and nobody but us reads it once the firmware is
 * done.
 */
#define WORK_MMIO_ADDR 0xfed00000u

enum {
	WORK_EXIT_PASSED = 0x10,
	WORK_EXIT_FAILED = 0x11,
	WORK_STATUS_PASSED = 2 * WORK_EXIT_PASSED + 1, /* exit status of the QEMU process */
};

/* The disks, by PCI slot on bus 0. */
enum {
	WORK_DISK_SLOT = 4,
	WORK_SLOW_SLOT = 5,
};

enum {
	WORK_SECTOR = 512,
	WORK_DISK_SECTORS = 4096,   /* 2 MiB; requests k goes to sector k % WORK_DISK_SECTORS */
	WORK_SLOW_BYTES = 64 << 10, /* of one request to the slow disk; its first one drains the
				       throttle's bucket */
};

/* Word `word` of sector `sector`: version 0 as in the image, 1 as the guest writes it. */
static inline uint32_t work_word(uint32_t sector, uint32_t word, uint32_t version)
{
	return (sector + 1) * 2654435761u + word * 40503u + version * 0x5bd1e995u;
}

#endif
