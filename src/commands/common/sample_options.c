// SPDX-License-Identifier: GPL-2.0-or-later
/* The options of commands that work on samples. With --compat they mean what they do in trace.py. */
#include <errno.h>

#include "base/array.h"
#include "base/error.h"
#include "base/units.h"
#include "commands/common/input.h"
#include "commands/common/sample_options.h"

bool compat_given, no_header_given;

static bool backtrace, multiline;
static struct {
	bool caller;
	const char *group, *function, *min_duration, *min_hits, *sort;
	uint64_t max_levels;
} profile;

/* clang-format off */
const struct option_row compat_options[] = {
	{0, "compat", OPT_FLAG, &compat_given, NULL, "print exactly what OSv's trace.py prints, including its mistakes"},
	{0},
};
const struct option_row sample_line_options[] = {
	{'b', "backtrace", OPT_FLAG, &backtrace, NULL, "show backtraces (OSv traces)"},
	{'l', "multiline", OPT_FLAG, &multiline, NULL, "with -b: one line per frame"},
	{0,   "no-header", OPT_FLAG, &no_header_given, NULL, "do not print column headings (wakeup-latency only)"},
	{0},
};
const struct option_row profile_options[] = {
	{'r', "caller-oriented", OPT_FLAG, &profile.caller,       NULL,    "outermost frames first"},
	{'g', "group-by",        OPT_TEXT, &profile.group,        "WHAT",  "show one tree per thread or cpu (default: none)"},
	{0,   "function",        OPT_TEXT, &profile.function,     "NAME",  "start call paths at this function"},
	{0,   "min-duration",    OPT_TEXT, &profile.min_duration, "TIME",  "hide call paths that took less; in ns unless a unit is given"},
	{0,   "min-hits",        OPT_TEXT, &profile.min_hits,     "N|P%",  "hide call paths with fewer hits"},
	{0,   "max-levels",      OPT_U64,  &profile.max_levels,   "N",     "show at most N levels; 0: all"},
	{0,   "sort",            OPT_TEXT, &profile.sort,         "KEY[,KEY]", "count by comm, dso and symbol of the innermost frame instead of call paths"},
	{0},
};
/* clang-format on */

/* Folded stacks are of whole call paths, outermost first. */
const struct option_rule profile_rules[] = {
	{"caller-oriented", .formats = "text json", .unless = "diff"},
	{"min-duration", .formats = "text json", .unless = "diff"},
	{"min-hits", .formats = "text json", .unless = "diff"},
	{"max-levels", .formats = "text json", .unless = "diff"},
	{"sort", .unless = "compat"},
	{0},
};

/* Without names, -x has what it asks for. */
int backtrace_options_check(void)
{
	if (backtrace)
		return 0;
	return options_unused_check("debug exe module symbols use-symbols-file no-inlined-by "
				    "show-line-number show-file-name show-address symfs",
				    "without --backtrace");
}

struct sample_line_options sample_line_given(void)
{
	return (struct sample_line_options){.backtrace = backtrace,
					    .multiline = multiline,
					    .compat = compat_given,
					    .frames = frames_given()};
}

const char *sample_option_given(void)
{
	return compat_given	 ? "--compat"
	       : backtrace	 ? "--backtrace"
	       : multiline	 ? "--multiline"
	       : no_header_given ? "--no-header"
				 : profile_symbol_option_given();
}

int choice_parse(const char *option, const char *word, const char *const *list)
{
	for (int i = 0; list[i]; i++)
		if (!word || !strcmp(word, list[i]))
			return i;
	return fail(-EINVAL, "%s: invalid value '%s'", option, word);
}

/* ---- times ---- */

int time_range_wrong(void)
{
	if (!compat_given)
		return command_usage("%s", error_text());
	printf("Invalid arguments: %s\n", error_text());
	return EXIT_FINE;
}

void time_range_compat(struct time_range *range)
{
	if (compat_given)
		*range = (struct time_range){0};
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
	return parse_u64(text, ret_hits) ? fail(-EINVAL, "--min-hits: invalid number '%s'", text)
					 : 0;
}

static int sort_parse(struct frames_options *to)
{
	static const char *const keys[] = {"comm", "dso", "symbol"};

	for (const char *p = profile.sort ? profile.sort : ""; *p; p += strspn(p, ",")) {
		size_t n = strcspn(p, ","), i = 0;

		while (i < FRAMES_KEYS && (strlen(keys[i]) != n || strncmp(p, keys[i], n) != 0))
			i++;
		if (i == FRAMES_KEYS || array_any(to->nr_keys, at, to->key[at] == i))
			return fail(-EINVAL,
				    "--sort: invalid key '%.*s' (supported, once each: comm, dso, "
				    "symbol)",
				    (int)n, p);
		to->key[to->nr_keys++] = (enum frames_key)i;
		p += n;
	}
	return profile.sort && !to->nr_keys ? fail(-EINVAL, "--sort: missing key") : 0;
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
	ret->frames = frames_given();
	ret->frames.caller_oriented = profile.caller;
	ret->frames.function = profile.function;
	err = sort_parse(&ret->frames);
	if (err)
		return err;
	for (int i = 0; i < 3; i++)
		if (!profile.group || !strcmp(profile.group, groups[i])) {
			ret->group = (enum profile_group)i;
			return 0;
		}
	return fail(-EINVAL, "--group-by: invalid key '%s' (supported: thread, cpu, none)",
		    profile.group);
}
