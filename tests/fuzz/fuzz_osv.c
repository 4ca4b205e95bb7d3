// SPDX-License-Identifier: GPL-2.0-or-later
/* An OSv guest's trace, as anybody may have made it: through every report and the reader. */
#include "analyzers/profile/osv_memory.h"
#include "analyzers/profile/osv_packets.h"
#include "analyzers/profile/osv_profile.h"
#include "analyzers/profile/osv_report.h"
#include "readers/osv/osv_convert.h"
#include "readers/osv/osv_reader.h"
#include "walk.h"

static const struct osv_symbols_options no_names = {.none = true};

static void profiles_walk(struct osv_trace *t, bool compat, FILE *out)
{
	for (int of = OSV_HITS; of <= OSV_IDLE; of++) {
		const char *name = of == OSV_TIMED ? "sched_wait" : NULL;
		struct osv_profile_options opt = {.of = (enum osv_profile_of)of,
						  .tracepoint = name,
						  .group = (enum osv_group)of,
						  .compat = compat,
						  .symbols = no_names,
						  .frames = {.compat = compat}};
		struct calltree *tree = NULL;

		if (!osv_profile(t, &opt, &tree))
			osv_profile_print(tree, opt.group != OSV_GROUP_NONE, out);
		calltree_close(tree);
	}
}

static void reports_walk(struct osv_trace *t, bool compat, bool json, FILE *out)
{
	struct osv_sink sink = {.out = out, .json = json};
	struct osv_line_options line = {.backtrace = true, .compat = compat, .symbols = no_names};
	uint64_t skipped;

	osv_list(t, &(struct osv_list_options){.line = line}, &sink);
	osv_list_timed(t, &(struct osv_list_timed_options){.line = line, .sort = OSV_BY_TIME},
		       &sink);
	osv_wakeup_latency(t, &(struct osv_wakeup_options){.line = line}, &sink);
	osv_cpu_load(t, &(struct osv_cpu_load_options){.compat = compat}, &sink);
	osv_summary(t, &(struct osv_summary_options){.timed = true, .compat = compat}, &sink);
	osv_flame(t, &(struct osv_flame_options){.compat = compat, .symbols = no_names}, &sink);
	osv_memory(
		t,
		&(struct osv_memory_options){
			.keys = {0, 1, 2, 3}, .nr_keys = 4, .compat = compat, .symbols = no_names},
		&sink);
	osv_pcap_dump(t, compat, out, &skipped);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct osv_trace *t;
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
		osv_close(t);
	}
	/* Types are registered for good: not for every input. */
	if (size % 16 == 0)
		walk_opened(&osv_reader, path, false);
	fclose(out);
	close(fd);
	return 0;
}
