/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a VM that hangs waits for, as a report: `hostrace stuck`. */
#ifndef HOSTRACE_STUCK_REPORT_H
#define HOSTRACE_STUCK_REPORT_H

#include "analyzers/stuck/stuck.h"
#include "output/table.h"

extern const struct table_def stuck_requests_table;

/* A row is a request. 0 or -ENOMEM with the error message set. */
int stuck_table(const struct stuck_report *r, struct table *t);

/* Text: the findings, above the table; and vCPUs and threads, below it. */
void stuck_findings_print(const struct stuck_report *r, FILE *f);
void stuck_threads_print(const struct stuck_report *r, FILE *f);

/* {"findings":[..],"vcpus":[..],"queues":[..],"threads":[..]}; new reference. */
json_t *stuck_json(const struct stuck_report *r);

/* What limits the report. */
void stuck_caveats(const struct stuck_report *r, json_t *caveats);

#endif
