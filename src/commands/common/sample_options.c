// SPDX-License-Identifier: GPL-2.0-or-later
/* The options of the profiles and of what else came from OSv's trace.py: tables, and what they mean (osv.h). */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/units.h"
#include "commands/common/sample_run.h"
#include "commands/common/input.h"

bool compat_given, no_header_given;

static struct {
	bool debug, none, no_inlines, line, address, file, symbols_file;
	const char *elf, *map;
} symbols;
static bool backtrace, multiline;
static struct {
	bool caller;
	const char *group, *function, *min_duration, *min_hits;
	uint64_t max_levels;
} profile;

/* clang-format off */
const struct option_row compat_options[] = {
	{0, "compat", OPT_FLAG, &compat_given, NULL, "print what OSv's trace.py prints, its mistakes included"},
	{0},
};
const struct option_row profile_symbol_options[] = {
	{'d', "debug",            OPT_FLAG, &symbols.debug,        NULL,   "names from build/debug/loader.elf"},
	{'e', "exe",              OPT_TEXT, &symbols.elf,          "FILE", "names from this ELF file (of an OSv trace, default build/release/loader.elf)"},
	{0,   "symbols",          OPT_TEXT, &symbols.map,          "FILE", "names from a guest's kallsyms, System.map or ELF file"},
	{'x', "no-resolve",       OPT_FLAG, &symbols.none,         NULL,   "leave addresses"},
	{0,   "no-inlined-by",    OPT_FLAG, &symbols.no_inlines,   NULL,   "leave inlined functions out"},
	{'L', "show-line-number", OPT_FLAG, &symbols.line,         NULL,   "show line numbers"},
	{'A', "show-address",     OPT_FLAG, &symbols.address,      NULL,   "show addresses beside names"},
	{'F', "show-file-name",   OPT_FLAG, &symbols.file,         NULL,   "show file names"},
	{'S', "use-symbols-file", OPT_FLAG, &symbols.symbols_file, NULL,   "names from FILE.symbols beside an OSv trace"},
	{0},
};
const struct option_row sample_line_options[] = {
	{'b', "backtrace", OPT_FLAG, &backtrace, NULL, "show backtraces (OSv traces)"},
	{'l', "multiline", OPT_FLAG, &multiline, NULL, "with -b: a line per frame"},
	{0,   "no-header", OPT_FLAG, &no_header_given, NULL, "no line of headings (only wakeup-latency has one)"},
	{0},
};
const struct option_row profile_options[] = {
	{'r', "caller-oriented", OPT_FLAG, &profile.caller,       NULL,    "outermost frames first"},
	{'g', "group-by",        OPT_TEXT, &profile.group,        "WHAT",  "a tree each: thread, cpu or none (default)"},
	{0,   "function",        OPT_TEXT, &profile.function,     "NAME",  "paths begin at this function"},
	{0,   "min-duration",    OPT_TEXT, &profile.min_duration, "TIME",  "hide what took less; ns unless a unit is given"},
	{0,   "min-hits",        OPT_TEXT, &profile.min_hits,     "N|P%",  "hide what was hit less often"},
	{0,   "max-levels",      OPT_U64,  &profile.max_levels,   "N",     "at most so many levels; 0: all"},
	{0},
};
/* clang-format on */

const struct option_row symbols_options[] = {
	{0, "symbols", OPT_TEXT, &symbols.map, "FILE",
	 "names of addresses, from a guest's kallsyms, System.map or ELF file"},
	{'x', "no-resolve", OPT_FLAG, &symbols.none, NULL, "leave addresses"},
	{0},
};

struct symbols_options symbols_given(void)
{
	return (struct symbols_options){
		.none = symbols.none,
		.use_file = symbols.symbols_file,
		.no_inlines = symbols.no_inlines,
		.compat = compat_given,
		.map = symbols.map,
		.elf = symbols.elf     ? symbols.elf
		       : symbols.debug ? "build/debug/loader.elf"
				       : NULL,
	};
}

