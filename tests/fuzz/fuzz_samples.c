// SPDX-License-Identifier: GPL-2.0-or-later
/* Any trace as samples of the guest profiles, as a profile of the host's events, and as causes of waits. */
#include "analyzers/causes/wait_causes.h"
#include "analyzers/profile/host_profile.h"
#include "analyzers/profile/profile.h"
#include "output/samples/samples_output.h"
#include "analyzers/profile/samples.h"
#include "readers/readers.h"
#include "walk.h"

/* The input, and where it is. */
static const char *path;
static const uint8_t *bytes;
static size_t nr_bytes;

/* `arg` holds the reader that was opened last. */
static int open_again(void *arg, struct reader **ret)
{
	struct reader **held = arg;
	int err;

	reader_close(take_ptr(*held));
	err = reader_open(path, NULL, held);
	if (err)
		*held = NULL;
	*ret = *held;
	return err;
}

static int open_host(void *arg, bool (*wants)(const char *event, void *arg), struct reader **ret)
{
	(void)wants;
	return open_again(arg, ret);
}

static void profiles_walk(struct sample_trace *t, FILE *out)
{
	static const char *const names[] = {NULL, "sched_off", NULL, "mutex_lock_wait", "syscall"};
	static const enum profile_of of[] = {PROFILE_HITS, PROFILE_TIMED, PROFILE_IDLE,
					     PROFILE_TIMED, PROFILE_TIMED};

	for (size_t i = 0; i < sizeof(of) / sizeof(of[0]); i++) {
		struct profile_options opt = {
			.of = of[i], .tracepoint = names[i], .group = (enum profile_group)(i % 3)};
		struct calltree *tree = NULL;

		if (walk_part(bytes, nr_bytes, i, sizeof(of) / sizeof(of[0])) &&
		    !sample_profile(t, &opt, &tree))
			call_trees_print(tree, opt.group != PROFILE_GROUP_NONE,
					 &(struct row_sink){.out = out});
		calltree_close(tree);
	}
}

static void summary_walk(struct sample_trace *t, struct row_sink *sink)
{
	struct sample_summary_options opt = {.timed = true};
	struct sample_summary s = {0};

	if (!sample_summary_make(t, &opt, &s))
		summary_print(&s, sink);
	sample_summary_deinit(&s);
}

static void memory_walk(struct sample_trace *t, struct row_sink *sink)
{
	struct memory_options opt = {
		.tree = {.allocations = true, .keys = {0, 1, 2, 3}, .nr_keys = 4}};
	struct calltree *tree = NULL;

	if (!memory_profile(t, &opt, &tree))
		call_trees_print(tree, false, sink);
	calltree_close(tree);
}

static void reports_walk(struct sample_trace *t, FILE *out)
{
	struct row_sink sink = {.out = out};
	struct sample_line_options line = {.backtrace = true};
	struct time_range all = {0};

	if (walk_part(bytes, nr_bytes, 0, 4))
		pairs_print(t, &(struct pair_list_options){.sort = PAIRS_BY_DURATION}, &line,
			    &sink);
	if (walk_part(bytes, nr_bytes, 1, 4)) {
		wakeups_print(t, &all, &line, false, &sink);
		cpu_loads_print(t, &(struct cpu_load_options){0}, false, &sink);
	}
	if (walk_part(bytes, nr_bytes, 2, 4))
		summary_walk(t, &sink);
	if (walk_part(bytes, nr_bytes, 3, 4))
		memory_walk(t, &sink);
}

struct host_walk {
	const struct host_profile_options *opt;
	struct host_profile_totals *totals;
	struct host_profile *profile;
};

static int host_count(void *arg, const struct event *ev)
{
	const struct host_walk *w = arg;

	host_profile_count(w->opt, ev, w->totals);
	return 0;
}

static int host_event(void *arg, const struct event *ev)
{
	return host_profile_event(((struct host_walk *)arg)->profile, ev);
}

static void host_walk(FILE *out)
{
	for (int of = HOST_CLOCK; of <= HOST_OTHERS; of++) {
		if (!walk_part(bytes, nr_bytes, (unsigned int)of - HOST_CLOCK,
			       HOST_OTHERS - HOST_CLOCK + 1))
			continue;
		struct host_profile_options opt = {.of = (enum host_profile_of)of,
						   .by = HOST_BY_VCPU | HOST_BY_REASON |
							 HOST_BY_TID,
						   .until_ns = UINT64_MAX};
		struct host_profile_totals totals = {0};
		struct host_walk w = {.opt = &opt, .totals = &totals};
		struct calltree *tree = NULL;
		_cleanup_reader_ struct reader *held = NULL;
		struct reader *r;

		if (!open_again(&held, &r))
			reader_each(r, host_count, &w);
		if (!open_again(&held, &r) && !host_profile_new(r, &opt, &w.profile) &&
		    !reader_each(r, host_event, &w) &&
		    !host_profile_end(w.profile, r, &totals, &tree))
			call_trees_fold(tree, true, of % 2, out);
		host_profile_free(w.profile);
		calltree_close(tree);
	}
}

static void causes_walk(void)
{
	_cleanup_reader_ struct reader *held = NULL;
	struct wait_causes_input in = {.open = open_host, .arg = &held, .nr_sources = 1};
	struct wait_causes *c = NULL;
	uint64_t part[CAUSES];

	if (wait_causes_open(&in, &c))
		return;
	for (unsigned int vcpu = 0; vcpu < 3; vcpu++) {
		uint64_t sum = 0;

		wait_causes_of(c, vcpu, 1000, 5000000000, part);
		for (int i = 0; i < CAUSES; i++)
			sum += part[i];
		if (sum != 5000000000 - 1000)
			abort(); /* the parts must add up for every trace */
	}
	wait_causes_close(c);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct reader *held = NULL;
	struct samples_input in = {.open = open_again, .arg = &held, .name = "fuzz"};
	struct sample_trace *t = NULL;

	path = walk_path(data, size);
	bytes = data;
	nr_bytes = size;
	for (unsigned int way = 0; way < 2; way++) {
		if (!walk_way(data, size, way) || samples_open(&in, &t))
			continue;
		if (way)
			reports_walk(t, walk_sink());
		else
			profiles_walk(t, walk_sink());
		sample_trace_close(take_ptr(t));
	}
	reader_close(held);
	if (walk_way(data, size, 2))
		host_walk(walk_sink());
	if (walk_way(data, size, 3))
		causes_walk();
	event_types_forget();
	return 0;
}
