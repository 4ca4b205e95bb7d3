// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * --where on events. A misspelt field would match nothing, so the condition's fields are looked for before: the inputs
 * are read until each has been met in an event of a type that has it, which is usually among the first, or to their
 * ends, where it is an error that lists the fields. An input that is read while it is written is not read before.
 */
#include "base/error.h"
#include "event/event_where.h"
#include "input/input_private.h"
#include "readers/readers.h"

enum { FOUND = 1 };

static int type_learn(void *where, const struct event *ev)
{
	return event_where_learn(where, ev->type) ? FOUND : 0;
}

static int input_look(const struct input *in, struct event_where *w, struct open_files *files)
{
	_cleanup_reader_ struct reader *r = NULL;
	struct read_hint hint = {.until_ns = UINT64_MAX, .files = files, .guest = in->is_guest};
	int err = reader_open(in->path, &hint, &r);

	if (err)
		r = NULL;
	return err ? err : reader_each(r, type_learn, w);
}

/* Inputs without any event have no fields, and nothing to match. */
static int fields_check(const struct input_set *set, struct event_where *w)
{
	int err = 0;

	for (unsigned int i = 0; !err && i < input_set_nr(set); i++)
		err = input_look(&set->input[i], w, &set->clocks->files);
	if (err)
		return err == FOUND ? 0 : err;
	return event_where_check(w);
}

int input_where_make(const struct input_set *set, struct event_where **ret)
{
	const struct input_options *o = set->options;
	_cleanup_(event_where_cleanup_) struct event_where *w = NULL;
	int err = 0;

	*ret = NULL;
	if (!o->where || !o->where_events)
		return 0;
	w = event_where_new("--where", o->where);
	if (!w)
		return error_code();
	event_where_set_vms(w, set->vms);
	if (!o->follow && !set->clocks->where_checked)
		err = fields_check(set, w);
	if (err)
		return err;
	set->clocks->where_checked = true;
	*ret = take_ptr(w);
	return 0;
}
