// SPDX-License-Identifier: GPL-2.0-or-later
/* Where a recording begins and ends that was cut when it was converted. */
#include "input/input_set.h"

/* An input that was cut before may be merged with one that was not. */
static bool is_cut(const struct input_set *set)
{
	for (unsigned int i = 0; i < input_set_nr(set); i++)
		if (json_object_get(set->input[i].reader->info.meta, "window_start_ns"))
			return true;
	return set->is_trimmed;
}

static void put(const struct input_set *set, const char *key, uint64_t ns, json_t *meta)
{
	if (is_cut(set))
		json_object_set_new(meta, key, json_integer((json_int_t)ns));
}

void input_set_put_start(const struct input_set *set, json_t *meta)
{
	put(set, "window_start_ns", input_set_start_ns(set), meta);
}

void input_set_put_end(const struct input_set *set, json_t *meta)
{
	put(set, "window_end_ns", input_set_end_ns(set), meta);
}
