/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a trace holds: VMs, events, losses, clocks, probes. The report of `hostrace info`. */
#ifndef HOSTRACE_OUTPUT_INFO_REPORT_H
#define HOSTRACE_OUTPUT_INFO_REPORT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include "input/input_set.h"

/*
 * The filter to open the inputs with if no time window and no other filter applies: the events that must be read;
 * find_vms: those that show VMs as well, because the inputs do not list them.
 */
bool info_report_wants(const char *event, bool find_vms);

/* Of inputs that are open; receives each event. NULL with the error message set. */
struct info_summary;
struct info_summary *info_summary_new(const struct input_set *in);
void info_summary_event(struct info_summary *s, const struct event *ev);
void info_summary_free(struct info_summary *s);

/* Must all events be passed, as they are counted? Else those that info_report_wants() names. */
bool info_summary_counts(const struct info_summary *s);

/* After the last event: the object "result" of the JSON output. New reference. */
json_t *info_report_make(const struct info_summary *s, const struct input_set *in);

/* The same as text, without what every report says of its inputs. */
void info_report_text(const struct input_set *in, const json_t *result, FILE *f);

#endif
