// SPDX-License-Identifier: GPL-2.0-or-later
/* The storage and rows of the input options, what they exclude of each other, and the input set that they describe. */
#include <errno.h>

#include "base/error.h"
#include "clock/align.h"
#include "commands/common/command.h"
#include "commands/common/confined.h"
#include "commands/common/input.h"
#include "commands/common/output.h"
#include "commands/common/symbol_options.h"
#include "symbols/module_names.h"

struct input_options input_given;

/* clang-format off */
const struct option_row input_rows[] = {
	{'i', "input",  OPT_LIST,     &input_given.files,    "FILE", "trace to read (default hostrace.hrt); repeatable"},
	{0,   "guest",  OPT_LIST,     &input_given.guests,   "FILE", "a guest's own trace to merge"},
	{0,   "no-guest", OPT_FLAG,   &input_given.no_guest, NULL,   "ignore the guest trace saved by 'record --guest'"},
	{0,   "clock",  OPT_TEXT,     &input_given.clock,    "HOW",  "align the guest's clock by read, fit or OFFSET[,SCALE]"},
	{0,   "tsc-khz", OPT_U64,     &input_given.tsc_khz,  "KHZ",  "frequency of the host's TSC, for a trace in TSC ticks that does not show it"},
	{0,   "since",  OPT_TIME,     &input_given.since,    "TIME", "start of the time window: relative to the trace's start, "
								     "or absolute if larger than its span"},
	{0,   "until",  OPT_TIME,     &input_given.until,    "TIME", "end of the time window"},
	{0,   "period", OPT_TIME,     &input_given.period,   "TIME", "length of the time window, from --since or up to --until"},
	{0,   "vm",     OPT_LIST,     &input_given.vms,      "VM[,VM]", "only these VMs: PID, NAME, UUID or GLOB"},
	{0,   "vcpu",   OPT_NUMBERS,  &input_given.vcpus,    "N[-M][,N]", "only these vCPUs"},
	{0,   "tid",    OPT_NUMBERS,  &input_given.tids,     "N[-M][,N]", "only these threads"},
	{0,   "event",  OPT_LIST,     &input_given.globs,    "GLOB[,GLOB]", "only events whose names match"},
	{0,   "reason", OPT_LIST,     &input_given.reasons,  "GLOB[,GLOB]", "only exits for these reasons, and the events up to "
									    "the next entry"},
	{0,   "strict", OPT_FLAG,     &input_given.strict,   NULL,   "exit with status 3 if events were lost, or a file is truncated"},
	{0},
};
const struct option_row where_rows[] = {
	{0,   "where",  OPT_TEXT,     &input_given.where,    "CONDITION", "only events, spans or rows that the condition holds for, such as 'reason == \"io\" && ns > 1ms' (doc/filters.md)"},
	{0},
};
/* clang-format on */

static int spool_list(struct text_list *list)
{
	int err = 0;

	for (unsigned int i = 0; i < list->nr && !err; i++)
		err = input_spool(&list->item[i], SPOOL_BYTES_MAX);
	return err;
}

/* It is read as it comes. */
static int follow_check(int argc, char **argv)
{
	const char **path = argc ? (const char **)&argv[0] : &input_given.files.item[0];

	if (input_given.files.nr + (unsigned int)argc > 1)
		return fail_usage(-EINVAL, "only one input can be followed");
	if ((argc || input_given.files.nr) && !strcmp(*path, "-"))
		*path = "/dev/stdin";
	return 0;
}

int input_spool_all(int argc, char **argv)
{
	int err;

	if (input_given.follow)
		return follow_check(argc, argv);
	err = spool_list(&input_given.files);
	if (!err)
		err = spool_list(&input_given.guests);
	for (int i = 0; i < argc && !err; i++)
		err = input_spool((const char **)&argv[i], SPOOL_BYTES_MAX);
	return err;
}

void input_add_file(const char *path)
{
	struct text_list *files = &input_given.files;

	if (files->nr < OPTION_LIST_MAX)
		files->item[files->nr++] = path;
}

int input_add_args(int argc, char **argv, int max)
{
	if (argc > max)
		return fail_usage(-EINVAL,
				  max ? "more than %d file%s"
				      : "unexpected argument; name inputs with -i",
				  max, max == 1 ? "" : "s");
	for (int i = 0; i < argc; i++)
		input_add_file(argv[i]);
	return align_clock_check(input_given.clock);
}

static int check_output(const char *output, const char *input)
{
	if (!input || !is_same_file(output, input))
		return 0;
	return fail_hint(fail(-EEXIST, "%s is an input and would be overwritten", input),
			 "select another name with -o");
}

int input_check_output(const char *output)
{
	struct symbols_options symbols = symbols_given();
	char module[PATH_MAX];
	int err = check_output(output, symbols.map);

	if (!err)
		err = check_output(output, symbols.elf);
	for (unsigned int i = 0; i < symbols.modules->nr && !err; i++)
		err = check_output(output,
				   module_file(symbols.modules->item[i], module, sizeof(module)));
	if (!err && !input_given.files.nr)
		err = check_output(output, INPUT_DEFAULT);
	for (unsigned int i = 0; i < input_given.files.nr && !err; i++)
		err = check_output(output, input_given.files.item[i]);
	for (unsigned int i = 0; i < input_given.guests.nr && !err; i++)
		err = check_output(output, input_given.guests.item[i]);
	return err;
}

enum { TSC_KHZ_END = 1000000000 }; /* the readers take a rate of 1 THz for none */

/* Options that have no effect with these inputs. */
static int options_check(bool with_guests, const struct input_set *set)
{
	if (!input_given.tsc_khz && options_unused_check("tsc-khz", "with a rate of 0"))
		return -EINVAL;
	if (input_given.tsc_khz >= TSC_KHZ_END)
		return fail_usage(-EINVAL, "--tsc-khz: it must be from 1 to %d", TSC_KHZ_END - 1);
	if (input_given.no_guest && !with_guests)
		return fail_usage(-EINVAL, "--no-guest has no effect: this command merges no guest "
					   "trace by itself");
	if (input_given.clock && !set->nr_guests)
		return fail_usage(-EINVAL, "--clock has no effect without a guest trace (--guest)");
	return 0;
}

int input_make(bool with_guests, struct input_set **ret)
{
	int err = command_confine(output_file());

	if (!err)
		err = input_set_new(&input_given, ret);
	if (!err && with_guests)
		input_set_add_companions(*ret, command_note);
	if (!err)
		err = options_check(with_guests, *ret);
	if (err || !with_guests)
		return err;
	for (unsigned int i = 0; i < (*ret)->nr_companions && !err; i++) {
		command_note("%s, the guest's own trace, is merged (disable with --no-guest)",
			     (*ret)->companion[i]);
		if (output_file())
			err = check_output(output_file(), (*ret)->companion[i]);
	}
	return err;
}
