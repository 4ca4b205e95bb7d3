/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The times for which VMs were stopped, with their phases, as a table: `hostrace downtime`. */
#ifndef HOSTRACE_DOWNTIME_REPORT_H
#define HOSTRACE_DOWNTIME_REPORT_H

#include "analyzers/downtime/downtime.h"
#include "event/vm_names.h"
#include "output/table.h"

struct downtime_report {
	struct downtime *downtime; /* after the last event */
	const struct vm_names *vms;	 /* borrowed */
	uint64_t start_ns;		 /* of the trace: seconds in text count from it */
	uint64_t since_ns, until_ns;	 /* the time window, or all of the recording */
	bool is_log; /* a log of QEMU's was read */
};

/* What limits these figures: an array; new reference. */
json_t *downtime_report_caveats(const struct downtime_report *r);

extern const struct table_def downtime_table;

/* A row is a stop. 0 or -ENOMEM with the error message set. */
int downtime_report_rows(const struct downtime_report *r, struct table *t);

#endif
