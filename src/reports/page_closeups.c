// SPDX-License-Identifier: GPL-2.0-or-later
/* Windows around the slowest exits, in which one timeline is drawn; of each, only the longest slices are kept. */
#include "base/json_text.h"
#include "reports/page_closeups.h"

#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "base/order.h"
#include "reports/drawing.h"

enum {
	CLOSEUPS_MAX = 5,
	SLICES_MAX = 400, /* of each: the longest */
	MARGIN_PART = 4,  /* of the exit's length, before and after it */
	MARGIN_NS = 20000,
};

/* ---- the longest slices of a timeline ---- */

struct slice {
	uint32_t track;
	enum slice_kind kind;
	uint64_t start_ns, ns;
	char name[TIMELINE_NAME_BYTES];
};

/* Of a window. When the array is full, the shorter half is dropped. */
struct longest {
	const json_t *exit;
	uint64_t since_ns, until_ns;
	struct slice slice[2 * SLICES_MAX];
	unsigned int nr;
	uint64_t dropped;
};

/* The windows do not overlap; one timeline is drawn for all, from the first one's start to the last one's end. */
struct windows {
	struct longest window[CLOSEUPS_MAX];
	unsigned int nr;
};

/* Points come last. */
static int longest_first(const void *a, const void *b, void *timeline)
{
	const struct timeline *t = timeline;
	const struct slice *x = a, *y = b;
	const struct timeline_track *p = &t->track[x->track], *q = &t->track[y->track];
	int order = order_u64(y->ns, x->ns);

	order = order ? order : order_u64(x->start_ns, y->start_ns);
	order = order ? order : strcmp(t->group[p->group].name, t->group[q->group].name);
	order = order ? order : strcmp(p->name, q->name);
	order = order ? order : strcmp(slice_kind_name(x->kind), slice_kind_name(y->kind));
	return order ? order : strcmp(x->name, y->name);
}

static void longest_keep(struct timeline *t, struct longest *l)
{
	qsort_r(l->slice, l->nr, sizeof(l->slice[0]), longest_first, t);
	if (l->nr > SLICES_MAX) {
		l->dropped += l->nr - SLICES_MAX;
		l->nr = SLICES_MAX;
	}
}

static int longest_open(struct timeline *t)
{
	t->state = calloc(1, sizeof(struct windows));
	return t->state ? 0 : -ENOMEM;
}

static void longest_ignore(struct timeline *t, uint32_t index)
{
	(void)t, (void)index;
}

static void longest_add(struct timeline *t, struct longest *l, const struct timeline_slice *s)
{
	size_t len = strnlen(s->name, sizeof(l->slice->name) - 1);
	struct slice *one;

	if (l->nr == 2 * SLICES_MAX)
		longest_keep(t, l);
	one = &l->slice[l->nr++];
	one->track = s->track;
	one->kind = s->kind;
	one->start_ns = s->start_ns;
	one->ns = s->end_ns - s->start_ns;
	memcpy(one->name, s->name, len);
	one->name[len] = '\0';
}

static void longest_slice(struct timeline *t, const struct timeline_slice *whole)
{
	struct windows *w = t->state;

	for (unsigned int i = 0; i < w->nr; i++) {
		struct longest *l = &w->window[i];
		struct timeline_slice s;

		if (whole->end_ns < l->since_ns || whole->start_ns >= l->until_ns)
			continue;
		s = *whole;
		if (timeline_clip(&s, l->since_ns, l->until_ns))
			longest_add(t, l, &s);
	}
}

/* The index of a slice's track, which is added. */
static int track_of(json_t *tracks, const char *group, const char *name)
{
	json_t *one;
	size_t i;

	json_array_foreach (tracks, i, one)
		if (!strcmp(json_string_value(json_object_get(one, "group")), group) &&
		    !strcmp(json_string_value(json_object_get(one, "name")), name))
			return (int)i;
	json_array_append_new(tracks, json_pack("{s:s,s:s}", "group", group, "name", name));
	return (int)i;
}

static json_t *window_json(struct timeline *t, struct longest *l)
{
	json_t *tracks = json_array(), *slices = json_array();

	longest_keep(t, l);
	for (unsigned int i = 0; i < l->nr; i++) {
		const struct slice *s = &l->slice[i];
		const struct timeline_track *track = &t->track[s->track];
		int nr = track_of(tracks, t->group[track->group].name, track->name);

		json_array_append_new(slices, json_pack("[i,I,I,s,s]", nr, (json_int_t)s->start_ns,
							(json_int_t)s->ns, slice_kind_name(s->kind),
							s->name));
	}
	return json_pack("{s:I,s:I,s:O,s:O,s:O,s:O,s:o,s:I,s:o}", "since_ns",
			 (json_int_t)l->since_ns, "until_ns", (json_int_t)l->until_ns, "exit_ns",
			 json_object_get(l->exit, "time_ns"), "latency_ns",
			 json_object_get(l->exit, "latency_ns"), "reason",
			 json_object_get(l->exit, "reason"), "vcpu",
			 json_object_get(l->exit, "vcpu"), "tracks", tracks, "slices_not_shown",
			 (json_int_t)l->dropped, "slices", slices);
}

