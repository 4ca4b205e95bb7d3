// SPDX-License-Identifier: GPL-2.0-or-later
/* Any trace that hostrace reads as a file of its own: smaller, indexed, read by columns. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "commands/common/command.h"
#include "commands/common/confined.h"
#include "commands/common/input.h"
#include "commands/common/output.h"
#include "input/convert.h"

static const char *output_path;
static bool zstd;

/* clang-format off */
static const struct option_row import_options[] = {
	{'o', "output", OPT_TEXT, &output_path, "FILE", "trace to write (default: the input's name with .hrt)"},
	{0,   "zstd",   OPT_FLAG, &zstd,        NULL,   "compress the trace with zstd"},
	{0},
};
/* clang-format on */

static const struct option_row *const options[] = {input_rows, import_options, NULL};

/* "dir/trace.txt" -> "dir/trace.hrt". NULL: out of memory. */
static char *default_path(const char *input)
{
	const char *slash = strrchr(input, '/'), *dot = strrchr(input, '.');
	int len = (int)(dot && dot > (slash ? slash + 1 : input) ? (size_t)(dot - input)
								 : strlen(input));
	char *path;

	return asprintf(&path, "%.*s.hrt", len, input) < 0 ? NULL : path;
}

static int cmd_import(int argc, char **argv)
{
	_cleanup_input_set_ struct input_set *in = NULL;
	_cleanup_free_ char *made = NULL;
	struct converted written = {0};
	struct trace_writer_options opt = {.whole = true, .sync = true};
	const char *path = output_path;

	opt.zstd = zstd;
	if (argc > 1)
		return command_usage("expected exactly one file");
	if (input_add_args(argc, argv, 1))
		return command_usage("%s", error_text());
	input_given.allow_ticks = true;
	if (!path)
		path = made = default_path(input_given.files.nr ? input_given.files.item[0]
								: INPUT_DEFAULT);
	command_progress();
	if (!path)
		fail(-ENOMEM, "out of memory");
	if (!path || input_check_output(path) || output_recording_check(path) ||
	    command_confine(path) || input_make(false, &in) || input_set_open(in, NULL, NULL))
		return command_failed();
	if (input_set_convert(in, path, &opt, 0, &written))
		return command_failed();
	const json_t *notes = in->reader->info.caveats;

	for (size_t i = 0; i < json_array_size(notes); i++)
		command_note("%s", json_string_value(json_array_get(notes, i)));
	if (written.flags)
		command_note("%" PRIu64 " events have latency flags, which are not kept: list them "
			     "from the original", written.flags);
	command_note("%s: %" PRIu64 " events", path, written.nr);
	return input_set_strict_failed(in) ? EXIT_FOUND : EXIT_FINE;
}

const struct command import_command = {
	.name = "import",
	.args = "FILE",
	.summary = "Convert a trace of any supported format to hostrace's own.",
	.group = "Convert",
	.examples = "  hostrace import trace.txt -o trace.hrt\n"
		    "  hostrace import vm.hrt --zstd -o small.hrt --since 1s --until 2s",
	.options = options,
	.run = cmd_import,
};
