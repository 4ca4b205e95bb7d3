/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What commands share that read traces and answer with a report: its surroundings, and how it ends. */
#ifndef HOSTRACE_COMMANDS_REPORTS_H
#define HOSTRACE_COMMANDS_REPORTS_H

#include "output/report.h"

/* A report of what reading_open() opened: the head and the foot that all have; -v shows all columns. */
struct report report_of(const struct reader *r, const struct output *out);

/*
 * Closes the output, or throws it away if err (-errno with the sentence set). Returns the exit status: EXIT_FOUND if
 * the command found what it checks for, or --strict and events were lost. `r` may be NULL if err.
 */
int report_end(int err, struct output *out, const struct reader *r, bool found);

#endif
