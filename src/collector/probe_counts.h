/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How often each probe of a running QEMU is hit: all USDT probes of its executable and of its modules, and the
 * functions that stand in for those that this build lacks (probes/qemu.def, inside.def).
 *
 *	probe_counts_open()	finds them, attaches; counting begins
 *	probe_counts_hits()	in memory that BPF continues writing
 *	probe_counts_close()	detaches and frees
 */
#ifndef HOSTRACE_COLLECTOR_PROBE_COUNTS_H
#define HOSTRACE_COLLECTOR_PROBE_COUNTS_H

#include <stdbool.h>
#include <stdint.h>

#include "vm/vm.h"

enum {
	PROBE_COUNTS_MAX = 16384, /* probes of one VM; what exceeds this is counted */
	PROBE_SITES_MAX = 65536,
	PROBE_FILES_MAX = 64, /* files with probes: the executable and modules */
};

struct counted_probe {
	char name[64];	      /* of the USDT probe or the function; "": the event is absent */
	char file[64];	      /* that has it */
	const char *event;    /* the event that hostrace makes of it; NULL: none */
	bool usdt;	      /* a USDT probe, else a function's entry */
	bool in_exe;
	unsigned int sites;   /* in the file */
	unsigned int attached; /* ... of which are counted; 0: see reason */
	char reason[160];     /* why some are not */
};

struct probe_counts;

/*
 * filter: a glob of the probe's or the event's name; NULL: all. 0 or -errno with the error message set; -ENOENT: the
 * process has no probe of that name.
 */
int probe_counts_open(const struct vm *vm, const char *filter, struct probe_counts **ret);

unsigned int probe_counts_nr(const struct probe_counts *p);
const struct counted_probe *probe_counts_probe(const struct probe_counts *p, unsigned int i);
uint64_t probe_counts_hits(const struct probe_counts *p, unsigned int i);

/* Probes beyond PROBE_COUNTS_MAX or PROBE_SITES_MAX, and notes of USDT probes that could not be read. */
unsigned int probe_counts_left_out(const struct probe_counts *p);
unsigned int probe_counts_broken(const struct probe_counts *p);

/* From now on the counts stop changing. */
void probe_counts_stop(struct probe_counts *p);
void probe_counts_close(struct probe_counts *p);

#endif
