// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Merges several inputs. One batch of each is held; the oldest event is returned next. An input's next batch is
 * requested only when all of its last one has been returned and used, because its events' data are valid that long.
 */
#include <errno.h>

#include "base/error.h"
#include "event/reader.h"

struct input {
	struct reader *reader;
	struct batch batch;
	unsigned int at; /* events returned of the batch */
	bool end;
};

struct merge {
	struct reader reader;
	struct input *inputs;
	unsigned int nr;
};

static const struct reader_ops merge_ops;

static void merge_close(struct reader *r)
{
	struct merge *m = (struct merge *)r;

	for (unsigned int i = 0; i < m->nr; i++)
		reader_close(m->inputs[i].reader);
	free(m->inputs);
	trace_info_deinit(&r->info);
	free(m);
}

/* Adds what is known only at the end of an input: counts, losses, caveats. */
static void info_collect(struct merge *m)
{
	struct trace_info *all = &m->reader.info;
	size_t k;
	json_t *text;

	all->nr_events = all->lost = all->late = 0;
	for (unsigned int i = 0; i < m->nr; i++) {
		const struct trace_info *one = &m->inputs[i].reader->info;

		all->nr_events += one->nr_events;
		all->lost += one->lost;
		all->late += one->late;
		all->end_ns = one->end_ns > all->end_ns ? one->end_ns : all->end_ns;
		json_array_foreach (one->caveats, k, text)
			trace_info_caveat(all, "%s", json_string_value(text));
	}
}

static int merge_refill(struct merge *m)
{
	for (unsigned int i = 0; i < m->nr; i++) {
		struct input *in = &m->inputs[i];
		int more;

		if (in->end || in->at < in->batch.nr)
			continue;
		in->at = 0;
		more = reader_next(in->reader, &in->batch);
		if (more < 0)
			return more;
		in->end = !more;
		if (in->end)
			in->batch.nr = 0;
	}
	return 0;
}

/* The input whose next event is the oldest; of equals the first. NULL: all have ended. */
static struct input *oldest(struct merge *m, uint64_t *ret_limit)
{
	struct input *best = NULL;

	*ret_limit = UINT64_MAX;
	for (unsigned int i = 0; i < m->nr; i++) {
		struct input *in = &m->inputs[i];
		uint64_t time = in->at < in->batch.nr ? in->batch.ev[in->at].time_ns : UINT64_MAX;

		if (in->at == in->batch.nr)
			continue;
		if (!best || time < best->batch.ev[best->at].time_ns) {
			if (best)
				*ret_limit = best->batch.ev[best->at].time_ns;
			best = in;
		} else if (time < *ret_limit) {
			*ret_limit = time;
		}
	}
	return best;
}

static int merge_next(struct reader *r, struct batch *batch)
{
	struct merge *m = (struct merge *)r;
	int err = merge_refill(m);

	batch->nr = 0;
	while (!err && batch->nr < BATCH_MAX) {
		uint64_t limit;
		struct input *in = oldest(m, &limit);

		if (!in)
			break;
		do {
			struct event *ev = &batch->ev[batch->nr++];

			*ev = in->batch.ev[in->at++];
			ev->source = (uint16_t)(in - m->inputs);
		} while (batch->nr < BATCH_MAX && in->at < in->batch.nr &&
			 in->batch.ev[in->at].time_ns < limit);
		if (in->at == in->batch.nr)
			break; /* it must be refilled first, which invalidates the events returned */
	}
	if (err)
		return err;
	if (!batch->nr)
		info_collect(m);
	return batch->nr > 0;
}

static int info_start(struct merge *m)
{
	struct trace_info *first = &m->inputs[0].reader->info, *all = &m->reader.info;
	int err = trace_info_init(all, first->file, first->kind);

	if (err)
		return err;
	json_object_update(all->meta, first->meta);
	all->start_ns = UINT64_MAX;
	for (unsigned int i = 0; i < m->nr; i++) {
		const struct trace_info *one = &m->inputs[i].reader->info;

		if ((one->start_ns || one->end_ns) && one->start_ns < all->start_ns)
			all->start_ns = one->start_ns;
	}
	if (all->start_ns == UINT64_MAX)
		all->start_ns = 0;
	info_collect(m);
	return 0;
}

int merge_open(struct reader **readers, unsigned int nr, struct reader **ret)
{
	struct merge *m;
	int err;

	if (nr == 1) {
		*ret = readers[0];
		return 0;
	}
	m = calloc(1, sizeof(*m));
	if (m)
		m->inputs = calloc(nr, sizeof(*m->inputs));
	if (!m || !m->inputs) {
		for (unsigned int i = 0; i < nr; i++)
			reader_close(readers[i]);
		free(m);
		return fail(-ENOMEM, "out of memory (%u inputs)", nr);
	}
	m->reader.ops = &merge_ops;
	for (m->nr = 0; m->nr < nr; m->nr++)
		m->inputs[m->nr].reader = readers[m->nr];
	err = info_start(m);
	if (err) {
		merge_close(&m->reader);
		return err;
	}
	*ret = &m->reader;
	return 0;
}

static const struct reader_ops merge_ops = {
	.name = "merge",
	.summary = "several inputs merged by time",
	.next = merge_next,
	.close = merge_close,
};
