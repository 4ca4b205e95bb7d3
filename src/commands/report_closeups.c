// SPDX-License-Identifier: GPL-2.0-or-later
#include "commands/report_closeups.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/order.h"
#include "commands/common/input.h"
#include "commands/common/section.h"

enum {
	CLOSEUPS_MAX = 5,
	SLICES_MAX = 400, /* of each */
	MARGIN_PART = 4,  /* of the exit's length, before and after it */
	MARGIN_NS = 20000,
};

static uint64_t number(const json_t *o, const char *key)
{
	return (uint64_t)json_integer_value(json_object_get(o, key));
}

static const char *text(const json_t *o, const char *key)
{
	const char *t = json_string_value(json_object_get(o, key));

	return t ? t : "";
}

/* The window of an exit. False: it overlaps one of `rows`. */
static bool window_of(const json_t *exit, const json_t *rows, uint64_t *ret_since,
		      uint64_t *ret_until)
{
	uint64_t at = number(exit, "time_ns"), ns = number(exit, "latency_ns"),
		 margin = ns / MARGIN_PART + MARGIN_NS;
	const json_t *row;
	size_t i;

	*ret_since = at > margin ? at - margin : 0;
	*ret_until = at + ns + margin;
	json_array_foreach (rows, i, row)
		if (*ret_since < number(row, "until_ns") && number(row, "since_ns") < *ret_until)
			return false;
	return true;
}

/* The index of a slice's track, which is added. */
static int track_of(json_t *tracks, const json_t *slice)
{
	json_t *group = json_object_get(slice, "group"), *name = json_object_get(slice, "track"),
	       *one;
	size_t i;

	json_array_foreach (tracks, i, one)
		if (json_equal(json_object_get(one, "group"), group) &&
		    json_equal(json_object_get(one, "name"), name))
			return (int)i;
	json_array_append_new(tracks, json_pack("{s:O,s:O}", "group", group, "name", name));
	return (int)i;
}

static int longest_first(const void *a, const void *b)
{
	static const char *const texts[] = {"group", "track", "kind", "name"};
	const json_t *x = *(json_t *const *)a, *y = *(json_t *const *)b;
	int order = order_u64(number(y, "duration_ns"), number(x, "duration_ns"));

	order = order ? order : order_u64(number(x, "start_ns"), number(y, "start_ns"));
	for (size_t i = 0; !order && i < sizeof(texts) / sizeof(texts[0]); i++)
		order = strcmp(text(x, texts[i]), text(y, texts[i]));
	return order;
}

/* The longest slices of the timeline's rows; points come last. */
static int slices_make(const json_t *rows, json_t *ret_tracks, json_t *ret_slices)
{
	size_t nr = json_array_size(rows);
	json_t **all = calloc(nr + 1, sizeof(*all));

	if (!all)
		return fail(-ENOMEM, "out of memory");
	for (size_t i = 0; i < nr; i++)
		all[i] = json_array_get(rows, i);
	qsort(all, nr, sizeof(*all), longest_first);
	for (size_t i = 0; i < nr && i < SLICES_MAX; i++)
		json_array_append_new(ret_slices,
				      json_pack("[i,O,O,O,O]", track_of(ret_tracks, all[i]),
						json_object_get(all[i], "start_ns"),
						json_object_get(all[i], "duration_ns"),
						json_object_get(all[i], "kind"),
						json_object_get(all[i], "name")));
	free(all);
	return 0;
}

/* Runs `timeline` in a window of its own. */
static int timeline_run(uint64_t since, uint64_t until, json_t **ret)
{
	struct input_options given = input_given;
	int err;

	input_given.since = (struct time_arg){.text = "the exit", .ns = since};
	input_given.until = (struct time_arg){.text = "the exit's end", .ns = until};
	input_given.period = (struct time_arg){0};
	input_given.is_absolute = true;
	err = section_run((const char *const[]){"timeline", NULL}, ret);
	input_given = given;
	return err;
}

static int closeup_add(const json_t *exit, json_t *rows)
{
	json_auto_t *timeline = NULL;
	json_t *tracks, *slices, *of;
	uint64_t since, until;
	int err;

	if (!window_of(exit, rows, &since, &until))
		return 0;
	err = timeline_run(since, until, &timeline);
	if (err)
		return err;
	of = json_object_get(timeline, "rows");
	tracks = json_array();
	slices = json_array();
	err = slices_make(of, tracks, slices);
	json_array_append_new(
		rows, json_pack("{s:I,s:I,s:O,s:O,s:O,s:O,s:o,s:I,s:o}", "since_ns",
				(json_int_t)since, "until_ns", (json_int_t)until, "exit_ns",
				json_object_get(exit, "time_ns"), "latency_ns",
				json_object_get(exit, "latency_ns"), "reason",
				json_object_get(exit, "reason"), "vcpu",
				json_object_get(exit, "vcpu"), "tracks", tracks, "slices_not_shown",
				(json_int_t)(json_array_size(of) - json_array_size(slices)),
				"slices", slices));
	return err;
}

int report_closeups(const json_t *blame, json_t **ret)
{
	json_t *rows = json_array(), *exit;
	int err = 0;
	size_t i;

	*ret = NULL;
	json_array_foreach (json_object_get(blame, "rows"), i, exit)
		if (!err && json_array_size(rows) < CLOSEUPS_MAX)
			err = closeup_add(exit, rows);
	if (!err && json_array_size(rows))
		*ret = json_pack("{s:O}", "rows", rows);
	json_decref(rows);
	return err;
}
