/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a trace holds: VMs, events, losses, clocks, probes. The report of `hostrace info`. */
#ifndef HOSTRACE_OUTPUT_INFO_REPORT_H
#define HOSTRACE_OUTPUT_INFO_REPORT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include "input/input_set.h"

/*
 * The filter to open the inputs with if no time window and no other filter applies: the events that must be read. arg:
 * bool, whether the VMs must be found in events, because the inputs do not list them.
 */
bool info_report_wants(const char *event, void *arg);

/*
 * Reads the inputs to their end and returns the object "result" of the JSON output, a new reference; NULL with the
 * error message set.
 */
json_t *info_report_make(const struct input_set *in);

/* The same as text, without what every report says of its inputs. */
void info_report_text(const struct input_set *in, const json_t *result, FILE *f);

#endif
