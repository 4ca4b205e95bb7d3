// SPDX-License-Identifier: GPL-2.0-or-later
/* list-timed, wakeup-latency, cpu-load, memory-analyzer: reports of a guest's samples, as OSv's tool has them. */
#include <errno.h>

#include "base/error.h"
#include "commands/common/sample_run.h"

static const char *pair_order;
static uint64_t cpus;
static const char *sort_by, *min_hits;
static bool no_backtrace;
static uint64_t min_count, max_levels;
static struct text_list groups;

/* clang-format off */
static const struct option_row pair_options[] = {
	{0, "sort", OPT_TEXT, &pair_order, "WHAT", "sort by duration (longest first) or time (default: by end)"},
	{0},
};
static const struct option_row cpu_options[] = {
	{'c', "cpus", OPT_U64, &cpus, "N", "print rows only after all N CPUs were seen"},
	{0},
};
static const struct option_row memory_options[] = {
	{0,   "min-count",    OPT_U64,   &min_count,    "N",    "hide groups with fewer allocations"},
	{'s', "sort",         OPT_TEXT,  &sort_by,      "WHAT", "sort by size (default), count or unused"},
	{'g', "group-by",     OPT_WORDS, &groups,       "[KEY...]", "group by any of: allocator alignment allocated requested (default: all, in this order)"},
	{0,   "no-backtrace", OPT_FLAG,  &no_backtrace, NULL,   "show groups only, no call paths"},
	{0,   "min-hits",     OPT_TEXT,  &min_hits,     "N|P%", "hide call paths with fewer allocations"},
	{0,   "max-levels",   OPT_U64,   &max_levels,   "N",    "show at most N frames of a call path"},
	{0},
};
/* clang-format on */

/* ---- list-timed ---- */

static int pairs_write(struct sample_run *run, void *arg)
{
	struct sample_line_options line = sample_line_given();
	struct pair_list_options *opt = arg;

	opt->range = run->source.range;
	return pairs_print(run->source.trace, opt, &line, &run->sink);
}

static int run_list_timed(int argc, char **argv)
{
	static const char *const sorts[] = {"none", "duration", "time", NULL};
	struct pair_list_options opt = {.compat = compat_given};
	int sort = choice_parse("--sort", pair_order, sorts);

	if (sort < 0)
		return command_usage("%s", error_text());
	opt.sort = (enum pair_sort)sort;
	return sample_report_run(argc, argv, &(const struct sample_report){.formats = "text json",
									    .write = pairs_write,
									    .arg = &opt});
}

/* ---- wakeup-latency, cpu-load ---- */

static int wakeups_write(struct sample_run *run, void *arg)
{
	struct sample_line_options line = sample_line_given();

	(void)arg;
	time_range_compat(&run->source.range);
	return wakeups_print(run->source.trace, &run->source.range, &line, !no_header_given,
			     &run->sink);
}

static int run_wakeup_latency(int argc, char **argv)
{
	static const struct report_needs needs = {
		.events = "sched_wakeup,sched_waking,sched_wake",
		.record = "trace-cmd record -e sched in a Linux guest"};

	return sample_report_run(argc, argv,
				 &(const struct sample_report){.formats = "text json",
							       .needs = &needs,
							       .write = wakeups_write});
}

static int loads_write(struct sample_run *run, void *arg)
{
	struct cpu_load_options opt = {.cpus = cpus};

	(void)arg;
	time_range_compat(&run->source.range);
	opt.range = run->source.range;
	return cpu_loads_print(run->source.trace, &opt, !strcmp(run->out.format, "csv"),
			       &run->sink);
}

static int run_cpu_load(int argc, char **argv)
{
	static const struct report_needs needs = {
		.events = "sched_switch,sched_load",
		.record = "trace-cmd record -e sched in a Linux guest"};

	return sample_report_run(argc, argv,
				 &(const struct sample_report){.formats = "text csv json",
							       .needs = &needs,
							       .write = loads_write});
}

