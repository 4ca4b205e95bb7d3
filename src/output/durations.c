// SPDX-License-Identifier: GPL-2.0-or-later
#include "output/durations.h"

#include "base/json_text.h"
#include "base/saturate.h"

void durations_columns(struct table *t, bool userspace)
{
	table_column(t, "count", "count", COL_COUNT, 0);
	table_column(t, NULL, "time%", COL_PERCENT, 2);
	table_column(t, "total_ns", "total", COL_NS, 0);
	table_column(t, "min_ns", "min", COL_NS, 3);
	table_column(t, "avg_ns", "avg", COL_NS, 0);
	table_column(t, "max_ns", "max", COL_NS, 0);
	table_column(t, "stddev_ns", "stddev", COL_NS, 6);
	table_column(t, "p50_ns", "p50", COL_NS, 0);
	table_column(t, "p90_ns", "p90", COL_NS, 4);
	table_column(t, "p99_ns", "p99", COL_NS, 0);
	table_column(t, "p999_ns", "p99.9", COL_NS, 5);
	if (userspace) {
		table_column(t, "userspace_count", NULL, COL_COUNT, 0);
		table_column(t, NULL, "user%", COL_PERCENT, 1);
	}
}

/* As COL_PERCENT wants it. */
static uint64_t share(uint64_t part, uint64_t whole)
{
	return whole ? uint64_of_double((double)part * 100000 / (double)whole + 0.5) : 0;
}

void durations_cells(struct cell *c, const struct durations *d, uint64_t all_ns, bool userspace)
{
	(c++)->number = d->count;
	(c++)->number = share(d->total_ns, all_ns);
	(c++)->number = d->total_ns;
	(c++)->number = d->min_ns;
	(c++)->number = d->mean_ns;
	(c++)->number = d->max_ns;
	(c++)->number = d->deviation_ns;
	(c++)->number = d->p50_ns;
	(c++)->number = d->p90_ns;
	(c++)->number = d->p99_ns;
	(c++)->number = d->p999_ns;
	if (userspace) {
		(c++)->number = d->userspace;
		(c++)->number = share(d->userspace, d->count);
	}
}

json_t *durations_json(const struct durations *d)
{
	struct table t = {0};
	struct cell cell[TABLE_COLUMNS_MAX] = {0};
	json_t *ret = json_object();

	durations_columns(&t, true);
	durations_cells(cell, d, 0, true);
	for (unsigned int i = 0; i < t.nr_columns; i++)
		if (t.column[i].key)
			json_object_set_new(ret, t.column[i].key,
					    json_u64(cell[i].number));
	return ret;
}
