// SPDX-License-Identifier: GPL-2.0-or-later
#include "reports/page_closeups.h"

#include <errno.h>
#include <stdlib.h>
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

/* When the array is full, the shorter half is dropped. */
struct longest {
	struct slice slice[2 * SLICES_MAX];
	unsigned int nr;
	uint64_t dropped;
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

static void longest_keep(struct timeline *t)
{
	struct longest *l = t->state;

	qsort_r(l->slice, l->nr, sizeof(l->slice[0]), longest_first, t);
	if (l->nr > SLICES_MAX) {
		l->dropped += l->nr - SLICES_MAX;
		l->nr = SLICES_MAX;
	}
}

static int longest_open(struct timeline *t)
{
	t->state = calloc(1, sizeof(struct longest));
	return t->state ? 0 : -ENOMEM;
}

static void longest_ignore(struct timeline *t, uint32_t index)
{
	(void)t, (void)index;
}

static void longest_slice(struct timeline *t, const struct timeline_slice *s)
{
	struct longest *l = t->state;
	struct slice *one;

	if (l->nr == 2 * SLICES_MAX)
		longest_keep(t);
	one = &l->slice[l->nr++];
	*one = (struct slice){.track = s->track,
			      .kind = s->kind,
			      .start_ns = s->start_ns,
			      .ns = s->end_ns - s->start_ns};
	snprintf(one->name, sizeof(one->name), "%s", s->name);
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

static int longest_close(struct timeline *t)
{
	json_t *tracks = json_array(), *slices = json_array();
	struct longest *l = t->state;

	longest_keep(t);
	for (unsigned int i = 0; i < l->nr; i++) {
		const struct slice *s = &l->slice[i];
		const struct timeline_track *track = &t->track[s->track];
		int nr = track_of(tracks, t->group[track->group].name, track->name);

		json_array_append_new(slices, json_pack("[i,I,I,s,s]", nr, (json_int_t)s->start_ns,
							(json_int_t)s->ns, slice_kind_name(s->kind),
							s->name));
	}
	*t->report->out->tree = json_pack("{s:o,s:I,s:o}", "tracks", tracks, "slices_not_shown",
					  (json_int_t)l->dropped, "slices", slices);
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

struct closeup {
	const json_t *exit;
	uint64_t since_ns, until_ns;
	struct drawing d;
	struct output out;
	struct report report;
	json_t *tree;
};

struct closeups {
	struct closeup one[CLOSEUPS_MAX];
	unsigned int nr;
	struct thread_names *names;
};

static uint64_t number(const json_t *o, const char *key)
{
	return (uint64_t)json_integer_value(json_object_get(o, key));
}

/* The window of an exit; one that overlaps another one's is not shown. */
static void closeup_add(struct closeups *c, const json_t *exit)
{
	uint64_t at = number(exit, "time_ns"), ns = number(exit, "latency_ns"),
		 margin = ns / MARGIN_PART + MARGIN_NS;
	uint64_t since = at > margin ? at - margin : 0, until = at + ns + margin;

	for (unsigned int i = 0; i < c->nr; i++)
		if (since < c->one[i].until_ns && c->one[i].since_ns < until)
			return;
	c->one[c->nr++] = (struct closeup){.exit = exit, .since_ns = since, .until_ns = until};
}

static int closeup_open(struct closeup *c, const struct result *r, const struct thread_names *names)
{
	uint64_t start_ns = r->in->reader->info.start_ns;
	int err;

	c->out = (struct output){.format = "tree", .tree = &c->tree};
	c->report = result_report(r, &c->out);
	c->d = (struct drawing){.in = r->in, .names = names, .until_ns = c->until_ns};
	err = timeline_open(&longest_timeline, &c->report, NULL, start_ns, &c->d.t);
	if (err)
		return err;
	timeline_window(c->d.t, start_ns > c->since_ns ? start_ns : c->since_ns, c->until_ns);
	return drawing_open(&c->d);
}

static int closeups_open(struct result *r)
{
	const struct page_closeups_query *q = r->query->of;
	struct closeups *c;
	const json_t *slowest, *exit;
	int err = q->slowest(q->arg, &slowest);
	size_t i;

	if (err)
		return err;
	r->state = c = calloc(1, sizeof(*c));
	if (!c || !(c->names = thread_names_new()))
		return fail(-ENOMEM, "out of memory");
	json_array_foreach (json_object_get(slowest, "rows"), i, exit)
		if (c->nr < CLOSEUPS_MAX)
			closeup_add(c, exit);
	err = c->nr ? input_set_thread_names(r->in, c->names) : 0;
	for (unsigned int k = 0; k < c->nr && !err; k++)
		err = closeup_open(&c->one[k], r, c->names);
	return err;
}

static int closeups_event(void *state, const struct event *ev)
{
	struct closeups *c = state;
	int err = 0;

	thread_names_event(c->names, ev);
	for (unsigned int i = 0; i < c->nr && !err; i++)
		err = drawing_event(&c->one[i].d, ev);
	return err;
}

static int closeups_end(struct result *r)
{
	struct closeups *c = r->state;
	int err = 0;

	for (unsigned int i = 0; i < c->nr && !err; i++) {
		struct timeline *t = c->one[i].d.t;

		drawing_end(&c->one[i].d);
		c->one[i].d.t = NULL;
		err = timeline_close(t);
	}
	return err;
}

int page_closeups_tree(struct result *r, json_t **ret)
{
	const struct closeups *c = r->state;
	json_t *rows = json_array();

	for (unsigned int i = 0; i < c->nr; i++) {
		const struct closeup *one = &c->one[i];
		json_t *row = json_pack("{s:I,s:I,s:O,s:O,s:O,s:O}", "since_ns",
					(json_int_t)one->since_ns, "until_ns",
					(json_int_t)one->until_ns, "exit_ns",
					json_object_get(one->exit, "time_ns"), "latency_ns",
					json_object_get(one->exit, "latency_ns"), "reason",
					json_object_get(one->exit, "reason"), "vcpu",
					json_object_get(one->exit, "vcpu"));

		json_object_update(row, one->tree);
		json_array_append_new(rows, row);
	}
	*ret = c->nr ? json_pack("{s:O}", "rows", rows) : NULL;
	json_decref(rows);
	return 0;
}

static int closeups_write(struct result *r, const struct output *out)
{
	return page_closeups_tree(r, out->tree);
}

static void closeups_close(struct result *r)
{
	struct closeups *c = r->state;

	for (unsigned int i = 0; c && i < c->nr; i++) {
		drawing_close(&c->one[i].d);
		timeline_cancel(c->one[i].d.t);
		json_decref(c->one[i].tree);
	}
	if (c)
		thread_names_free(c->names);
	free(c);
}

static bool closeups_wants(const char *event, void *result)
{
	(void)result;
	return timeline_wants(event, NULL);
}

const struct report_ops page_closeups_report = {
	.reads = READ_GUESTS | READ_ALL_TIMES | READ_THREAD_NAMES,
	.wants = closeups_wants,
	.open = closeups_open,
	.event = closeups_event,
	.end = closeups_end,
	.write = closeups_write,
	.close = closeups_close,
};
