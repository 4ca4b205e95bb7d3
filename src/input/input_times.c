// SPDX-License-Identifier: GPL-2.0-or-later
/* The units of the inputs' timestamps, and the time window over all inputs. */
#include <errno.h>
#include <stdlib.h>

#include "base/error.h"
#include "input/input_private.h"

/* Has one of the hosts' inputs, which are open, times in ticks of an unknown rate? */
static bool any_in_ticks(const struct input_set *set)
{
	for (unsigned int i = 0; i < set->nr_hosts; i++)
		if (trace_info_in_ticks(&set->input[i].reader->info))
			return true;
	return false;
}

static int ticks_reject(const struct trace_info *info)
{
	if (!json_object_get(info->meta, "tsc_map"))
		return fail(-EINVAL, "%s: it has no timestamps, which this report needs",
			    info->file);
	return fail_hint(fail(-EINVAL, "%s: its timestamps are ticks of an unknown frequency",
			      info->file),
			 "give it with --tsc-khz KHZ");
}

int input_units_check(const struct input_set *set)
{
	bool first = trace_info_in_ticks(&set->input[0].reader->info);

	for (unsigned int i = 0; i < set->nr_hosts; i++) {
		const struct trace_info *info = &set->input[i].reader->info;

		if (trace_info_in_ticks(info) != first ||
		    (trace_info_in_ticks(info) && !set->options->allow_ticks))
			return ticks_reject(first ? &set->input[0].reader->info : info);
	}
	return 0;
}

/* The first and the last time of all inputs, which are open, as far as they know it. */
static void span_of(const struct input_set *set, uint64_t *ret_start, uint64_t *ret_end)
{
	*ret_start = UINT64_MAX;
	*ret_end = 0;
	for (unsigned int i = 0; i < input_set_nr(set); i++) {
		const struct trace_info *info = &set->input[i].reader->info;
		uint64_t end = info->last_ns > info->end_ns ? info->last_ns : info->end_ns;

		if (info->start_ns || end) /* else it has no events, or does not know */
			*ret_start = info->start_ns < *ret_start ? info->start_ns : *ret_start;
		*ret_end = end > *ret_end ? end : *ret_end;
	}
	*ret_start = *ret_start == UINT64_MAX ? 0 : *ret_start;
}

/* Reads those inputs to their ends that do not know them otherwise. They cannot be read again. */
static int ends_read(struct input_set *set)
{
	_cleanup_free_ struct batch *batch = malloc(sizeof(*batch));
	int more = batch ? 0 : fail(-ENOMEM, "out of memory");

	for (unsigned int i = 0; i < input_set_nr(set) && !more; i++) {
		struct reader *r = set->input[i].reader;

		while (!r->info.last_ns && (more = reader_next(r, batch)) > 0)
			;
	}
	return more;
}

int input_window_make(struct input_set *set, struct read_hint *hint)
{
	const struct input_options *o = set->options;
	uint64_t start, end;
	int err;

	if (o->since.ns && o->until.ns && o->period.ns)
		return fail_usage(-EINVAL,
				  "--period cannot be combined with both --since and --until");
	if (any_in_ticks(set))
		return fail_hint(fail(-EINVAL, "%s: the frequency of its timestamps is unknown: a "
					       "time window cannot be applied",
				      set->input[0].path),
				 "give it with --tsc-khz KHZ");
	span_of(set, &start, &end);
	if (input_options_window_needs_end(o, start, end)) {
		err = ends_read(set);
		if (err)
			return err;
		span_of(set, &start, &end);
	}
	input_options_window(o, start, end, &hint->since_ns, &hint->until_ns);
	if (hint->since_ns >= hint->until_ns)
		return fail_usage(-EINVAL, "--since is not before --until");
	return 0;
}
