// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "pairing/fast_path.h"
#include "pairing/pair_private.h"
#include "pairing/run.h"

struct run {
	struct pairing_job *job;
	unsigned int nr;
	unsigned int used; /* the first job with a begin; nr: none has one yet */
};

/* ---- event by event ---- */

/* Of an analyzer of accesses, only some events of the type begin one. */
static bool is_begin(const struct pairing *p, const struct event *ev)
{
	return p->binding[ev->type->index]->begins && (!p->a->access || p->nr_begins);
}

static int event_feed(struct run *run, const struct event *ev)
{
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

static int events_feed(struct run *run, struct reader *r)
{
	_cleanup_free_ struct batch *batch = malloc(sizeof(*batch));
	int more, err = 0;

	if (!batch)
		return fail(-ENOMEM, "out of memory");
	while (!err && (more = reader_next(r, batch)) != 0) {
		err = more < 0 ? more : 0;
		for (unsigned int i = 0; i < batch->nr && !err; i++)
			err = event_feed(run, &batch->ev[i]);
	}
	return err;
}

static int slow_run(struct run *run, struct reader *r, unsigned int *ret_used)
{
	int err = 0;

	for (unsigned int i = 0; i < run->nr && !err; i++) {
		struct pairing_job *job = &run->job[i];

		pairing_restart(job->pairing);
		err = job->fold.open(job->fold.arg, &job->state);
		job->pairing->fn = job->fold.span;
		job->pairing->arg = job->state;
	}
	if (!err)
		err = events_feed(run, r);
	*ret_used = run->used < run->nr ? run->used : 0;
	return err;
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
	for (unsigned int i = 0; i < event_types_count(); i++)
		if (counts[i] && name_in_list(a->begin, event_type_at(i)->name))
			return true;
	return false;
}

static bool fast_run(struct run *run, struct reader *r, const struct pairing_options *opt,
		     unsigned int *ret_used)
{
	const char *allowed = getenv("HOSTRACE_FAST_PATH");
	unsigned int used = 0;

	if (opt->no_fast_path || (allowed && !strcmp(allowed, "0")))
		return false;
	while (used + 1 < run->nr && !has_begins(r, run->job[used].pairing->a))
		used++;
	struct pairing_job *job = &run->job[used];

	*ret_used = used;
	return fast_path_run(r, job->pairing, &job->fold, opt, &job->state);
}

int pairing_run(struct reader *r, struct pairing_job *job, unsigned int nr,
		const struct pairing_options *opt, unsigned int *ret_used)
{
	struct run run = {.job = job, .nr = nr, .used = nr};

	for (unsigned int i = 0; i < nr; i++)
		job[i].state = NULL;
	return fast_run(&run, r, opt, ret_used) ? 0 : slow_run(&run, r, ret_used);
}
