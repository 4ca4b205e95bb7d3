/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Virtqueue elements that were not returned, as a report: `hostrace leaks`. */
#ifndef HOSTRACE_ELEMENT_REPORT_H
#define HOSTRACE_ELEMENT_REPORT_H

#include "event/reader.h"
#include "output/table.h"
#include "pairing/elements.h"

struct vm_names;

/* {"totals": {...}}; new reference. The same as one line of text; buf has at least 256 bytes. */
json_t *element_totals_json(const struct element_totals *t);
void element_totals_print(const struct element_totals *t, char *buf, size_t size);

extern const struct table_def elements_table;

/* One row per outstanding element. `vms`: names, shown instead of pids; NULL: there is one VM. */
void element_table(const struct element *list, size_t nr, uint64_t start_ns,
		   const struct vm_names *vms, struct table *t);

/*
 * What limits these verdicts; info: of the recording, which knows what could not be probed, and when it began. An
 * array; new reference.
 */
json_t *element_caveats(const struct trace_info *info, const struct elements *e,
			const struct element_totals *t);

/* Why the trace has no elements: one of these. Also for the report on queues. */
void element_caveat_none(json_t *list, const struct trace_info *info);

/* Of these, what both this report and that of the queues have to say: which elements could not be followed. */
void element_caveats_unchecked(json_t *list, const struct element_totals *t);

#endif
