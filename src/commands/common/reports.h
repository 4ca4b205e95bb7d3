/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What commands share that read traces and print a report. */
#ifndef HOSTRACE_COMMANDS_REPORTS_H
#define HOSTRACE_COMMANDS_REPORTS_H

#include "input/input_set.h"
#include "output/report.h"
#include "reports/result.h"

/*
 * Runs a report for the command being run, with its options, and writes it in the format that is given, one of
 * `names`. Of the query `of` and `symbols` are set. Returns the exit status: EXIT_FOUND if `check` and the result
 * found something.
 */
int query_run(const struct report_ops *ops, struct query *query, const char *names, bool check);

/* Writes the folded stacks of a report for the command being run. 0 or -errno with the error message set. */
int query_fold(const struct report_ops *ops, const void *of, FILE *f);

/* `run` of a command that only runs a report: command_now says which. */
int report_command_run(int argc, char **argv);

#endif
