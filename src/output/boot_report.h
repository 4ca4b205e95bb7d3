/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Boots of VMs, as a report: `hostrace boot`. */
#ifndef HOSTRACE_BOOT_REPORT_H
#define HOSTRACE_BOOT_REPORT_H

#include "analyzers/boot/boot.h"
#include "output/table.h"

enum boot_by { BOOT_BY_VM, BOOT_BY_PHASE, BOOT_BY_POINT };

struct boot_report {
	const struct boot_vm **boot;
	size_t nr;
	const struct boot_marker *marker;
	unsigned int nr_markers;
	const struct vm_names *vms; /* NULL: there is one */
	struct boot_notes notes;
};

extern const struct table_def boot_table, boot_phases_table, boot_points_table;

/* 0 or -ENOMEM with the error message set. */
int boot_report_rows(const struct boot_report *r, enum boot_by by, struct table *t);

/* What limits the figures: an array, a new reference. */
json_t *boot_report_caveats(const struct boot_report *r);

#endif
