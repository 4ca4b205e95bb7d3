/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What commands share that read traces and print a report. */
#ifndef HOSTRACE_COMMANDS_REPORTS_H
#define HOSTRACE_COMMANDS_REPORTS_H

#include "input/input_set.h"
#include "output/report.h"

/* A report of an open input set, with the head and foot of every report; -v shows all columns. */
struct report report_of(const struct input_set *in, const struct output *out);

/*
 * Closes the output, or discards it if err (-errno with the error message set). Returns the exit status: EXIT_FOUND if
 * the command found what it checks for, or if --strict was given and events were lost. `in` may be NULL if err.
 */
int report_end(int err, struct output *out, const struct input_set *in, bool found);

#endif
