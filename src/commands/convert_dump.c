// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/replace.h"
#include "commands/common/command.h"
#include "readers/osv/osv_convert.h"

static const char *dump_file = "buffers";

/* clang-format off */
static const struct option_row dump_options[] = {
	{'f', "dumpfile", OPT_TEXT, &dump_file,  "FILE", "OSVT dump to convert (default buffers)"},
	{0},
};
/* clang-format on */

/* Written under another name and renamed, so that a failure does not leave a partial file. */
static int convert_to(struct sample_trace *t, const char *to)
{
	_cleanup_free_ char *temporary = NULL;

	int err = check_replaceable(to);

	if (err)
		return err;
	if (asprintf(&temporary, "%s.%d.tmp", to, (int)getpid()) < 0)
		return fail(-ENOMEM, "out of memory");
	FILE *f = fopen(temporary, "wxe");

	err = f ? osv_convert(t, f) : fail(-errno, "%s: %s", to, strerror(errno));

	if (f && fclose(f) && !err)
		err = fail(-EIO, "%s: write error", to);
	if (!err && rename(temporary, to))
		err = fail(-errno, "%s: %s", to, strerror(errno));
	if (err && f)
		unlink(temporary);
	return err;
}

static int run(int argc, char **argv, char **rest)
{
	const char *to = argc ? argv[0] : "tracefile";
	struct sample_trace *t = NULL;
	int err = 0;

	(void)rest;
	if (argc > 1)
		return command_usage("more than one file");
	if (access(dump_file, R_OK)) {
		printf("error: %s not found\n", dump_file);
		return EXIT_FAILED;
	}
	printf("Converting dump %s -> %s\n", dump_file, to);
	fflush(stdout);
	err = osv_open(dump_file, &t);
	if (!err)
		err = convert_to(t, to);
	sample_trace_close(t);
	return err ? command_failed() : EXIT_FINE;
}

static const struct option_row *const options[] = {dump_options, NULL};

const struct command convert_dump_command = {
	.name = "convert-dump",
	.args = "[FILE...]",
	.summary = "An OSVT dump (GET /trace/buffers) as a tracefile.",
	.group = "OSv guests",
	.details = "All commands read dumps directly; this is for other tools.",
	.examples = "  hostrace convert-dump -f buffers tracefile",
	.options = options,
	.run = run,
};
