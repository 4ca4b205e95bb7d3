// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * list-timed, memory-analyzer, wakeup-latency, cpu-load, tcpdump, pcap-dump, convert-dump; and what
 * list and summary do with an OSv trace.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "analyzers/profile/memory.h"
#include "base/error.h"
#include "base/replace.h"
#include "commands/common/sample_run.h"
#include "commands/common/input.h"
#include "readers/osv/osv_convert.h"
#include "readers/osv/raw.h"

static const char *sort_by, *prefix, *dump_file = "buffers", *min_hits;
static bool with_tcpdump, no_backtrace;
static uint64_t cpus, min_count, max_levels;
static struct text_list groups;

/* clang-format off */
const struct option_row sample_list_options[] = {
	{'t', "tracepoint", OPT_TEXT, &prefix,       "PREFIX", "OSv tracepoints whose names begin so"},
	{0,   "tcpdump",    OPT_FLAG, &with_tcpdump, NULL,     "OSv's packets as tcpdump tells them, TCP states by name"},
	{0},
};
static const struct option_row sort_options[] = {
	{0, "sort", OPT_TEXT, &sort_by, "WHAT", "duration (longest first) or time; default: as they ended"},
	{0},
};
static const struct option_row cpu_options[] = {
	{'c', "cpus", OPT_U64, &cpus, "N", "rows only once all of N CPUs were seen"},
	{0},
};
static const struct option_row memory_options[] = {
	{0,   "min-count",    OPT_U64,   &min_count,    "N",    "hide groups of fewer allocations"},
	{'s', "sort",         OPT_TEXT,  &sort_by,      "WHAT", "size (default), count or unused"},
	{'g', "group-by",     OPT_WORDS, &groups,       "[KEY...]", "any of allocator alignment allocated requested, "
								     "in this order; default all"},
	{0,   "no-backtrace", OPT_FLAG,  &no_backtrace, NULL,   "groups only"},
	{0,   "min-hits",     OPT_TEXT,  &min_hits,     "N|P%", "hide call paths of fewer allocations"},
	{0,   "max-levels",   OPT_U64,   &max_levels,   "N",    "at most so many frames of a call path"},
	{0},
};
static const struct option_row dump_options[] = {
	{'f', "dumpfile", OPT_TEXT, &dump_file,  "FILE", "OSVT dump to convert (default buffers)"},
	{0},
};
/* clang-format on */

/* Index of the word in a list that ends with NULL; -EINVAL with the sentence set. NULL: 0. */
static int choice(const char *option, const char *word, const char *const *list)
{
	for (int i = 0; list[i]; i++)
		if (!word || !strcmp(word, list[i]))
			return i;
	return fail(-EINVAL, "%s: '%s' is not known; see --help", option, word);
}

static int run_list_timed(int argc, char **argv, char **rest)
{
	static const char *const sorts[] = {"none", "duration", "time", NULL};
	struct sample_line_options line = sample_line_given();
	struct pair_list_options opt = {.compat = compat_given};
	struct sample_run run;
	int sort = choice("--sort", sort_by, sorts), status;

	(void)rest;
	if (sort < 0)
		return command_usage("%s", error_text());
	opt.sort = (enum pair_sort)sort;
	status = sample_run_open(argc, argv, "text json", &opt.range, &run);
	return status != SAMPLE_RUN_BEGUN
		       ? status
		       : sample_run_close(&run, pairs_print(run.trace, &opt, &line, &run.sink));
}

static int memory_given(struct memory_options *ret)
{
	static const char *const sorts[] = {"size", "count", "unused", NULL};
	static const char *const keys[] = {"allocator", "alignment", "allocated", "requested",
					   NULL};
	int sort = choice("--sort", sort_by, sorts), key,
	    err = min_hits_parse(min_hits, &ret->min_hits, &ret->min_hits_percent);

	if (sort < 0 || err)
		return sort < 0 ? sort : err;
	ret->sort = (enum memory_sort)sort;
	for (unsigned int i = 0; i < (groups.given ? groups.nr : MEMORY_KEYS); i++) {
		key = groups.given ? choice("--group-by", groups.item[i], keys) : (int)i;
		if (key < 0)
			return key;
		if (ret->nr_keys == sizeof(ret->keys) / sizeof(ret->keys[0]))
			return fail(-EINVAL, "--group-by: too many keys");
		ret->keys[ret->nr_keys++] = (enum memory_key)key;
	}
	return 0;
}

