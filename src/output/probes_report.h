/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The table of `hostrace probes`. */
#ifndef HOSTRACE_PROBES_REPORT_H
#define HOSTRACE_PROBES_REPORT_H

#include "output/report.h"

struct probe_row {
	const char *probe, *how;
	const char *event, *file, *reason; /* NULL: none */
	uint64_t count;
	uint32_t sites, counted;
};

extern const struct table_def probes_table;

#endif
