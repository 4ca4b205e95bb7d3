/* SPDX-License-Identifier: GPL-2.0-or-later */
/* System calls of threads, as a report: `hostrace syscalls`. */
#ifndef HOSTRACE_SYSCALLS_REPORT_H
#define HOSTRACE_SYSCALLS_REPORT_H

#include "analyzers/syscalls/syscalls.h"
#include "output/table.h"

extern const struct table_def syscalls_table, syscalls_threads_table;

/* vms: NULL: there is one. 0 or -ENOMEM with the error message set. */
int syscalls_report_rows(const struct vm_names *vms, bool by_tid, struct syscalls_row *const *row,
			 size_t nr, struct table *t);

/* What limits the figures: an array, a new reference. */
json_t *syscalls_report_caveats(const struct syscalls_notes *n);

#endif
