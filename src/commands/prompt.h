/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Lines of a terminal: with editing and a history of this run where hostrace is built with libreadline. */
#ifndef HOSTRACE_COMMANDS_PROMPT_H
#define HOSTRACE_COMMANDS_PROMPT_H

/* Before the process is confined: reads the terminal's description and ~/.inputrc. */
void prompt_begin(void);

/* The next line without its end, owned by the caller; NULL: there is none. */
char *prompt_line(const char *prompt);

/* Adds it to the history. */
void prompt_remember(const char *text);

#endif
