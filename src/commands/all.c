// SPDX-License-Identifier: GPL-2.0-or-later
/* Every command, in the order of `hostrace --help`. A new one: its file here beside, and its two lines. */
#include <stddef.h>

#include "command.h"

const struct command *const commands[] = {
	NULL,
};
