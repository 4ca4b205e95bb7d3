// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The names of slice kinds; making groups, tracks, slices, points and counters, and passing them to the timeline's
 * sink.
 */
#include <errno.h>
#include <stdarg.h>

#include "analyzers/timeline/timeline.h"
#include "base/array.h"
#include "base/error.h"
#include "event/event.h"
#include "model/threads.h"
#include "pairing/elements.h"

const char timeline_formats[] = "text json csv svg html perfetto chrome";

const char *slice_kind_name(enum slice_kind kind)
{
	static const char *const names[] = {
		[SLICE_GUEST] = "guest",	 [SLICE_KERNEL] = "kernel",
		[SLICE_USERSPACE] = "userspace", [SLICE_HALTED] = "halted",
		[SLICE_PREEMPTED] = "preempted", [SLICE_RUNQUEUE] = "runqueue",
		[SLICE_BLOCKED] = "blocked",	 [SLICE_RUNNING] = "running",
		[SLICE_TASK] = "task",		 [SLICE_IRQ] = "irq",
		[SLICE_REQUEST] = "request",	 [SLICE_INSTANT] = "instant",
		[SLICE_SPAN] = "span",
	};

	return names[kind];
}

static char *name_make(const char *fmt, va_list args)
{
	char *name;

	if (vasprintf(&name, fmt, args) < 0)
		return NULL;
	text_sanitize(name);
	return name;
}

uint32_t timeline_group(struct timeline *t, uint32_t pid, bool guest, const char *fmt, ...)
{
	struct timeline_group *g = &t->group[t->nr_groups];
	va_list args;

	if (t->nr_groups == TIMELINE_GROUPS_MAX)
		return UINT32_MAX;
	va_start(args, fmt);
	*g = (struct timeline_group){.name = name_make(fmt, args), .pid = pid, .guest = guest};
	va_end(args);
	if (!g->name)
		return UINT32_MAX;
	return t->nr_groups++;
}

void timeline_group_vm(struct timeline *t, uint32_t group, const char *vm)
{
	if (group < t->nr_groups)
		t->group[group].vm = strdup(vm);
}

static uint32_t track_new(struct timeline *t, uint32_t group, uint64_t order, uint32_t tid,
			  const char *fmt, va_list args)
{
	struct timeline_track *tr;

	if (group >= t->nr_groups || t->nr_tracks == TIMELINE_TRACKS_MAX)
		return UINT32_MAX;
	if (array_room(t->track, t->nr_tracks))
		return UINT32_MAX;
	tr = &t->track[t->nr_tracks];
	*tr = (struct timeline_track){.name = name_make(fmt, args), .group = group, .tid = tid,
				      .order = order};
	if (!tr->name)
		return UINT32_MAX;
	return t->nr_tracks++;
}

uint32_t timeline_track(struct timeline *t, uint32_t group, enum track_rank rank, uint32_t number,
			uint32_t tid, const char *fmt, ...)
{
	uint32_t track;
	va_list args;

	va_start(args, fmt);
	track = track_new(t, group, (uint64_t)rank << 32 | number, tid, fmt, args);
	va_end(args);
	return track;
}

void timeline_track_comm(struct timeline *t, uint32_t track, const char *comm, uint32_t number)
{
	struct timeline_track *tr = track < t->nr_tracks ? &t->track[track] : NULL;
	size_t len = strlen(comm);
	char *name;

	if (!tr || (tr->written && !t->ops->names_at_end) ||
	    (!strncmp(tr->name, comm, len) && tr->name[len] == ' '))
		return;
	if (asprintf(&name, "%s %u", comm, number) < 0)
		return;
	text_sanitize(name);
	free(tr->name);
	tr->name = name;
}

uint32_t timeline_counter(struct timeline *t, uint32_t group, enum track_rank rank, uint32_t number,
			  const char *fmt, ...)
{
	uint32_t track = UINT32_MAX;
	va_list args;

	va_start(args, fmt);
	if (t->ops->count)
		track = track_new(t, group, (uint64_t)rank << 32 | number, 0, fmt, args);
	va_end(args);
	if (track != UINT32_MAX)
		t->track[track].is_counter = true;
	return track;
}

bool timeline_clip(struct timeline_slice *s, uint64_t since_ns, uint64_t until_ns)
{
	bool point = s->start_ns == s->end_ns;

	if (s->start_ns >= until_ns || s->end_ns < since_ns + !point)
		return false;
	if (s->start_ns < since_ns)
		s->start_ns = since_ns;
	if (s->end_ns > until_ns)
		s->end_ns = until_ns;
	return true;
}

/* What has no slice in the window is not written. */
static void track_write(struct timeline *t, uint32_t track)
{
	struct timeline_track *tr = &t->track[track];
	struct timeline_group *g = &t->group[tr->group];

	if (tr->written)
		return;
	if (!g->written && t->ops->group)
		t->ops->group(t, tr->group);
	if (t->ops->track)
		t->ops->track(t, track);
	g->written = tr->written = true;
}

void timeline_slice(struct timeline *t, struct timeline_slice *s)
{
	bool cut = s->start_ns < t->since_ns ||
		   (s->end_ns >= t->until_ns && t->until_ns != UINT64_MAX);

	if (!timeline_clip(s, t->since_ns, t->until_ns))
		return;
	if (s->track >= t->nr_tracks) {
		t->not_drawn++;
		return;
	}
	t->nr_slices++;
	t->nr_cut += cut;
	track_write(t, s->track);
	if (s->end_ns > t->end_ns)
		t->end_ns = s->end_ns;
	t->ops->slice(t, s);
}

