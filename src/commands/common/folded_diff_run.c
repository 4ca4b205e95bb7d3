// SPDX-License-Identifier: GPL-2.0-or-later
#include "commands/common/folded_diff_run.h"

#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "commands/common/command.h"
#include "commands/common/confined.h"
#include "commands/common/input.h"
#include "commands/common/output.h"
#include "output/flame_svg.h"
#include "output/samples/samples_output.h"

bool folded_diff_given;

const struct option_row folded_diff_options[] = {
	{0, "diff", OPT_FLAG, &folded_diff_given, NULL,
	 "of two recordings A and B: print folded stacks with both counts; -f svg: a flame graph "
	 "of what changed"},
	{0},
};

static int fold_one(const char *path, int (*fold)(void *arg, FILE *out), void *arg, char **ret)
{
	struct text_list files = input_given.files;
	size_t size;
	FILE *f = open_memstream(ret, &size);

	if (!f)
		return fail(-ENOMEM, "out of memory");
	input_given.files = (struct text_list){.item = {path}, .nr = 1};
	int err = fold(arg, f);

	input_given.files = files;
	if (!memstream_close(f, ret))
		err = fail(-ENOMEM, "out of memory");
	return err;
}

/* The lines with both counts, or their flame graph. */
static int diff_put(char *a, char *b, bool times, const struct output *out, uint64_t *ret_nr)
{
	struct flame_svg how = {
		.title = "Flame graph of what changed", .diff = true, .times = times};
	_cleanup_free_ char *folded = NULL, *about = NULL;
	size_t size;
	FILE *f;
	int err;

	if (strcmp(out->format, "svg") != 0)
		return folded_diff(a, b, out->file, ret_nr);
	if (asprintf(&about, "from %s to %s", input_given.files.item[0],
		     input_given.files.item[1]) < 0)
		return fail(-ENOMEM, "out of memory");
	how.about = about;
	f = open_memstream(&folded, &size);
	err = f ? folded_diff(a, b, f, ret_nr) : fail(-ENOMEM, "out of memory");
	if (f && !memstream_close(f, &folded) && !err)
		err = fail(-ENOMEM, "out of memory");
	return err ? err : flame_svg_put(folded, &how, out->file, ret_nr);
}

static int write_both(int (*fold)(void *arg, FILE *out), void *arg, bool times,
		      const struct output *out)
{
	_cleanup_free_ char *a = NULL, *b = NULL;
	uint64_t nr = 0;
	int err = command_confine(output_file());

	if (!err)
		err = fold_one(input_given.files.item[0], fold, arg, &a);
	if (!err)
		err = fold_one(input_given.files.item[1], fold, arg, &b);
	if (!err)
		err = diff_put(a, b, times, out, &nr);
	if (!err && !nr)
		command_note("neither recording has stacks");
	return err;
}

int folded_diff_run(int argc, char **argv, int (*fold)(void *arg, FILE *out), void *arg,
		    bool times)
{
	struct output out;

	if (input_add_args(argc, argv, OPTION_LIST_MAX))
		return command_usage("%s", error_text());
	if (input_given.files.nr != 2)
		return command_usage("--diff: expected two recordings, found %u",
				     input_given.files.nr);
	if (output_open("text folded svg", &out))
		return command_failed();
	output_unwrap(&out);
	int err = write_both(fold, arg, times, &out);

	if (err)
		output_cancel(&out);
	else
		err = output_close(&out);
	return err ? command_failed() : EXIT_FINE;
}
