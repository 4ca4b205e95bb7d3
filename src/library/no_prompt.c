// SPDX-License-Identifier: GPL-2.0-or-later
/* The prompt of `hostrace sql` is none of the library's: a program that is linked to it does not get libreadline. */
#include <stddef.h>

#include "commands/prompt.h"

void prompt_begin(void)
{
}

char *prompt_line(const char *prompt)
{
	(void)prompt;
	return NULL;
}

void prompt_remember(const char *text)
{
	(void)text;
}
