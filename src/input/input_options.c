// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The options that select inputs and what of them is read, and the counts of events and losses in the selected part.
 */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "input/input_private.h"
#include "readers/readers.h"
#include "tracefile/tracefile.h"

bool input_options_have_window(const struct input_options *o)
{
	return o->since.ns || o->until.ns || o->period.ns;
}

bool input_options_have_filter(const struct input_options *o)
{
	return o->vms.nr || o->vcpus.nr || o->tids.nr || o->globs.nr || o->reasons.nr ||
	       (o->where && o->where_events);
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

/* The selected events of an open input set, one by one, with the names of their threads. */

int input_events_open(const struct input_set *set, struct input_events *ret)
{
	*ret = (struct input_events){.set = set,
				     .names = thread_names_new(),
				     .batch = calloc(1, sizeof(*ret->batch)),
				     .more = 1};
	if (!ret->names || !ret->batch)
		return fail(-ENOMEM, "out of memory");
	return input_set_thread_names(set, ret->names);
}

void input_events_close(struct input_events *events)
{
	thread_names_free(events->names);
	free(events->batch);
	*events = (struct input_events){0};
}

static bool is_shown(const struct input_set *set, const struct event *ev)
{
	return ev->time_ns >= set->since_ns && ev->time_ns < set->until_ns &&
	       input_set_selects(set, ev);
}

int input_events_next(struct input_events *events, const struct event **ret)
{
	struct batch *batch = events->batch;

	*ret = NULL;
	while (events->more > 0) {
		while (events->at < batch->nr) {
			const struct event *ev = &batch->ev[events->at++];

			events->lost += lost_record_count(ev);
			thread_names_event(events->names, ev);
			if (is_shown(events->set, ev)) {
				*ret = ev;
				return 1;
			}
		}
		if (events->before_read)
			events->before_read(events->arg);
		events->more = reader_next(events->set->reader, batch);
		events->at = 0;
	}
	return events->more;
}

static bool wants_lost(const char *event, void *arg)
{
	(void)arg;
	return !strcmp(event, "lost");
}

struct window {
	uint64_t since_ns, until_ns;
	struct loss_sums *sums;
};

static int loss_add(void *arg, const struct event *ev)
{
	const struct window *w = arg;

	if (ev->time_ns >= w->since_ns && ev->time_ns < w->until_ns)
		losses_add(w->sums, ev);
	return 0;
}

static bool is_ours(const struct input *in)
{
	const struct trace_info *info = &in->reader->info;

	return !in->is_guest && info->lost &&
	       (!strcmp(info->kind, "hrt") || !strcmp(info->kind, "text"));
}

static int losses_read(const char *path, const struct read_hint *hint, struct window *window)
{
	_cleanup_reader_ struct reader *r = NULL;
	struct stat st;
	int err;

	if (stat(path, &st))
		return fail(-errno, "%s: %s", path, strerror(errno));
	if (!S_ISREG(st.st_mode))
		return 0;
	err = reader_open(path, hint, &r);
	if (err) {
		r = NULL;
		return err;
	}
	return reader_each(r, loss_add, window);
}

int input_losses(const struct input_set *set, struct loss_sums *ret)
{
	struct read_hint hint = {.since_ns = set->since_ns,
				 .until_ns = set->until_ns,
				 .files = &set->clocks->files,
				 .wants = wants_lost};
	struct window window = {set->since_ns, set->until_ns, ret};
	struct input_clocks *known = set->clocks;
	int err = 0;

	if (known->has_losses && known->since_ns == set->since_ns &&
	    known->until_ns == set->until_ns) {
		*ret = known->losses;
		return 0;
	}
	*ret = (struct loss_sums){.nr = 0};
	for (unsigned int i = 0; i < input_set_nr(set) && !err; i++)
		if (set->input[i].reader && is_ours(&set->input[i]))
			err = losses_read(set->input[i].path, &hint, &window);
	if (err < 0)
		return err;
	known->losses = *ret;
	known->since_ns = set->since_ns;
	known->until_ns = set->until_ns;
	known->has_losses = true;
	return 0;
}
