// SPDX-License-Identifier: GPL-2.0-or-later
/* hostrace diff: how often each event occurred, and the same of a table that another tool printed.
 */
#include "commands/diff.h"

#include <errno.h>

#include "base/array.h"
#include "base/error.h"

static int event_count(void *arg, const struct event *ev)
{
	if (ev->type->id == EV_lost || ev->type->id == EV_gap)
		return 0;
	return series_add(arg, (const uint64_t[]){ev->type->index}, ev->time_ns, 0, 1);
}

static bool event_name(void *arg, const uint64_t *label, char *buf, size_t size)
{
	(void)arg;
	snprintf(buf, size, "%s", event_type_at((unsigned int)*label)->name);
	return true;
}

static int counts_read(struct input_set *in, struct series_set **ret)
{
	int err = input_set_open(in, NULL, NULL);

	if (!err && !(*ret = series_new(input_set_start_ns(in), 1)))
		err = -ENOMEM;
	if (!err)
		err = reader_each(in->reader, event_count, *ret);
	return err ? err : diff_series_end(*ret, in, event_name, NULL);
}

int diff_read_counts(const struct input_options *options, struct series_set **ret)
{
	_cleanup_input_set_ struct input_set *in = NULL;
	int err = input_set_new(options, &in);

	*ret = NULL;
	return err ? err : counts_read(in, ret);
}

int diff_read_table(const struct diff_kind *kind, const struct tool_table *t,
		    struct series_set **ret)
{
	enum tool_row_of of = kind->read ? ROW_OF_EVENT : ROW_OF_REASON;
	int err = 0;

	*ret = NULL;
	if (!tool_table_rows_of(t, of))
		return 0;
	*ret = series_new(0, 1);
	if (!*ret)
		return -ENOMEM;
	for (size_t i = 0; i < t->nr && !err; i++) {
		const struct tool_row *r = &t->row[i];
		bool mean = r->mean_ns != TOOL_TABLE_UNKNOWN;

		if (r->of == of && r->count != TOOL_TABLE_UNKNOWN)
			err = series_add_sum(*ret, r->name, r->count,
					     mean ? (double)r->mean_ns : 0);
	}
	(*ret)->span_ns = t->span_ns;
	return err;
}

/* Keeps the series that the other set has too. Returns how many it dropped. */
static unsigned int common_keep(struct series_set *s, const struct series_set *other)
{
	unsigned int nr = s->nr;

	s->nr = 0;
	for (unsigned int i = 0; i < nr; i++) {
		struct series *one = s->list[i];

		if (array_any(other->nr, k, !strcmp(other->list[k]->key, one->key)))
			s->list[s->nr++] = one;
		else
			series_free_one(one);
	}
	return nr - s->nr;
}

unsigned int diff_counts_common(struct series_set *a, struct series_set *b)
{
	unsigned int dropped = common_keep(a, b);

	return dropped + common_keep(b, a);
}
