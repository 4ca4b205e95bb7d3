// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>

#include "analyzers/profile/profile.h"
#include "base/error.h"
#include "commands/common/sample_run.h"

static const char *sort_by, *min_hits;
static bool no_backtrace;
static uint64_t min_count, max_levels;
static struct text_list groups;

/* clang-format off */
static const struct option_row filter_options[] = {
	{0,   "min-count",    OPT_U64,   &min_count,    "N",    "hide groups with fewer allocations"},
	{'s', "sort",         OPT_TEXT,  &sort_by,      "WHAT", "sort by size (default), count or unused"},
	{'g', "group-by",     OPT_WORDS, &groups,       "[KEY...]", "group by any of: allocator alignment allocated requested (default: all, in this order)"},
	{0,   "no-backtrace", OPT_FLAG,  &no_backtrace, NULL,   "show groups only, no call paths"},
	{0,   "min-hits",     OPT_TEXT,  &min_hits,     "N|P%", "hide call paths with fewer allocations"},
	{0,   "max-levels",   OPT_U64,   &max_levels,   "N",    "show at most N frames of a call path"},
	{0},
};
/* clang-format on */

static int memory_given(struct calltree_options *ret)
{
	static const char *const sorts[] = {"size", "count", "unused", NULL};
	static const char *const keys[] = {"allocator", "alignment", "allocated", "requested",
					   NULL};
	int sort = choice_parse("--sort", sort_by, sorts), key,
	    err = min_hits_parse(min_hits, &ret->min_hits, &ret->min_hits_percent);

	if (sort < 0 || err)
		return sort < 0 ? sort : err;
	ret->sort = (enum allocation_sort)sort;
	for (unsigned int i = 0; i < (groups.given ? groups.nr : ALLOCATION_KEYS); i++) {
		key = groups.given ? choice_parse("--group-by", groups.item[i], keys) : (int)i;
		if (key < 0)
			return key;
		if (ret->nr_keys == sizeof(ret->keys) / sizeof(ret->keys[0]))
			return fail(-EINVAL, "too many keys for --group-by");
		ret->keys[ret->nr_keys++] = (enum allocation_key)key;
	}
	return 0;
}

static const struct report_needs needs = {
	.events = "kmalloc,kmem_cache_alloc,mm_page_alloc,memory_malloc*",
	.record = "trace-cmd record -e kmem in a Linux guest"};

static int run(int argc, char **argv, char **rest)
{
	struct memory_options opt = {.tree = {.allocations = true,
					      .min_count = min_count,
					      .max_levels = (unsigned int)max_levels,
					      .compat = compat_given},
				     .no_backtrace = no_backtrace,
				     .frames = frames_given()};
	_cleanup_(calltree_cleanup_) struct calltree *tree = NULL;
	struct sample_run run;
	int status, err;

	(void)rest;
	if (memory_given(&opt.tree))
		return command_usage("%s", error_text());
	status = sample_run_open(argc, argv, "text json", &opt.range, &run);
	if (status != SAMPLE_RUN_BEGUN)
		return status;
	err = memory_profile(run.trace, &opt, &tree);
	if (!err)
		err = call_trees_print(tree, false, &run.sink);
	run.needs = &needs;
	return sample_run_close(&run, err);
}

static const struct option_row *const options[] = {input_rows,	   output_file_options,
						   compat_options, profile_symbol_options,
						   filter_options, NULL};

/* Of call paths. */
#define PATHS "no-resolve no-backtrace"
static const struct option_rule rules[] = {
	{"min-hits", .unless = "no-backtrace"},
	{"max-levels", .unless = "no-backtrace"},
	{"debug", .unless = PATHS},
	{"exe", .unless = PATHS},
	{"symbols", .unless = PATHS},
	{"use-symbols-file", .unless = PATHS},
	{"no-inlined-by", .unless = PATHS},
	{"show-line-number", .unless = PATHS},
	{"show-file-name", .unless = PATHS},
	{"show-address", .unless = PATHS},
	{0},
};

const struct command memory_analyzer_command = {
	.name = "memory-analyzer",
	.args = "[FILE...]",
	.summary = "Show allocations by allocator, alignment, size, call path.",
	.group = "OSv guests",
	.details = "Needs the tracepoints memory_malloc_mempool, memory_malloc_large and "
		   "memory_malloc_page.",
	.examples = "  hostrace memory-analyzer -S -s unused tracefile\n"
		    "  hostrace memory-analyzer --no-backtrace tracefile -g allocator requested",
	.options = options,
	.unused = "limit wide",
	.rules = rules,
	.run = run,
};
