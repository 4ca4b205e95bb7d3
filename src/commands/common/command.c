// SPDX-License-Identifier: GPL-2.0-or-later
/* What all commands share: the options that each has, and how they print messages. */
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/limits.h"
#include "base/memory.h"
#include "base/progress.h"
#include "output/capture.h"
#include "commands/common/command.h"
#include "event/event.h"

struct common common;
const struct command *command_now;
char **command_rest;
const struct options_given *command_given;

/* clang-format off */
const struct option_row common_options[] = {
	{'h', "help",     OPT_FLAG, &common.help,     NULL,   "show this help"},
	{'q', "quiet",    OPT_FLAG, &common.quiet,    NULL,   "print no progress and no notes"},
	{0,   "notes",    OPT_FLAG, &common.notes,    NULL,   "print also what exactly is measured, below a report"},
	{'v', "verbose",  OPT_FLAG, &common.verbose,  NULL,   "print more details"},
	{0,   "color",    OPT_TEXT, &common.color,    "WHEN", "auto (default), always or never"},
	{0,   "no-pager", OPT_FLAG, &common.no_pager, NULL,   "do not use a pager"},
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

enum { ERROR_TEXT_BYTES = 1024, NOTE_BYTES = 8192, LIMIT_BYTES = 256 };

int command_failed(void)
{
	if (error_is_usage())
		return command_usage("%s", error_text());
	progress_end();

	char text[ERROR_TEXT_BYTES], limit[LIMIT_BYTES] = "";
	bool noted, memory;

	snprintf(text, sizeof(text), "%s", error_text());
	text_sanitize(text);
	noted = strstr(text, "out of memory") || strstr(text, strerror(ENOMEM));
	memory = noted || memory_failures(); /* libraries report it as something else */
	if (memory || strstr(text, strerror(-error_code())))
		limits_of_error(memory ? -ENOMEM : error_code(), limit, sizeof(limit));
	if (common.capture)
		capture_error(common.capture, "%s%s%s%s", text,
			      memory && !noted ? " (out of memory)" : "", *limit ? "; " : "",
			      limit);
	else
		fprintf(stderr, "hostrace: %s: %s%s%s%s\n", command_now->name, text,
			memory && !noted ? " (out of memory)" : "", *limit ? "; " : "", limit);
	return EXIT_FAILED;
}

void command_progress(void)
{
	if (!common.quiet && isatty(STDERR_FILENO))
		progress_begin(command_now->name);
}

/* The line that an error message is about, and a mark below the column. */
static void error_line_print(void)
{
	unsigned int column;
	const char *line = error_line(&column);
	char text[256];

	if (!line)
		return;
	snprintf(text, sizeof(text), "%s", line);
	text_sanitize(text);
	fprintf(stderr, "  %s\n  %*s\n", text, (int)column, "^");
}

int command_usage(const char *fmt, ...)
{
	const char *name = command_now ? command_now->name : "";
	char text[1024];
	bool is_last; /* the message of the last error */
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	is_last = !strcmp(text, error_text());
	text_sanitize(text);
	if (common.capture) {
		capture_error(common.capture, "%s", text);
		return EXIT_USAGE;
	}
	fprintf(stderr, "hostrace: %s%s%s", name, *name ? ": " : "", text);
	if (!*text || text[strlen(text) - 1] != '?') /* not after "did you mean ...?" */
		fprintf(stderr, "; see 'hostrace %s%s--help'", name, *name ? " " : "");
	fputc('\n', stderr);
	if (is_last)
		error_line_print();
	return EXIT_USAGE;
}

void command_note(const char *fmt, ...)
{
	char text[NOTE_BYTES];
	va_list ap;

	if (common.quiet)
		return;
	progress_line_erase();
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	text_sanitize(text); /* names of files, VMs and sources */
	if (common.capture) {
		capture_note(common.capture, text);
		return;
	}
	fprintf(stderr, "hostrace: %s\n", text);
}
