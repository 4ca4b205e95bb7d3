/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What every report says of its inputs: files, clock, losses, notes. */
#ifndef HOSTRACE_REPORTS_HEAD_H
#define HOSTRACE_REPORTS_HEAD_H

#include <jansson.h>

#include "input/input_set.h"
#include "output/report.h"

/*
 * {"hostrace":{"version","command"},"inputs":[{"file","kind","events","lost"}],"clock":{...},"caveats":[..]} of an
 * input set that was read to its end. New reference. Adds `more` (array of texts, borrowed, may be NULL) to the
 * caveats.
 */
json_t *inputs_head(const struct input_set *set, const char *command, const json_t *more);

/*
 * Prints the same to `file` as comment lines under a text report: losses, caveats, clock; nothing if there is nothing,
 * or no notes are wanted.
 */
void inputs_foot(const struct input_set *set, const json_t *more, const struct output *out,
		 FILE *file);

/* A report of an open input set, with the head and foot of every report; `command` is borrowed. */
struct report report_of_inputs(const struct input_set *in, const char *command,
			       const struct output *out);

#endif