static int longest_close(struct timeline *t)
{
	struct windows *w = t->state;
	json_t *rows = json_array();

	for (unsigned int i = 0; i < w->nr; i++)
		json_array_append_new(rows, window_json(t, &w->window[i]));
	*t->report->out->tree = json_pack("{s:o}", "rows", rows);
	return 0;
}

static const struct timeline_ops longest_timeline = {
	.open = longest_open,
	.group = longest_ignore,
	.track = longest_ignore,
	.slice = longest_slice,
	.close = longest_close,
};

/* ---- the windows ---- */

struct closeups {
	struct thread_names *names; /* NULL: there is no exit */
	struct drawing d;
	struct output out;
	struct report report;
	json_t *tree;
};

/* The window of an exit; one that overlaps another one's is not shown. */
static void window_add(struct windows *w, const json_t *exit)
{
	uint64_t at = (uint64_t)number_of(exit, "time_ns"),
		 ns = (uint64_t)number_of(exit, "latency_ns"),
		 margin = ns / MARGIN_PART + MARGIN_NS;
	uint64_t since = at > margin ? at - margin : 0, until = at + ns + margin;

	for (unsigned int i = 0; i < w->nr; i++)
		if (since < w->window[i].until_ns && w->window[i].since_ns < until)
			return;
	w->window[w->nr].exit = exit;
	w->window[w->nr].since_ns = since;
	w->window[w->nr++].until_ns = until;
}

static int drawing_begin(struct closeups *c, const struct result *r, const json_t *exits)
{
	uint64_t start_ns = r->in->reader->info.start_ns, since_ns = UINT64_MAX, until_ns = 0;
	const json_t *exit;
	struct windows *w;
	size_t i;
	int err;

	c->out = (struct output){.format = "tree", .tree = &c->tree};
	c->report = result_report(r, &c->out);
	err = timeline_open(&longest_timeline, &c->report, NULL, start_ns, &c->d.t);
	if (err)
		return err;
	w = c->d.t->state;
	json_array_foreach (exits, i, exit)
		if (w->nr < CLOSEUPS_MAX)
			window_add(w, exit);
	for (unsigned int k = 0; k < w->nr; k++) {
		since_ns = w->window[k].since_ns < since_ns ? w->window[k].since_ns : since_ns;
		until_ns = w->window[k].until_ns > until_ns ? w->window[k].until_ns : until_ns;
	}
	timeline_window(c->d.t, start_ns > since_ns ? start_ns : since_ns, until_ns);
	c->d.in = r->in;
	c->d.names = c->names;
	c->d.until_ns = until_ns;
	return drawing_open(&c->d);
}

static int closeups_open(struct result *r)
{
	const struct page_closeups_query *q = r->query->of;
	const json_t *slowest, *exits;
	struct closeups *c = r->state;
	int err = q->slowest(q->arg, &slowest);

	if (err)
		return err;
	exits = json_object_get(slowest, "rows");
	if (!json_array_size(exits))
		return 0;
	c->names = thread_names_new();
	err = c->names ? input_set_thread_names(r->in, c->names) : fail(-ENOMEM, "out of memory");
	return err ? err : drawing_begin(c, r, exits);
}

static int closeups_event(void *state, const struct event *ev)
{
	struct closeups *c = state;

	if (!c->names)
		return 0;
	thread_names_event(c->names, ev);
	return drawing_event(&c->d, ev);
}

static int closeups_end(struct result *r)
{
	struct closeups *c = r->state;
	struct timeline *t = c->d.t;

	if (!t)
		return 0;
	drawing_end(&c->d);
	c->d.t = NULL;
	return timeline_close(t);
}

int page_closeups_tree(struct result *r, json_t **ret)
{
	*ret = json_incref(((struct closeups *)r->state)->tree);
	return 0;
}

static int closeups_write(struct result *r, const struct output *out)
{
	return page_closeups_tree(r, out->tree);
}

static void closeups_close(struct result *r)
{
	struct closeups *c = r->state;

	drawing_close(&c->d);
	timeline_cancel(c->d.t);
	json_decref(c->tree);
	thread_names_free(c->names);
}

static bool closeups_wants(const char *event, void *result)
{
	(void)result;
	return timeline_wants(event, NULL);
}

const struct report_ops page_closeups_report = {
	.reads = READ_GUESTS | READ_ALL_TIMES | READ_THREAD_NAMES | READ_OTHER_THREADS,
	.state_bytes = sizeof(struct closeups),
	.wants = closeups_wants,
	.open = closeups_open,
	.event = closeups_event,
	.end = closeups_end,
	.write = closeups_write,
	.close = closeups_close,
};
