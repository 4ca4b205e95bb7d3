/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A guest's relation to the host, one row per vCPU and segment, each with its verification: the data of
 * `hostrace sync`. */
#ifndef HOSTRACE_ALIGN_ROWS_H
#define HOSTRACE_ALIGN_ROWS_H

#include "clock/align.h"

struct align_row {
	unsigned int vcpu;
	const char *method;
	uint64_t from_ns; /* start of the segment; 0: the first one */
	int64_t offset;	  /* guest ticks */
	int64_t offset_ns;
	double scale; /* guest ticks per host tick */
	double drift_ppb;
	int64_t error_ns;	  /* bound of every converted time */
	struct clock_proof proof; /* of the guest events in this segment */
	int64_t worst_ns;	  /* of the event furthest outside guest mode */
	uint64_t repaired;	  /* of the vCPU, in its first row: entries and exits that the host's recording lacks */
};

/*
 * Rows of all vCPUs; for a guest's trace only of vCPUs that have events. *ret is allocated. 0 or
 * -ENOMEM with the error message set.
 */
int align_rows(const struct align *a, const struct align_guest *g, struct align_row **ret,
	       size_t *ret_nr);

#endif
