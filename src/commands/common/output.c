// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Reports go to stdout, through a pager on a terminal, or to a file: written under a temporary name in the same
 * folder and renamed on success, so that a failed report never replaces a good one.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/replace.h"
#include "commands/common/command.h"
#include "commands/common/output.h"

static struct {
	const char *format, *file, *sort;
	uint64_t limit;
} given;

/* clang-format off */
const struct option_row output_options[] = {
	{'f', "format", OPT_TEXT, &given.format, "FORMAT", "text (default), json, ...: see the manual page"},
	{'o', "output", OPT_TEXT, &given.file,   "FILE",   "write the report to FILE (-: standard output)"},
	{0,   "limit",  OPT_U64,  &given.limit,  "N",      "at most N rows"},
	{0,   "sort",   OPT_TEXT, &given.sort,   "COLUMN", "sort by this column"},
	{0},
};
/* clang-format on */

/* clang-format off */
const struct option_row output_file_options[] = {
	{'f', "format", OPT_TEXT, &given.format, "FORMAT", "text (default), json, ...: see the manual page"},
	{'o', "output", OPT_TEXT, &given.file,   "FILE",   "write the report to FILE (-: standard output)"},
	{0,   "limit",  OPT_U64,  &given.limit,  "N",      "at most N rows"},
	{0},
};
/* clang-format on */

static bool format_known(const char *formats, const char *format)
{
	size_t len = strlen(format);

	for (const char *p = formats; *p; p += strcspn(p, " "), p += *p == ' ')
		if (strcspn(p, " ") == len && !strncmp(p, format, len))
			return true;
	return false;
}

/* A device or a pipe is written to; a file is replaced when the new one is complete. */
static int open_file(struct output *out)
{
	if (is_irreplaceable(out->path)) {
		out->file = fopen(out->path, "we");
		return out->file ? 0 : fail(-errno, "%s: %s", out->path, strerror(errno));
	}
	if (asprintf(&out->temporary, "%s.%d.tmp", out->path, (int)getpid()) < 0) {
		out->temporary = NULL;
		return fail(-ENOMEM, "out of memory");
	}
	unlink(out->temporary);
	out->file = fopen(out->temporary, "wxe");
	if (out->file)
		return 0;
	int err = fail(-errno, "%s: %s", out->path, strerror(errno));

	free(take_ptr(out->temporary));
	return err;
}

static FILE *open_pager(void)
{
	const char *name = getenv("HOSTRACE_PAGER");

	if (!name)
		name = getenv("PAGER");
	if (!name)
		name = "less";
	if (common.no_pager || !*name || !strcmp(name, "cat"))
		return NULL;
	setenv("LESS", "FRX", 0);
	fflush(stdout);
	return popen(name, "w");
}

static int terminal_width(FILE *f)
{
	struct winsize size;
	const char *columns = getenv("COLUMNS");

	if (columns && atoi(columns) >= 40)
		return atoi(columns);
	if (isatty(fileno(f)) && !ioctl(fileno(f), TIOCGWINSZ, &size) && size.ws_col >= 40)
		return size.ws_col;
	return 80;
}

bool output_is(const char *format)
{
	return !strcmp(given.format ? given.format : "text", format);
}

const char *output_file(void)
{
	return given.file;
}

int output_open(const char *formats, struct output *ret)
{
	const char *format = given.format ? given.format : "text";

	if (!format_known(formats, format))
		return fail_usage(-EINVAL, "format '%s' is not supported (supported: %s)", format,
				  formats);
	*ret = (struct output){
		.file = stdout, .format = format, .limit = given.limit, .sort = given.sort};
	if (given.file && strcmp(given.file, "-") && strcmp(given.file, "/dev/stdout")) {
		ret->path = given.file;
		return open_file(ret);
	}
	ret->color = color_wanted(stdout);
	ret->width = terminal_width(stdout);
	FILE *pager = isatty(STDOUT_FILENO) && !strcmp(format, "text") ? open_pager() : NULL;

	if (pager) {
		signal(SIGPIPE, SIG_IGN); /* the user may quit the pager early */
		ret->file = pager;
		ret->is_pager = true;
	}
	return 0;
}

static int close_file(struct output *out)
{
	bool bad = ferror(out->file);
	int err = 0;

	errno = 0;
	if (fclose(out->file) || bad)
		err = fail(-EIO, "%s: %s", out->path,
			   errno ? strerror(errno) : "could not be written");
	else if (rename(out->temporary, out->path))
		err = fail(-errno, "%s: %s", out->path, strerror(errno));
	if (err)
		unlink(out->temporary);
	free(take_ptr(out->temporary));
	return err;
}

int output_close(struct output *out)
{
	if (out->temporary)
		return close_file(out);
	errno = 0;
	int err = fflush(out->file) || ferror(out->file) ? (errno ? errno : EIO) : 0;

	if (out->is_pager) {
		pclose(out->file);
		return 0;
	}
	if (out->path)
		fclose(out->file);
	if (!err || err == EPIPE) /* the reader of a pipe has seen enough: `hostrace list | head` */
		return 0;
	return fail(-err, "%s: %s", out->path ? out->path : "stdout", strerror(err));
}

void output_cancel(struct output *out)
{
	if (out->is_pager)
		pclose(out->file);
	else if (out->path)
		fclose(out->file);
	if (out->temporary) {
		unlink(out->temporary);
		free(take_ptr(out->temporary));
	}
}
