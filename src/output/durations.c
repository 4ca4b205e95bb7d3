// SPDX-License-Identifier: GPL-2.0-or-later
/* Durations that were summed up: the same columns in `summary`, `exits` and `stat`. */
#include "output/durations.h"

#include "base/json_text.h"
#include "base/saturate.h"

/* As COL_PERCENT wants it. */
static uint64_t share(uint64_t part, uint64_t whole)
{
	return whole ? uint64_of_double((double)part * 100000 / (double)whole + 0.5) : 0;
}

GET_NUMBER(get_time_share, const struct durations *d, share(d->total_ns, d->all_ns))
GET_NUMBER(get_user_share, const struct durations *d, share(d->userspace, d->count))

#define DURATION(name, head, member, ...) \
	{name, head, COL_NS, MEMBER(struct durations, member), __VA_ARGS__}

const struct column_def durations_columns[] = {
	{"count", "count", COL_COUNT, MEMBER(struct durations, count),
	 .doc = "how many there were"},
	{NULL, "time%", COL_PERCENT, .get = get_time_share, .spare = 2,
	 .doc = "total in percent of all rows"},
	DURATION("total_ns", "total", total_ns, .doc = "all together"),
	DURATION("min_ns", "min", min_ns, .spare = 3, .doc = "the shortest"),
	DURATION("avg_ns", "avg", mean_ns, .doc = "average"),
	DURATION("max_ns", "max", max_ns, .doc = "the longest"),
	DURATION("stddev_ns", "stddev", deviation_ns, .spare = 6, .doc = "standard deviation"),
	DURATION("p50_ns", "p50", p50_ns, .doc = "median"),
	DURATION("p90_ns", "p90", p90_ns, .spare = 4, .doc = "90th percentile"),
	DURATION("p99_ns", "p99", p99_ns, .doc = "99th percentile"),
	DURATION("p999_ns", "p99.9", p999_ns, .spare = 5, .doc = "99.9th percentile"),
	{0},
};

const struct column_def durations_userspace[] = {
	{"userspace_count", NULL, COL_COUNT, MEMBER(struct durations, userspace),
	 .doc = "of exits: how many went on to user space (QEMU)"},
	{NULL, "user%", COL_PERCENT, .get = get_user_share, .spare = 1,
	 .doc = "the same in percent"},
	{0},
};

json_t *durations_json(const struct durations *d)
{
	json_t *ret = json_object();

	for (const struct column_def *c = durations_columns; c->key || c->head; c++)
		if (c->key)
			json_object_set_new(
				ret, c->key,
				json_u64(c->get(NULL, (const char *)d + c->offset).number));
	json_object_set_new(ret, durations_userspace[0].key, json_u64(d->userspace));
	return ret;
}
