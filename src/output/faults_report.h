/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Faults of guest RAM by what backed them, as a report: `hostrace faults`. */
#ifndef HOSTRACE_FAULTS_REPORT_H
#define HOSTRACE_FAULTS_REPORT_H

#include "analyzers/faults/faults.h"
#include "output/table.h"

extern const struct table_def faults_table, faults_vcpu_table, faults_slot_table, faults_vma_table;

/* vms: NULL: there is one. 0 or -ENOMEM with the error message set. */
int faults_report_rows(const struct vm_names *vms, enum faults_by by, struct faults_row *const *row,
		       size_t nr, struct table *t);

/* What limits the figures: an array, a new reference. */
json_t *faults_report_caveats(const struct faults_notes *n);

#endif
