// SPDX-License-Identifier: GPL-2.0-or-later
/* The list of report_commands.h. It is apart from that of all commands: libhostrace has no command that records. */
#include "commands/common/report_commands.h"

#include <stddef.h>
#include <string.h>

#define DECLARE(name) extern const struct command name##_command;
REPORT_COMMANDS(DECLARE)

#define LIST(name) &name##_command,
const struct command *const report_commands[] = {REPORT_COMMANDS(LIST) NULL};

const struct command *report_command_find(const char *name)
{
	for (const struct command *const *c = report_commands; *c; c++)
		if (!strcmp((*c)->name, name))
			return *c;
	return NULL;
}