/* ---- memory-analyzer ---- */

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

static int memory_write(struct sample_run *run, void *arg)
{
	_cleanup_(calltree_cleanup_) struct calltree *tree = NULL;
	struct memory_options *opt = arg;

	opt->range = run->source.range;
	int err = memory_profile(run->source.trace, opt, &tree);

	return err ? err : call_trees_print(tree, false, &run->sink);
}

static int run_memory_analyzer(int argc, char **argv)
{
	static const struct report_needs needs = {
		.events = "kmalloc,kmem_cache_alloc,mm_page_alloc,memory_malloc*",
		.record = "trace-cmd record -e kmem in a Linux guest"};
	struct memory_options opt = {.tree = {.allocations = true,
					      .min_count = min_count,
					      .max_levels = (unsigned int)max_levels,
					      .compat = compat_given},
				     .no_backtrace = no_backtrace,
				     .frames = frames_given()};

	if (memory_given(&opt.tree))
		return command_usage("%s", error_text());
	return sample_report_run(argc, argv, &(const struct sample_report){.formats = "text json",
									    .needs = &needs,
									    .write = memory_write,
									    .arg = &opt});
}

/* ---- the commands ---- */

static const struct option_row *const pair_rows[] = {
	input_rows,	output_file_options,	pair_options,
	compat_options, profile_symbol_options, sample_line_options,
	NULL};
static const struct option_row *const line_rows[] = {input_rows,	  output_file_options,
						     compat_options,	  profile_symbol_options,
						     sample_line_options, NULL};
static const struct option_row *const cpu_rows[] = {
	input_rows,	output_file_options,	cpu_options,
	compat_options, profile_symbol_options, sample_line_options,
	NULL};
static const struct option_row *const memory_rows[] = {
	input_rows,	output_file_options, compat_options, profile_symbol_options,
	memory_options, NULL};

/* Of call paths. */
#define PATHS "no-resolve no-backtrace"
static const struct option_rule memory_rules[] = {
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

const struct command list_timed_command = {
	.name = "list-timed",
	.args = "[FILE...]",
	.summary = "List pairs of begin and end events with their durations.",
	.group = "OSv guests",
	.details = "One line per pair: time of its begin, duration in ms, and the fields of its "
		   "begin.",
	.examples = "  hostrace list-timed --sort duration --limit 10 tracefile",
	.options = pair_rows,
	.unused = "wide no-header",
	.check = backtrace_options_check,
	.run = run_list_timed,
};

const struct command wakeup_latency_command = {
	.name = "wakeup-latency",
	.args = "[FILE...]",
	.summary = "Show the time from waking a thread until it runs.",
	.group = "OSv guests",
	.details = "Counts only waits that end on the CPU where they began. Needs the tracepoints\n"
		   "sched_wait, sched_wait_ret and sched_wake.",
	.examples = "  hostrace wakeup-latency tracefile",
	.options = line_rows,
	.unused = "wide",
	.rules = (const struct option_rule[]){{"no-header", .formats = "text"}, {0}},
	.check = backtrace_options_check,
	.run = run_wakeup_latency,
};

const struct command cpu_load_command = {
	.name = "cpu-load",
	.args = "[FILE...]",
	.summary = "Show the length of the run queues over time, by CPU.",
	.group = "OSv guests",
	.details = "Needs the tracepoint sched_load.",
	.examples = "  hostrace cpu-load -f csv tracefile",
	.options = cpu_rows,
	.unused = "wide backtrace multiline no-header debug exe module symbols no-resolve "
		  "no-inlined-by symfs show-line-number show-address show-file-name "
		  "use-symbols-file",
	.run = run_cpu_load,
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
	.options = memory_rows,
	.unused = "limit wide",
	.rules = memory_rules,
	.run = run_memory_analyzer,
};
