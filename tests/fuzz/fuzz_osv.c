// SPDX-License-Identifier: GPL-2.0-or-later
/* An OSv guest's trace, as anybody may have made it: through every report and the reader. */
#include "analyzers/profile/memory.h"
#include "analyzers/profile/packets.h"
#include "analyzers/profile/profile.h"
#include "analyzers/profile/sample_report.h"
#include "readers/osv/osv_convert.h"
#include "readers/osv/osv_reader.h"
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
					      .symbols = no_names,
					      .frames = {.compat = compat}};
		struct calltree *tree = NULL;

		if (!sample_profile(t, &opt, &tree))
			profile_print(tree, opt.group != PROFILE_GROUP_NONE, out);
		calltree_close(tree);
	}
}

static void reports_walk(struct sample_trace *t, bool compat, bool json, FILE *out)
{
	struct row_sink sink = {.out = out, .json = json};
	struct sample_line_options line = {
		.backtrace = true, .compat = compat, .symbols = no_names};
	uint64_t skipped;

	sample_list(t, &(struct sample_list_options){.line = line}, &sink);
	list_timed(t, &(struct list_timed_options){.line = line, .sort = LIST_TIMED_BY_TIME},
		   &sink);
	wakeup_latency(t, &(struct wakeup_options){.line = line}, &sink);
	cpu_load(t, &(struct cpu_load_options){.compat = compat}, &sink);
	sample_summary(t, &(struct sample_summary_options){.timed = true, .compat = compat}, &sink);
	sample_flame(t, &(struct flame_options){.compat = compat, .symbols = no_names}, &sink);
	memory_profile(
		t,
		&(struct memory_options){
			.keys = {0, 1, 2, 3}, .nr_keys = 4, .compat = compat, .symbols = no_names},
		&sink);
	packets_pcap_dump(t, compat, out, &skipped);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct sample_trace *t;
	char path[64];
	int fd = walk_path(data, size, path, sizeof(path));
	FILE *out = fopen("/dev/null", "w");

	if (!out)
		abort();
	if (!osv_open(path, &t)) {
		for (int i = 0; i < 4; i++)
			reports_walk(t, i & 1, i & 2, out);
		profiles_walk(t, size & 1, out);
		osv_convert(t, out);
		sample_trace_close(t);
	}
	/* Types are registered for good: not for every input. */
	if (size % 16 == 0)
		walk_opened(&osv_reader, path, false);
	fclose(out);
	close(fd);
	return 0;
}
