/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What can be recorded on this host, and what is missing, as text and for programs: the report of `hostrace doctor`. */
#ifndef HOSTRACE_OUTPUT_DOCTOR_H
#define HOSTRACE_OUTPUT_DOCTOR_H

#include <jansson.h>
#include <stdbool.h>

#include "collector/collector.h"
#include "output/output.h"

/*
 * Prints the kernel's events from the first of the `nr` >= 1 reports. each_event: one line for each event instead of
 * one for each group.
 */
void doctor_text(const struct host_checks *host, const struct vm_report *reports, unsigned int nr,
		 bool each_event, const struct output *out);

/* Adds "result" and "rows". */
void doctor_json(const struct host_checks *host, const struct vm_report *reports, unsigned int nr,
		 json_t *answer);

#endif
