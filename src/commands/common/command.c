// SPDX-License-Identifier: GPL-2.0-or-later
/* What all commands share: the options that each has, and how they talk to people. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "commands/common/command.h"

struct common common;
const struct command *command_now;

/* clang-format off */
const struct option_row common_options[] = {
	{'h', "help",     OPT_FLAG, &common.help,     NULL,   "show this help"},
	{'q', "quiet",    OPT_FLAG, &common.quiet,    NULL,   "no progress, no notes"},
	{'v', "verbose",  OPT_FLAG, &common.verbose,  NULL,   "say more"},
	{0,   "color",    OPT_TEXT, &common.color,    "WHEN", "auto (default), always or never"},
	{0,   "no-pager", OPT_FLAG, &common.no_pager, NULL,   "do not page long output"},
	{0},
};
/* clang-format on */

bool color_wanted(FILE *out)
{
	const char *term = getenv("TERM"), *no = getenv("NO_COLOR");

	if (common.color && strcmp(common.color, "auto"))
		return !strcmp(common.color, "always");
	return isatty(fileno(out)) && !(no && *no) && term && strcmp(term, "dumb");
}

int command_failed(void)
{
	if (error_is_usage())
		return command_usage("%s", error_text());
	fprintf(stderr, "hostrace: %s: %s\n", command_now->name, error_text());
	return EXIT_FAILED;
}

int command_usage(const char *fmt, ...)
{
	va_list ap;

	fprintf(stderr, "hostrace: %s: ", command_now->name);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fprintf(stderr, "; see 'hostrace %s --help'\n", command_now->name);
	return EXIT_USAGE;
}

void command_note(const char *fmt, ...)
{
	va_list ap;

	if (common.quiet)
		return;
	fprintf(stderr, "hostrace: ");
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
}
