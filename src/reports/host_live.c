// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Which samples count is known at the end of an interval: those in the guest, or those in the kernel where that
 * emulates the guest. Both profiles are made, and one is dropped. Each interval has new ones: a profile's memory is
 * limited, and a live one has no end.
 */
#include "reports/host_live.h"

#include <errno.h>

#include "analyzers/profile/host_events.h"
#include "base/error.h"
#include "event/handlers.h"
#include "event/losses.h"

enum { KINDS = 2 };
static const enum host_profile_of kinds[KINDS] = {HOST_CLOCK, HOST_EMULATED};

struct host_live {
	const struct host_live_query *q;
	struct input_set *in;
	struct code_maps *maps;
	struct host_profile_options options[KINDS];
	struct host_profile *profile[KINDS]; /* NULL: no event of the interval has come */
	struct host_profile_totals totals;
	uint64_t start_ns, end_ns, last_ns, lost, pages;
};

static void interval_drop(struct host_live *l)
{
	for (int i = 0; i < KINDS; i++)
		host_profile_free(take_ptr(l->profile[i]));
	l->totals = (struct host_profile_totals){.sample_hz = l->totals.sample_hz};
	l->lost = 0;
}

/* Intervals without events are skipped. */
static int interval_begin(struct host_live *l, uint64_t time_ns)
{
	uint64_t passed = time_ns > l->end_ns ? (time_ns - l->end_ns) / l->q->interval_ns : 0;
	int err = 0;

	l->start_ns = l->end_ns + passed * l->q->interval_ns;
	l->end_ns = l->start_ns + l->q->interval_ns;
	for (int i = 0; i < KINDS && !err; i++) {
		struct host_profile_options *o = &l->options[i];

		*o = l->q->options;
		o->of = kinds[i];
		o->until_ns = UINT64_MAX;
		o->maps = l->maps;
		o->vms = input_set_nr_vms(l->in) > 1 ? l->in->vms : NULL;
		err = host_profile_new(l->in->reader, o, &l->profile[i]);
	}
	return err;
}

static int page_put(struct host_live *l, uint64_t end_ns, struct calltree *tree)
{
	const struct host_live_page page = {l->start_ns, end_ns, &l->totals, tree, l->lost};

	l->pages++;
	return l->q->page(l->q->arg, &page);
}

static int interval_end(struct host_live *l, uint64_t end_ns)
{
	_cleanup_(calltree_cleanup_) struct calltree *tree = NULL;
	const struct host_profile_totals *t = &l->totals;
	bool emulated = !t->clock[0] && t->clock[1];
	int err = 0;

	if (l->profile[emulated] && (t->clock[0] || t->clock[1] || t->host.all))
		err = host_profile_end(l->profile[emulated], l->in->reader, &l->totals, &tree);
	if (!err && tree && calltree_hits(tree))
		err = page_put(l, end_ns, tree);
	interval_drop(l);
	return err;
}

static bool is_over(const struct host_live *l)
{
	return l->q->count && l->pages >= l->q->count;
}

static int live_event(struct host_live *l, const struct event *ev)
{
	int err = 0;

	if (ev->time_ns >= l->end_ns) {
		err = interval_end(l, l->end_ns);
		if (err || is_over(l))
			return err;
	}
	if (!l->profile[0])
		err = interval_begin(l, ev->time_ns);
	if (err)
		return err;
	l->last_ns = ev->time_ns > l->last_ns ? ev->time_ns : l->last_ns;
	l->lost += lost_record_count(ev);
	host_profile_count(&l->options[0], ev, &l->totals);
	for (int i = 0; i < KINDS && !err; i++)
		err = host_profile_event(l->profile[i], ev);
	return err;
}

static int live_read_all(struct host_live *l)
{
	_cleanup_free_ struct batch *batch = calloc(1, sizeof(*batch));
	int more = 1, err = batch ? 0 : fail(-ENOMEM, "out of memory");

	while (!err && !is_over(l) && (more = reader_next(l->in->reader, batch)) > 0)
		for (unsigned int i = 0; i < batch->nr && !err && !is_over(l); i++)
			err = live_event(l, &batch->ev[i]);
	if (!err && more < 0)
		err = more;
	return err || is_over(l) ? err : interval_end(l, l->last_ns);
}

static int live_open(struct host_live *l)
{
	struct trace_info *info;
	int err;

	input_set_where_on(l->in, host_profile_where_on);
	err = input_set_open(l->in, host_profile_wants, NULL);
	if (err)
		return err;
	info = &l->in->reader->info;
	l->start_ns = l->end_ns = info->start_ns;
	l->totals.sample_hz =
		(uint64_t)json_integer_value(json_object_get(info->meta, "sample_hz"));
	if (!l->totals.sample_hz)
		return fail_hint(fail(-ENODATA, "%s: the recording has no samples", info->file),
				 "record with --sample HZ");
	return code_maps_open(info, &l->in->options->code, &l->maps);
}

int host_live_run(const struct host_live_query *q, struct input_set *in)
{
	struct host_live l = {.q = q, .in = in};
	int err = live_open(&l);

	if (!err)
		err = live_read_all(&l);
	interval_drop(&l);
	code_maps_close(l.maps);
	return err;
}
