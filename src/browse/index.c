// SPDX-License-Identifier: GPL-2.0-or-later
/* One pass over events, drawn as a timeline; the index, which is made by the first one. */
#include <errno.h>

#include "base/array.h"
#include "base/error.h"
#include "browse/internal.h"
#include "event/losses.h"
#include "event/records.h"

/* ---- where slices go ---- */

static int browse_sink_open(struct timeline *t)
{
	t->state = calloc(1, sizeof(struct browse_pass));
	return t->state ? 0 : fail(-ENOMEM, "out of memory");
}

static void browse_sink_slice(struct timeline *t, const struct timeline_slice *s)
{
	const struct browse_pass *p = t->state;

	p->slice(p->arg, t, s);
}

static const struct timeline_ops sink_ops = {
	.open = browse_sink_open, .slice = browse_sink_slice, .names_at_end = true};

/* ---- a pass ---- */

static bool browse_wants(const char *event, void *result)
{
	(void)result;
	return timeline_wants(event, NULL);
}

static int browse_names(struct browse_drawing *b, const struct result *r,
			const struct browse_pass *p)
{
	if (p->names) {
		b->names = p->names;
		return 0;
	}
	b->keeps_names = true;
	b->names = thread_names_new();
	return b->names ? input_set_thread_names(r->in, b->names) : fail(-ENOMEM, "out of memory");
}

static int browse_pass_open(struct result *r)
{
	struct browse_drawing *b = r->state;
	const struct browse_pass *p = r->query->of;
	int err = browse_names(b, r, p);

	if (err)
		return err;
	b->d = (struct drawing){.in = r->in, .names = b->names, .until_ns = r->in->until_ns};
	err = timeline_open(&sink_ops, NULL, NULL, r->in->reader->info.start_ns, &b->d.t);
	if (err)
		return err;
	*(struct browse_pass *)b->d.t->state = *p;
	if (p->to_ns)
		timeline_window(b->d.t, p->from_ns, p->to_ns);
	else
		timeline_window(b->d.t, input_set_start_ns(r->in), r->in->until_ns);
	return drawing_open(&b->d);
}

static int loss_keep(struct browse_drawing *b, const struct event *ev)
{
	struct browse_loss loss = {.from_ns = ev->time_ns, .to_ns = loss_until_ns(ev),
				   .count = lost_record_count(ev), .cpu = ev->cpu};

	if (loss.to_ns < loss.from_ns) /* not recorded */
		loss.to_ns = loss.from_ns;
	if (b->nr_losses == BROWSE_LOSSES_MAX) {
		b->losses_left_out++;
		return 0;
	}
	if (ev->type->id == EV_lost) {
		RECORD(lost, r, ev);
		loss.cpu = record_has(ev, lost, lost_cpu) ? r->lost_cpu : LOSS_CPU_UNKNOWN;
		loss.type = record_has(ev, lost, lost_event) ? event_type_ours(r->lost_event)
							     : NULL;
	}
	return array_add(b->loss, b->nr_losses, loss);
}

static int browse_event(void *state, const struct event *ev)
{
	struct browse_drawing *b = state;
	int err = 0;

	if (b->keeps_names)
		thread_names_event(b->names, ev);
	if (ev->type->id == EV_lost || ev->type->id == EV_gap)
		err = loss_keep(b, ev);
	return err ? err : drawing_event(&b->d, ev);
}

static int browse_pass_end(struct result *r)
{
	struct browse_drawing *b = r->state;

	drawing_end(&b->d);
	return 0;
}

static void browse_pass_close(struct result *r)
{
	struct browse_drawing *b = r->state;

	drawing_close(&b->d);
	timeline_cancel(b->d.t);
	if (b->keeps_names)
		thread_names_free(b->names);
	free(b->loss);
}

const struct report_ops browse_report = {
	.reads = READ_GUESTS | READ_BEFORE | READ_THREAD_NAMES | READ_OTHER_THREADS,
	.state_bytes = sizeof(struct browse_drawing),
	.wants = browse_wants,
	.open = browse_pass_open,
	.event = browse_event,
	.end = browse_pass_end,
	.close = browse_pass_close,
};

/* ---- the index ---- */

static void index_slice(void *arg, struct timeline *t, const struct timeline_slice *s)
{
	struct browse *b = arg;

	(void)t;
	if (!b->err)
		b->err = bands_add(b->bands, s);
}

static int index_make(struct browse *b)
{
	int err = result_init(&b->result, &browse_report, &b->query);

	if (!err)
		err = report_run(&b->result, b->set);
	if (!err && b->err)
		err = fail(b->err, "out of memory");
	if (err)
		return err;
	drawing_close(&((struct browse_drawing *)b->result.state)->d);
	((struct browse_drawing *)b->result.state)->d.host = NULL;
	memset(((struct browse_drawing *)b->result.state)->d.guest, 0,
	       sizeof(browse_index(b)->d.guest));
	bands_end(b->bands);
	b->start_ns = b->set->reader->info.start_ns;
	b->end_ns = input_set_end_ns(b->set); /* then the first ns that is not in it */
	b->end_ns += b->end_ns < b->set->until_ns;
	if (b->bands->nr_slices && b->bands->until_ns > b->end_ns)
		b->end_ns = b->bands->until_ns;
	return b->end_ns <= INT64_MAX
		       ? 0
		       : fail(-ERANGE, "its last timestamp is beyond 2^63 ns; select less "
				       "with --until");
}

static void files_note(struct browse *b)
{
	for (unsigned int i = 0; i < input_set_nr(b->set); i++) {
		struct browse_file *file = &b->file[b->nr_files];

		file->path = b->set->input[i].path;
		b->nr_files += !stat(file->path, &file->is);
	}
}

static bool same_file(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
	       a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

int browse_files_check(const struct browse *b)
{
	for (unsigned int i = 0; i < b->nr_files; i++) {
		struct stat now;

		if (stat(b->file[i].path, &now) || !same_file(&now, &b->file[i].is))
			return fail(-ESTALE,
				    "%s was replaced or changed since the picture was made of it; "
				    "start 'hostrace view' again",
				    b->file[i].path);
	}
	return 0;
}

int browse_open(struct input_set *set, const char *options, const char *notes, struct browse **ret)
{
	struct browse *b = calloc(1, sizeof(*b));
	int err;

	*ret = NULL;
	if (!b)
		return fail(-ENOMEM, "out of memory");
	b->set = set;
	b->options = options;
	b->notes = notes;
	b->pass = (struct browse_pass){.slice = index_slice, .arg = b};
	b->query = (struct query){.command = "view", .input = set->options, .of = &b->pass};
	files_note(b);
	b->bands = bands_new();
	if (b->bands) {
		b->bands->items_max = BROWSE_ITEMS_MAX;
		b->bands->exit_names = true;
	}
	err = b->bands ? index_make(b) : fail(-ENOMEM, "out of memory");
	if (err)
		browse_close(b);
	else
		*ret = b;
	return err;
}

void browse_close(struct browse *b)
{
	if (!b)
		return;
	result_close(&b->result);
	bands_free(b->bands);
	free(b);
}
