// SPDX-License-Identifier: GPL-2.0-or-later
/* --diff A B: the folded stacks of two recordings with both counts, or as a flame graph of what changed. */
#include "commands/common/folded_run.h"

#include <errno.h>

#include "base/error.h"
#include "base/memory.h"
#include "commands/common/command.h"
#include "commands/common/confined.h"
#include "commands/common/input.h"
#include "commands/common/output.h"
#include "output/folded.h"
#include "output/samples/samples_output.h"

bool folded_diff_given;

const struct option_row folded_diff_options[] = {
	{0, "diff", OPT_FLAG, &folded_diff_given, NULL,
	 "of two recordings A and B: print folded stacks with both counts; -f svg: a flame graph "
	 "of what changed"},
	{0},
};

/* ---- --diff ---- */

static int fold_one(const char *path, const struct folded *f, char **ret)
{
	struct text_list files = input_given.files;

	input_given.files = (struct text_list){.item = {path}, .nr = 1};
	int err = folded_text(f, ret);

	input_given.files = files;
	return err;
}

struct both {
	char *a, *b;
	uint64_t nr;
};

static int both_fold(void *arg, FILE *out)
{
	struct both *both = arg;

	return folded_diff(both->a, both->b, out, &both->nr);
}

/* The lines with both counts, or their flame graph. */
static int diff_put(struct both *both, bool times, const struct output *out)
{
	struct flame_svg how = {
		.title = "Flame graph of what changed", .diff = true, .times = times};
	_cleanup_free_ char *folded = NULL, *about = NULL;
	int err;

	if (strcmp(out->format, "svg") != 0)
		return both_fold(both, out->file);
	if (asprintf(&about, "from %s to %s", input_given.files.item[0],
		     input_given.files.item[1]) < 0)
		return fail(-ENOMEM, "out of memory");
	how.about = about;
	err = folded_text(&(const struct folded){both_fold, both}, &folded);
	return err ? err : flame_svg_put(folded, &how, out->file, &both->nr);
}

static int diff_write(const struct folded *f, const struct output *out)
{
	struct both both = {0};
	int err = command_confine(output_file());

	if (!err)
		err = fold_one(input_given.files.item[0], f, &both.a);
	if (!err)
		err = fold_one(input_given.files.item[1], f, &both.b);
	if (!err)
		err = diff_put(&both, f->times, out);
	if (!err && !both.nr)
		command_note("neither recording has stacks");
	free(both.a);
	free(both.b);
	return err;
}

int folded_diff_run(int argc, char **argv, const struct folded *f)
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
	return output_end(diff_write(f, &out), &out, false);
}