/* A value that the window begins with is written with the first one in it. */
void timeline_count(struct timeline *t, uint32_t track, uint64_t ns, uint64_t value)
{
	struct timeline_track *tr = track < t->nr_tracks ? &t->track[track] : NULL;

	if (!tr || ns >= t->until_ns)
		return;
	if (ns < t->since_ns) {
		tr->has_before = true;
		tr->before = value;
		return;
	}
	track_write(t, track);
	if (tr->has_before)
		t->ops->count(t, track, t->since_ns, tr->before);
	tr->has_before = false;
	t->ops->count(t, track, ns, value);
}

void timeline_window(struct timeline *t, uint64_t since_ns, uint64_t until_ns)
{
	t->since_ns = since_ns;
	t->until_ns = until_ns;
}

/* ---- links ---- */

static int link_compare(const void *a, const void *b)
{
	const struct timeline_link *x = a, *y = b;

	if (x->ns != y->ns)
		return x->ns < y->ns ? -1 : 1;
	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	return (x->number > y->number) - (x->number < y->number);
}

void timeline_links_set(struct timeline *t, struct timeline_link *list, size_t nr)
{
	t->link = list;
	t->nr_links = nr;
	for (size_t i = 0; i < nr; i++)
		if (list[i].flow > t->next_flow)
			t->next_flow = list[i].flow;
	if (nr)
		qsort(list, nr, sizeof(*list), link_compare);
}

const struct timeline_link *timeline_link_find(const struct timeline *t, enum link_kind kind,
					       uint32_t pid, uint64_t ns, uint64_t number)
{
	struct timeline_link key = {.ns = ns, .number = number, .pid = pid, .kind = kind},
			     *found = NULL;

	if (t->nr_links)
		found = bsearch(&key, t->link, t->nr_links, sizeof(key), link_compare);
	while (found && found > t->link && !link_compare(found - 1, &key))
		found--;
	return found;
}

/* ---- runs ---- */

void run_end(struct timeline *t, struct timeline_run *run, uint64_t ns)
{
	struct timeline_slice s = {.track = run->track,
				   .kind = run->kind,
				   .start_ns = run->since_ns,
				   .end_ns = ns > run->since_ns ? ns : run->since_ns,
				   .name = run->fixed ?: run->name,
				   .flow = run->flow,
				   .nr_flows = run->nr_flows};

	if (!run->on)
		return;
	run->on = false;
	run->nr_flows = 0;
	timeline_slice(t, &s);
}

void run_begin_named(struct timeline *t, struct timeline_run *run, uint64_t ns,
		     enum slice_kind kind, const char *name)
{
	run_end(t, run, ns);
	run->on = true;
	run->kind = kind;
	run->since_ns = ns;
	run->fixed = name;
}

void run_begin(struct timeline *t, struct timeline_run *run, uint64_t ns, enum slice_kind kind,
	       const char *fmt, ...)
{
	va_list args;

	run_begin_named(t, run, ns, kind, NULL);
	va_start(args, fmt);
	vsnprintf(run->name, sizeof(run->name), fmt, args);
	va_end(args);
	text_sanitize(run->name);
}

void run_flow(struct timeline_run *run, uint64_t flow)
{
	if (run->on && flow && run->nr_flows < TIMELINE_FLOWS)
		run->flow[run->nr_flows++] = flow;
}

void run_links(const struct timeline *t, struct timeline_run *run, enum link_kind kind,
	       uint32_t pid, uint64_t number)
{
	const struct timeline_link *first =
		t->nr_links ? timeline_link_find(t, kind, pid, run->since_ns, number) : NULL;

	for (const struct timeline_link *l = first; l && l < t->link + t->nr_links; l++) {
		if (link_compare(l, first))
			break;
		run_flow(run, l->flow);
	}
}

/* ---- open and close ---- */

int timeline_open(const struct timeline_ops *ops, struct report *r, json_t *caveats,
		  uint64_t start_ns, struct timeline **ret)
{
	struct timeline *t = calloc(1, sizeof(*t));
	int err;

	if (!t)
		return fail(-ENOMEM, "out of memory");
	t->report = r;
	t->start_ns = start_ns;
	t->ops = ops;
	t->until_ns = UINT64_MAX;
	t->caveats = caveats;
	err = t->ops->open(t);
	if (err)
		timeline_cancel(t);
	else
		*ret = t;
	return err;
}

void timeline_cancel(struct timeline *t)
{
	if (!t)
		return;
	for (uint32_t i = 0; i < t->nr_groups; i++) {
		free(t->group[i].name);
		free(t->group[i].vm);
	}
	for (uint32_t i = 0; i < t->nr_tracks; i++)
		free(t->track[i].name);
	free(t->track);
	free(t->link);
	free(t->state);
	free(t);
}

int timeline_close(struct timeline *t)
{
	int err;

	if (t->not_drawn && t->caveats) {
		char line[96];

		snprintf(line, sizeof(line), "%llu slices were dropped: too many tracks",
			 (unsigned long long)t->not_drawn);
		json_array_append_new(t->caveats, json_string(line));
	}
	if (t->nr_cut && t->caveats) {
		char line[96];

		snprintf(line, sizeof(line),
			 "slices cut at the start or end of the time window: %llu",
			 (unsigned long long)t->nr_cut);
		json_array_append_new(t->caveats, json_string(line));
	}
	err = t->ops->close(t);
	timeline_cancel(t);
	return err;
}