static int run_memory_analyzer(int argc, char **argv, char **rest)
{
	struct memory_options opt = {.min_count = min_count,
				     .max_levels = (unsigned int)max_levels,
				     .no_backtrace = no_backtrace,
				     .compat = compat_given,
				     .symbols = symbols_given(),
				     .frames = frames_given()};
	_cleanup_(memory_profile_cleanup_) struct memory_profile *memory = NULL;
	struct sample_run run;
	int status, err;

	(void)rest;
	if (memory_given(&opt))
		return command_usage("%s", error_text());
	status = sample_run_open(argc, argv, "text json", &opt.range, &run);
	if (status != SAMPLE_RUN_BEGUN)
		return status;
	err = memory_profile_open(run.trace, &opt, &memory);
	if (!err)
		err = memory_print(memory_profile_tree(memory), &run.sink);
	memory_profile_close(take_ptr(memory));
	return sample_run_close(&run, err);
}

static int run_wakeup_latency(int argc, char **argv, char **rest)
{
	struct sample_line_options line = sample_line_given();
	struct time_range range;
	struct sample_run run;
	int status;

	(void)rest;
	status = sample_run_open(argc, argv, "text json", &range, &run);
	if (status != SAMPLE_RUN_BEGUN)
		return status;
	if (compat_given)
		range = (struct time_range){0}; /* the original ignores it */
	return sample_run_close(
		&run, wakeups_print(run.trace, &range, &line, !no_header_given, &run.sink));
}

static int run_cpu_load(int argc, char **argv, char **rest)
{
	struct cpu_load_options opt = {.cpus = cpus};
	struct sample_run run;
	int status;

	(void)rest;
	status = sample_run_open(argc, argv, "text csv json", &opt.range, &run);
	if (status != SAMPLE_RUN_BEGUN)
		return status;
	if (compat_given)
		opt.range = (struct time_range){0}; /* the original ignores it */
	return sample_run_close(
		&run, cpu_loads_print(run.trace, &opt, !strcmp(run.out.format, "csv"), &run.sink));
}

static void skipped_note(uint64_t nr)
{
	if (nr)
		command_note("%" PRIu64 " packets were left out: their protocol has no Ethernet "
			     "type", nr);
}

/* JSON: the packets of `list --tcpdump`. */
static int run_tcpdump(int argc, char **argv, char **rest)
{
	struct sample_list_options list = {
		.line = {.compat = compat_given}, .prefix = "net_packet_", .tcpdump = true};
	struct sample_run run;
	uint64_t skipped = 0;
	int status = sample_run_open(argc, argv, "text json", &list.range, &run), err;

	(void)rest;
	if (status != SAMPLE_RUN_BEGUN)
		return status;
	err = run.sink.json ? samples_print(run.trace, &list, &run.sink)
			    : packets_tcpdump(run.trace, compat_given, run.out.file, &skipped);
	skipped_note(skipped);
	return sample_run_close(&run, err);
}

static int run_pcap_dump(int argc, char **argv, char **rest)
{
	struct time_range range;
	struct sample_run run;
	uint64_t skipped = 0;
	int status = sample_run_open(argc, argv, "text", &range, &run), err;

	(void)rest;
	if (status != SAMPLE_RUN_BEGUN)
		return status;
	if (isatty(fileno(run.out.file))) {
		sample_trace_close(run.trace);
		input_set_close(run.in);
		output_cancel(&run.out);
		return command_usage("a pcap file is no text for a terminal; redirect it, or -o "
				     "FILE");
	}
	err = packets_pcap_dump(run.trace, compat_given, run.out.file, &skipped);
	skipped_note(skipped);
	return sample_run_close(&run, err);
}

/* Written beside the target and renamed, so that a failure leaves no half a file. */
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
		err = fail(-EIO, "%s: it could not be written", to);
	if (!err && rename(temporary, to))
		err = fail(-errno, "%s: %s", to, strerror(errno));
	if (err && f)
		unlink(temporary);
	return err;
}

static int run_convert_dump(int argc, char **argv, char **rest)
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

#define REPORT(ident, command_name, arguments, text, more, sample, ...)                            \
	static const struct option_row *const ident##_options[] = {__VA_ARGS__, NULL};             \
	const struct command ident##_command = {                                                   \
		.name = command_name,                                                              \
		.args = arguments,                                                                 \
		.summary = text,                                                                   \
		.group = "OSv guests",                                                             \
		.details = more,                                                                   \
		.examples = sample,                                                                \
		.options = ident##_options,                                                        \
		.run = run_##ident,                                                                \
	}

