// SPDX-License-Identifier: GPL-2.0-or-later
/* convert-dump, with the messages of OSv's tool. */

#include "base/new_file.h"
#include "commands/common/command.h"
#include "commands/common/confined.h"
#include "commands/common/input.h"
#include "readers/osv/osv.h"

static const char *dump_file = "buffers";

/* clang-format off */
static const struct option_row dump_options[] = {
	{'f', "dumpfile", OPT_TEXT, &dump_file,  "FILE", "OSVT dump to convert (default buffers)"},
	{0},
};
/* clang-format on */

static int convert_to(struct sample_trace *t, const char *to)
{
	struct new_file f;
	int err = new_file_open(&f, to, false);

	return err ? err : new_file_close(&f, osv_convert(t, f.file));
}

static int run_convert_dump(int argc, char **argv)
{
	const char *to = argc ? argv[0] : "tracefile";
	struct sample_trace *t = NULL;
	int err = 0;

	if (argc > 1)
		return command_usage("more than one file");
	if (access(dump_file, R_OK)) {
		printf("error: %s not found\n", dump_file);
		return EXIT_FAILED;
	}
	printf("Converting dump %s -> %s\n", dump_file, to);
	fflush(stdout);
	input_add_file(dump_file);
	err = command_confine(to);
	if (!err)
		err = osv_open(dump_file, NULL, &t);
	if (!err)
		err = convert_to(t, to);
	sample_trace_close(t);
	return err ? command_failed() : EXIT_FINE;
}

static const struct option_row *const options[] = {dump_options, NULL};

const struct command convert_dump_command = {
	.name = "convert-dump",
	.args = "[FILE...]",
	.summary = "Convert an OSVT dump (GET /trace/buffers) to a tracefile.",
	.group = "OSv guests",
	.details = "hostrace reads dumps directly; the conversion is for other tools.",
	.examples = "  hostrace convert-dump -f buffers tracefile",
	.options = options,
	.run = run_convert_dump,
};
