/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reports confine themselves before they read their inputs (confine/confine.h). */
#ifndef HOSTRACE_CONFINED_COMMAND_H
#define HOSTRACE_CONFINED_COMMAND_H

/*
 * From now on this process may read the inputs and symbol files of the options (input_rows, symbols_options), complete
 * `output` (may be NULL) and create temporary files. Further calls do nothing. -errno with the error message set.
 */
int command_confine(const char *output);

/* The same for two files, and the directory that was made for them and may be removed; each may be NULL. */
int command_confine_two(const char *output, const char *other, const char *made);

/* This command starts a program (tcpdump): user and capabilities are given up, but not system calls. */
void command_confine_starts_programs(void);

/* This command sends what it reads to a helper (base/helper.h), which it has started. */
void command_confine_sends(void);

/* This command edits lines of a terminal. */
void command_confine_terminal(void);

/* This command names a host's code, as those with profile_symbol_options do. */
void command_confine_reads_code(void);

#endif