REPORT(list_timed, "list-timed", "[FILE...]", "Timed tracepoints with their durations.",
       "A line per pair: when it began, milliseconds, and what its first sample said.",
       "  hostrace list-timed --sort duration --limit 10 -x tracefile", input_rows,
       output_file_options, sort_options, compat_options, profile_symbol_options,
       sample_line_options);
REPORT(memory_analyzer, "memory-analyzer", "[FILE...]",
       "Allocations by allocator, alignment, size and call path.",
       "Needs the tracepoints memory_malloc_mempool, memory_malloc_large and memory_malloc_page.",
       "  hostrace memory-analyzer -S -s unused tracefile\n"
       "  hostrace memory-analyzer --no-backtrace tracefile -g allocator requested",
       input_rows, output_file_options, compat_options, profile_symbol_options,
       memory_options);
REPORT(wakeup_latency, "wakeup-latency", "[FILE...]",
       "From waking a thread to its return from the wait.",
       "Only waits that end on the CPU where they began. Needs sched_wait, sched_wait_ret and "
       "sched_wake.",
       "  hostrace wakeup-latency tracefile", input_rows, output_file_options, compat_options,
       profile_symbol_options, sample_line_options);
REPORT(cpu_load, "cpu-load", "[FILE...]", "Length of the run queues over time, by CPU.",
       "Needs the tracepoint sched_load.", "  hostrace cpu-load -f csv tracefile", input_rows,
       output_file_options, cpu_options, compat_options, profile_symbol_options,
       sample_line_options);
REPORT(tcpdump, "tcpdump", "[FILE...]", "The guest's packets, as tcpdump tells them.",
       "Needs the tracepoints net_packet_in and net_packet_out, and tcpdump.",
       "  hostrace tcpdump tracefile", input_rows, output_file_options, compat_options);
REPORT(pcap_dump, "pcap-dump", "[FILE...]", "The guest's packets, as a pcap file on stdout.", NULL,
       "  hostrace pcap-dump tracefile > guest.pcap", input_rows, output_file_options,
       compat_options);
REPORT(convert_dump, "convert-dump", "[FILE...]",
       "An OSVT dump (GET /trace/buffers) as a tracefile.",
       "All commands read dumps directly; this is for other tools.",
       "  hostrace convert-dump -f buffers tracefile", dump_options);

/* ---- list and summary ---- */

bool osv_is_trace(const char *path)
{
	_cleanup_close_ int fd = path ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) : -1;
	uint8_t head[64];
	ssize_t len = fd >= 0 ? pread(fd, head, sizeof(head), 0) : 0;

	return len > 0 && (osv_is_tracefile(head, (size_t)len) || osv_is_dump(head, (size_t)len) ||
			   osv_is_rings(head, (size_t)len));
}

const char *osv_only_input(void)
{
	const char *path = input_options_only_file(&input_given);

	if (!input_options_nr_files(&input_given) && access("hostrace.hrt", F_OK))
		path = "tracefile"; /* OSv's default */
	return path && osv_is_trace(path) ? path : NULL;
}

int sample_list_run(const char *path)
{
	struct sample_list_options opt = {
		.line = sample_line_given(), .prefix = prefix, .tcpdump = with_tcpdump};
	struct sample_run run;
	int status;

	status = sample_run_open_file(path, "text json", &opt.range, &run);
	return status != SAMPLE_RUN_BEGUN
		       ? status
		       : sample_run_close(&run, samples_print(run.trace, &opt, &run.sink));
}

static int summary_close(struct sample_run *run, const struct sample_summary_options *opt)
{
	struct sample_summary summary = {0};
	int err = sample_summary_make(run->trace, opt, &summary);

	if (!err)
		summary_print(&summary, &run->sink);
	sample_summary_deinit(&summary);
	return sample_run_close(run, err);
}

int sample_summary_run(const char *path, bool timed)
{
	struct sample_summary_options opt = {.timed = timed, .compat = compat_given};
	struct sample_run run;
	int status = sample_run_open_file(path, "text json", &opt.range, &run);

	return status != SAMPLE_RUN_BEGUN ? status : summary_close(&run, &opt);
}

int sample_summary_timed_run(int argc, char **argv)
{
	struct sample_summary_options opt = {.timed = true};
	struct sample_run run;
	int status = sample_run_open(argc, argv, "text json", &opt.range, &run);

	return status != SAMPLE_RUN_BEGUN ? status : summary_close(&run, &opt);
}
