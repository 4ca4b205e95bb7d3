// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Chooses between the two ways to pair a trace: the fast path (fast_path.c), else each event passes all analyzers that
 * may still be the first with a begin.
 */
#include <errno.h>

#include "base/array.h"
#include "base/error.h"
#include "pairing/pair_private.h"
#include "pairing/run.h"

/* ---- event by event ---- */

/* Of an analyzer of accesses, only some events of the type begin one. */
static bool is_begin(const struct pairing *p, const struct event *ev)
{
	return p->binding[ev->type->index]->begins && (!p->a->access || p->nr_begins);
}

int pairing_run_event(struct pairing_run *run, const struct event *ev)
{
	if (!run->used) /* it is known that the first one has begins */
		return pairing_event(run->job[0].pairing, ev);
	for (unsigned int i = 0; i < run->nr && i <= run->used; i++) {
		struct pairing *p = run->job[i].pairing;
		int err = pairing_event(p, ev);

		if (err)
			return err;
		if (i < run->used && is_begin(p, ev))
			run->used = i;
	}
	return 0;
}

static int events_feed(struct pairing_run *run, struct reader *r)
{
	_cleanup_free_ struct batch *batch = malloc(sizeof(*batch));
	int more, err = 0;

	if (!batch)
		return fail(-ENOMEM, "out of memory");
	while (!err && (more = reader_next(r, batch)) != 0) {
		err = more < 0 ? more : 0;
		for (unsigned int i = 0; i < batch->nr && !err; i++)
			err = pairing_run_event(run, &batch->ev[i]);
	}
	return err;
}

int pairing_run_begin(struct pairing_run *run)
{
	int err = 0;

	run->used = run->nr;
	for (unsigned int i = 0; i < run->nr && !err; i++) {
		struct pairing_job *job = &run->job[i];

		pairing_restart(job->pairing);
		err = job->fold.open(job->fold.arg, &job->state);
		job->pairing->fn = job->fold.span;
		job->pairing->arg = job->state;
	}
	return err;
}

unsigned int pairing_run_used(const struct pairing_run *run)
{
	return run->used < run->nr ? run->used : 0;
}

/* ---- the fast path ---- */

static int events_count(struct reader *r, uint64_t *counts)
{
	if (r->ops->rows)
		return r->ops->rows->counts(r, counts);
	return r->ops->counts ? r->ops->counts(r, counts) : -ENOTSUP;
}

/* Does the file have events that the analyzer begins with, according to its index? */
static bool has_begins(struct reader *r, const struct analyzer *a)
{
	_cleanup_free_ uint64_t *counts = calloc(EVENT_TYPES_MAX, sizeof(*counts));

	if (!counts || events_count(r, counts))
		return false;
	return array_any(event_types_count(), i,
			 counts[i] && name_in_list(a->begin, event_type_at(i)->name));
}

bool pairing_run_columns(struct pairing_run *run, struct reader *r,
			 const struct pairing_options *opt)
{
	const char *allowed = getenv("HOSTRACE_FAST_PATH");
	struct pairing_job *job;

	for (unsigned int i = 0; i < run->nr; i++)
		run->job[i].state = NULL;
	if (opt->no_fast_path || (allowed && !strcmp(allowed, "0")))
		return false;
	run->used = 0;
	while (run->used + 1 < run->nr && !has_begins(r, run->job[run->used].pairing->a))
		run->used++;
	job = &run->job[run->used];
	return fast_path_run(r, job->pairing, &job->fold, opt, &job->state);
}

int pairing_run(struct reader *r, struct pairing_job *job, unsigned int nr,
		const struct pairing_options *opt, unsigned int *ret_used)
{
	struct pairing_run run = {.job = job, .nr = nr};
	int err = 0;

	if (!pairing_run_columns(&run, r, opt)) {
		err = pairing_run_begin(&run);
		if (!err)
			err = events_feed(&run, r);
	}
	*ret_used = pairing_run_used(&run);
	return err;
}
