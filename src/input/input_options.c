// SPDX-License-Identifier: GPL-2.0-or-later
#include "input/input_options.h"

bool input_options_have_window(const struct input_options *o)
{
	return o->since.ns || o->until.ns || o->period.ns;
}

bool input_options_have_filter(const struct input_options *o)
{
	return o->vms.nr || o->vcpus.nr || o->tids.nr || o->globs.nr || o->reasons.nr;
}

const char *input_options_only_file(const struct input_options *o)
{
	bool others = o->guests.nr || o->strict || input_options_have_filter(o);

	return o->files.nr == 1 && !others ? o->files.item[0] : NULL;
}

unsigned int input_options_nr_files(const struct input_options *o)
{
	return o->files.nr + o->guests.nr;
}

/* A time after the start; absolute if it is larger than the span and not before the trace. */
static uint64_t absolute(const struct input_options *o, uint64_t x, uint64_t start_ns,
			 uint64_t end_ns)
{
	uint64_t span = end_ns > start_ns ? end_ns - start_ns : 0;

	if (o->is_absolute || (x > span && x >= start_ns))
		return x;
	return x > UINT64_MAX - start_ns ? UINT64_MAX : start_ns + x;
}

bool input_options_window_needs_end(const struct input_options *o, uint64_t start_ns,
				    uint64_t end_ns)
{
	return (o->since.ns && absolute(o, o->since.ns, start_ns, end_ns) == o->since.ns) ||
	       (o->until.ns && absolute(o, o->until.ns, start_ns, end_ns) == o->until.ns);
}

bool input_options_window(const struct input_options *o, uint64_t start_ns, uint64_t end_ns,
			  uint64_t *ret_since, uint64_t *ret_until)
{
	*ret_since = o->since.ns ? absolute(o, o->since.ns, start_ns, end_ns) : 0;
	*ret_until = o->until.ns ? absolute(o, o->until.ns, start_ns, end_ns) : UINT64_MAX;
	if (o->period.ns && o->until.ns)
		*ret_since = *ret_until > o->period.ns ? *ret_until - o->period.ns : 0;
	else if (o->period.ns)
		*ret_until = (o->since.ns ? *ret_since : start_ns) + o->period.ns;
	return input_options_have_window(o);
}
