// SPDX-License-Identifier: GPL-2.0-or-later
/* An arbitrary trace of an OSv guest, through the reader and every report. */
#include "analyzers/profile/profile.h"
#include "output/samples/samples_output.h"
#include "readers/osv/osv.h"
#include "walk.h"

static const struct symbols_options no_names = {.none = true};

static void profiles_walk(struct sample_trace *t, bool compat, FILE *out)
{
	for (int of = PROFILE_HITS; of <= PROFILE_IDLE; of++) {
		const char *name = of == PROFILE_TIMED ? "sched_wait" : NULL;
		struct profile_options opt = {.of = (enum profile_of)of,
					      .tracepoint = name,
					      .group = (enum profile_group)of,
					      .compat = compat,
					      .frames = {.symbols = no_names,
							 .compat = compat}};
		struct calltree *tree = NULL;

		if (!sample_profile(t, &opt, &tree))
			call_trees_print(tree, opt.group != PROFILE_GROUP_NONE,
					 &(struct row_sink){.out = out});
		calltree_close(tree);
	}
}

static void summary_walk(struct sample_trace *t, bool compat, struct row_sink *sink)
{
	struct sample_summary_options opt = {.timed = true, .compat = compat};
	struct sample_summary s = {0};

	if (!sample_summary_make(t, &opt, &s))
		summary_print(&s, sink);
	sample_summary_deinit(&s);
}

static void memory_walk(struct sample_trace *t, bool compat, struct row_sink *sink)
{
	struct memory_options opt = {.tree = {.allocations = true,
					      .keys = {0, 1, 2, 3},
					      .nr_keys = 4,
					      .compat = compat},
				     .frames = {.symbols = no_names}};
	struct calltree *tree = NULL;

	if (!memory_profile(t, &opt, &tree))
		call_trees_print(tree, false, sink);
	calltree_close(tree);
}

static void flame_walk(struct sample_trace *t, bool compat, struct row_sink *sink)
{
	struct profile_options opt = {.compat = compat,
				      .frames = {.symbols = no_names, .decimal = compat}};
	struct calltree *tree = NULL;

	if (!sample_profile(t, &opt, &tree))
		call_stacks_print(tree, sink);
	calltree_close(tree);
}

static void reports_walk(struct sample_trace *t, bool compat, bool json, FILE *out)
{
	struct row_sink sink = {.out = out, .json = json};
	struct sample_line_options line = {
		.backtrace = true, .compat = compat, .frames = {.symbols = no_names}};
	struct time_range all = {0};
	struct packet_counts packets;

	samples_print(t, &(struct sample_list_options){.line = line}, &sink);
	pairs_print(t, &(struct pair_list_options){.compat = compat, .sort = PAIRS_BY_TIME}, &line,
		    &sink);
	wakeups_print(t, &all, &line, true, &sink);
	cpu_loads_print(t, &(struct cpu_load_options){0}, false, &sink);
	summary_walk(t, compat, &sink);
	flame_walk(t, compat, &sink);
	memory_walk(t, compat, &sink);
	packets_pcap_dump(t, &all, compat, out, &packets);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *path = walk_path(data, size);
	struct sample_trace *t;

	for (int i = 0; i < WALK_WAYS; i++) /* reports_walk() takes most of the time: one of its ways */
		if (walk_way(data, size, (unsigned int)i) && !osv_open(path, NULL, &t)) {
			reports_walk(t, i & 1, i & 2, walk_sink());
			profiles_walk(t, i & 1, walk_sink());
			if (i == 0)
				osv_convert(t, walk_sink());
			sample_trace_close(t);
		}
	walk_batches(&osv_reader, path, &(struct read_hint){.until_ns = UINT64_MAX});
	event_types_forget();
	return 0;
}
