// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A prompt. The history is that of this run: a confined process writes no file but its output. Nothing is completed, as
 * it reads no directory.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef HOSTRACE_READLINE
#include <readline/history.h>
#include <readline/readline.h>
#endif

#include "commands/prompt.h"

enum { HISTORY_LINES = 1000 };

#ifdef HOSTRACE_READLINE
void prompt_begin(void)
{
	rl_readline_name = "hostrace";
	rl_inhibit_completion = 1;
	rl_initialize();
	stifle_history(HISTORY_LINES);
}

char *prompt_line(const char *prompt)
{
	return readline(prompt);
}

void prompt_remember(const char *text)
{
	if (*text)
		add_history(text);
}
#else
void prompt_begin(void)
{
}

char *prompt_line(const char *prompt)
{
	char *line = NULL;
	size_t size;
	ssize_t len;

	fputs(prompt, stdout);
	fflush(stdout);
	len = getline(&line, &size, stdin);
	if (len > 0) {
		line[strcspn(line, "\n")] = 0;
		return line;
	}
	free(line);
	return NULL;
}

void prompt_remember(const char *text)
{
	(void)text;
}
#endif
