/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Boots of VMs, as a report: `hostrace boot`. */
#ifndef HOSTRACE_BOOT_REPORT_H
#define HOSTRACE_BOOT_REPORT_H

#include <stdio.h>

#include "analyzers/boot/boot.h"
#include "output/table.h"

enum boot_by { BOOT_BY_VM, BOOT_BY_PHASE, BOOT_BY_POINT };

/* Of a traceparent (www.w3.org/TR/trace-context): identifiers in hexadecimal; "": none. */
struct trace_parent {
	char trace[33], span[17];
};

struct boot_report {
	const struct boot_vm **boot;
	size_t nr;
	const struct boot_marker *marker;
	unsigned int nr_markers;
	const struct vm_names *vms; /* NULL: there is one */
	struct boot_notes notes;
	struct trace_parent parent; /* for boot_otlp_write() */
};

extern const struct table_def boot_table, boot_phases_table, boot_points_table;

/* 0 or -ENOMEM with the error message set. */
int boot_report_rows(const struct boot_report *r, enum boot_by by, struct table *t);

const char *boot_phase_name(const struct boot_report *r, unsigned int phase);

/* Of one that was seen. */
uint64_t boot_phase_end(const struct boot_vm *vm, unsigned int phase);

/* realtime_ns: from the events' times to CLOCK_REALTIME. 0, or -errno with the error message set. */
int boot_otlp_write(const struct boot_report *r, int64_t realtime_ns, FILE *out);

/* 0, or -EINVAL with the error message set. */
int trace_parent_parse(const char *text, struct trace_parent *ret);

/* What limits the figures: an array, a new reference. */
json_t *boot_report_caveats(const struct boot_report *r);

#endif
