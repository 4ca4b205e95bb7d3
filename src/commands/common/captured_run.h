/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Runs a report's command within this process, once or often, for libhostrace and `hostrace mcp`. */
#ifndef HOSTRACE_CAPTURED_RUN_H
#define HOSTRACE_CAPTURED_RUN_H

#include "output/capture.h"
#include "commands/common/command.h"

/*
 * Runs it as `hostrace NAME -i PATH -f FORMAT WORD...` with the options and arguments of its command line. The
 * storage of options is afterwards as it was before. Options that record, follow a file, start programs or write
 * files are errors, and with to->only those that name files, and arguments that are none of these files; but what a
 * command takes before its files, and a query, may be any text. `words` ends with NULL. Returns the exit status;
 * `to`, zeroed at first but for `only` and `stop`, has the answer, if it is complete, and the error message. To be
 * freed by capture_free() in any case.
 */
int command_run_captured(const struct command *c, const char *path, const char *format,
			 const char *const *words, struct capture *to);

/*
 * Can the option be given to a captured run of the command, and has it an effect there? `only`: no file may be named
 * but the inputs.
 */
bool captured_option_is_possible(const struct command *c, const struct option_row *o, bool only);

#endif
