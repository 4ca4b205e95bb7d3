// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * `hostrace blame --around T`: the events of host and guest around single exits, from a second reading of the inputs.
 */
#include "reports/blame_around.h"

#include <errno.h>

#include "base/error.h"
#include "output/event_rows.h"

struct reading {
	const struct blame_summary *s;
	uint64_t around_ns, start_ns;
	bool json;
	const struct addresses *symbols;
	struct input_set *in;
	struct thread_names *names;
	FILE *file[AROUND_EXITS_MAX];
	uint64_t nr[AROUND_EXITS_MAX];
	struct around *ret;
};

static bool concerns(const struct reading *r, const struct blame_exit *x, const struct event *ev)
{
	uint64_t from = x->start_ns > r->around_ns ? x->start_ns - r->around_ns : 0;

	return ev->time_ns >= from && ev->time_ns <= x->end_ns + r->around_ns &&
	       (ev->pid == x->pid || input_set_is_guest(r->in, ev->source));
}

static void event_write(struct reading *r, unsigned int i, const struct event *ev)
{
	struct event_row row = {
		.ev = ev,
		.source = input_set_name(r->in, ev->source),
		.comm = thread_comm(r->names, ev),
		.vcpu = thread_vcpu(r->names, ev),
		.symbols = r->symbols,
	};

	if (r->nr[i]++ >= AROUND_EVENTS_MAX) {
		r->ret->left_out[i]++;
		return;
	}
	if (r->json && r->nr[i] > 1)
		fputc(',', r->file[i]);
	if (r->json)
		event_row_json(&row, r->file[i]);
	else
		event_row_text(&row, r->start_ns, true, r->file[i]);
}

static int on_event(void *arg, const struct event *ev)
{
	struct reading *r = arg;

	thread_names_event(r->names, ev);
	for (unsigned int i = 0; i < r->s->nr_kept; i++)
		if (concerns(r, &r->s->kept[i], ev) && input_set_selects(r->in, ev))
			event_write(r, i, ev);
	return 0;
}

/* --vcpu, --tid and --reason select exits; --event selects what is shown around them. */
static int open_all(const struct query *q, struct input_set **ret)
{
	struct input_options all = *q->input;
	int err = q->inputs(true, ret);

	all.vcpus.nr = all.tids.nr = all.reasons.nr = 0;
	if (err)
		return err;
	(*ret)->options = &all;
	input_set_want_thread_names(*ret);
	err = input_set_open(*ret, NULL, NULL);
	(*ret)->options = q->input;
	return err;
}

static int files_open(struct reading *r, size_t size[AROUND_EXITS_MAX])
{
	for (unsigned int i = 0; i < r->s->nr_kept; i++) {
		r->file[i] = open_memstream(&r->ret->text[i], &size[i]);
		if (!r->file[i])
			return fail(-ENOMEM, "out of memory");
	}
	return 0;
}

int around_read(const struct result *of, const struct blame_summary *s, struct around *ret)
{
	_cleanup_input_set_ struct input_set *in = NULL;
	_cleanup_thread_names_ struct thread_names *names = thread_names_new();
	const struct blame_query *q = of->query->of;
	struct reading r = {.s = s,
			    .around_ns = q->around_ns,
			    .json = q->around_json,
			    .start_ns = input_set_start_ns(of->in),
			    .symbols = of->query->symbols,
			    .names = names,
			    .ret = ret};
	size_t size[AROUND_EXITS_MAX];
	int err = 0;

	if (s->nr_kept > AROUND_EXITS_MAX)
		return fail(-E2BIG, "--around: %zu exits, more than %d; select fewer with --limit",
			    s->nr_kept, AROUND_EXITS_MAX);
	err = names ? files_open(&r, size) : fail(-ENOMEM, "out of memory");
	if (!err)
		err = open_all(of->query, &in);
	r.in = in;
	if (!err)
		err = input_set_thread_names(in, names);
	if (!err)
		err = reader_each(in->reader, on_event, &r);
	for (unsigned int i = 0; i < s->nr_kept; i++)
		if (r.file[i] && fclose(r.file[i]) && !err)
			err = fail(-ENOMEM, "out of memory");
	return err;
}

void around_free(struct around *a)
{
	for (unsigned int i = 0; i < AROUND_EXITS_MAX; i++)
		free(a->text[i]);
}
