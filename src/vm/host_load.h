/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the host itself did, by the kernel's counters: time of each CPU (/proc/stat), pages (/proc/vmstat), time for
 * which tasks waited (/proc/pressure), and how fast its CPUs may run (cpufreq).
 */
#ifndef HOSTRACE_HOST_LOAD_H
#define HOSTRACE_HOST_LOAD_H

#include <jansson.h>
#include <stdint.h>

#include "vm/reread.h"

enum { HOST_CPUS_MAX = 4096 };

/* Of a CPU, in ns. Busy: all that it was not idle, stolen time included. */
enum host_cpu_count { CPU_STOLEN, CPU_BUSY, CPU_IRQ, CPU_SOFTIRQ, CPU_COUNTS };

enum host_count {
	HOST_SWAPPED_IN, /* pages */
	HOST_SWAPPED_OUT,
	HOST_HUGE_SPLIT, /* huge pages that were split */
	HOST_CPU_WAITED, /* ns for which some task waited for a CPU, ... */
	HOST_IO_WAITED,
	HOST_MEMORY_WAITED,
	HOST_COUNTS
};

extern const char *const host_cpu_counts[CPU_COUNTS], *const host_counts[HOST_COUNTS];

struct host_load {
	struct reread stat, vmstat, pressure[3];
};

/* What cannot be read is 0. stays_open: as for reread_open(). */
void host_load_open(struct host_load *h, bool stays_open);
void host_load_close(struct host_load *h);

/* CPU_COUNTS numbers of each CPU; returns how many CPUs, at most HOST_CPUS_MAX. */
unsigned int host_cpus_read(const struct host_load *h, uint64_t *ret);

void host_counts_read(const struct host_load *h, uint64_t ret[HOST_COUNTS]);

/* {"khz", "limit_khz", "max_khz": [of each CPU]}: now, allowed, possible; NULL: not known. */
json_t *host_frequencies(unsigned int nr_cpus);

/* "some avg10=0.00 ... total=123": us, as ns; 0: not there. */
uint64_t pressure_ns(const char *text);

#endif
