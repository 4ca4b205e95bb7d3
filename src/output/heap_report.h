/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a VMM allocated and did not free, as a report: `hostrace heap`. */
#ifndef HOSTRACE_HEAP_REPORT_H
#define HOSTRACE_HEAP_REPORT_H

#include <stdio.h>

#include "analyzers/heap/heap.h"
#include "output/table.h"

extern const struct table_def heap_table, heap_functions_table, heap_mismatches_table;

struct heap_report {
	const struct vm_names *vms; /* NULL: there is one VM */
	bool whole;		    /* text: whole stacks, not only their innermost functions */
};

/* The rows of heap_rows(): by stack, or by function. 0 or -ENOMEM with the error message set. */
int heap_report_rows(const struct heap_report *r, bool by_stack, const struct heap_row *row,
		     size_t nr, struct table *t);
int heap_report_mismatches(const struct heap_report *r, const struct heap_mismatch_row *row,
			   size_t nr, struct table *t);

/* Lines "outermost;...;innermost;FUNCTION BYTES" of what is not freed. */
void heap_report_fold(const struct heap_row *row, size_t nr, FILE *out);

/* {"totals": {...}}; what limits the figures: an array. New references. */
json_t *heap_report_totals(const struct heap_notes *n);
json_t *heap_report_caveats(const struct heap_notes *n);

/* The totals as a line of text; buf has at least 160 bytes. Returns it. */
const char *heap_report_line(const struct heap_notes *n, char *buf, size_t size);

#endif