struct frames_options frames_given(void)
{
	return (struct frames_options){
		.show_line = symbols.line,
		.show_file = symbols.file,
		.show_address = symbols.address,
		.caller_oriented = profile.caller,
		.compat = compat_given,
		.function = profile.function,
	};
}

struct sample_line_options sample_line_given(void)
{
	return (struct sample_line_options){.backtrace = backtrace,
					    .multiline = multiline,
					    .compat = compat_given,
					    .symbols = symbols_given(),
					    .frames = frames_given()};
}

const char *osv_only_option(void)
{
	return compat_given	      ? "--compat"
	       : backtrace	      ? "--backtrace"
	       : multiline	      ? "--multiline"
	       : no_header_given      ? "--no-header"
	       : symbols.debug	      ? "--debug"
	       : symbols.no_inlines   ? "--no-inlined-by"
	       : symbols.line	      ? "--show-line-number"
	       : symbols.address      ? "--show-address"
	       : symbols.file	      ? "--show-file-name"
	       : symbols.symbols_file ? "--use-symbols-file"
				      : NULL;
}

/* ---- times ---- */

/* A time of 0 counts as not given, as in OSv's tool. */
int time_range_parse(const char *from, const char *to, const char *length, struct time_range *ret)
{
	double period_ns = 0;
	int err = 0;

	*ret = (struct time_range){0};
	if (from)
		err = parse_signed_duration(from, 1e9, &ret->since_ns);
	if (!err && to)
		err = parse_signed_duration(to, 1e9, &ret->until_ns);
	if (!err && length)
		err = parse_signed_duration(length, 1, &period_ns);
	if (err)
		return err;
	ret->has_since = from && (ret->since_ns != 0 || !compat_given);
	ret->has_until = to && ret->until_ns != 0;
	if (!length)
		return 0;
	if (ret->has_since && ret->has_until)
		return fail(-EINVAL, "--period cannot be used when both --since and --until are "
				     "specified");
	if (!ret->has_since && !ret->has_until)
		return fail(-EINVAL, "--period must be used with --since or --until specified");
	if (ret->has_since)
		ret->until_ns = ret->since_ns + period_ns;
	else
		ret->since_ns = ret->until_ns - period_ns;
	ret->has_since = ret->since_ns != 0 || !compat_given;
	ret->has_until = ret->until_ns != 0;
	return 0;
}

int time_range_given(struct time_range *ret)
{
	return time_range_parse(input_given.since.text, input_given.until.text,
				input_given.period.text, ret);
}

int time_range_wrong(void)
{
	if (!compat_given)
		return command_usage("%s", error_text());
	printf("Invalid arguments: %s\n", error_text());
	return EXIT_FINE;
}

/* ---- profiles ---- */

int min_hits_parse(const char *text, uint64_t *ret_hits, double *ret_percent)
{
	char *end;

	if (!text)
		return 0;
	size_t len = strlen(text);

	if (len && text[len - 1] == '%') {
		*ret_percent = strtod(text, &end);
		if (end == text + len - 1 && *ret_percent >= 0)
			return 0;
		return fail(-EINVAL, "--min-hits: invalid percentage '%s'", text);
	}
	return parse_u64(text, ret_hits)
		       ? fail(-EINVAL, "--min-hits: invalid number '%s'", text)
		       : 0;
}

int profile_given(struct profile_options *ret)
{
	static const char *const groups[] = {"none", "thread", "cpu"};
	int err =
		min_hits_parse(profile.min_hits, &ret->tree.min_hits, &ret->tree.min_hits_percent);

	if (!err && profile.min_duration)
		err = parse_signed_duration(profile.min_duration, 1, &ret->tree.min_time_ns);
	if (err)
		return err;
	ret->tree.max_levels = (unsigned int)profile.max_levels;
	ret->compat = compat_given;
	ret->symbols = symbols_given();
	ret->frames = frames_given();
	for (int i = 0; i < 3; i++)
		if (!profile.group || !strcmp(profile.group, groups[i])) {
			ret->group = (enum profile_group)i;
			return 0;
		}
	return fail(-EINVAL, "--group-by: '%s' is none of thread, cpu, none", profile.group);
}
