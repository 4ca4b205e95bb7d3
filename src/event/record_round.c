// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Records of a round are collected, sorted by time, and passed on up to the watermark; the rest is moved to the front.
 */
#include "base/order.h"
#include "event/record_round.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"

/* A record that waits for its round to end; `at` in the bytes. */
struct record_waiting {
	uint64_t time;
	size_t at;
};

void record_round_deinit(struct record_round *r)
{
	free(r->bytes);
	free(r->list);
	*r = (struct record_round){0};
}

int record_round_add(struct record_round *r, const struct record_hdr *rec)
{
	int err = array_reserve(r->bytes, r->len + rec->size, r->size);

	if (!err)
		err = array_room(r->list, r->nr_list);
	if (err)
		return err;
	r->list[r->nr_list++] = (struct record_waiting){rec->time, r->len};
	memcpy(r->bytes + r->len, rec, rec->size);
	r->len += rec->size;
	return 0;
}

ORDER_BY(by_place, struct record_waiting, at)

/* Of the same time: as they came. */
static int by_time(const void *a, const void *b)
{
	const struct record_waiting *x = a, *y = b;

	return x->time < y->time ? -1 : x->time > y->time ? 1 : by_place(a, b);
}

/* Moves those that belong to a later round to the front. */
static void keep_from(struct record_round *r, size_t first)
{
	r->nr_list -= first;
	memmove(r->list, r->list + first, r->nr_list * sizeof(*r->list));
	qsort(r->list, r->nr_list, sizeof(*r->list), by_place);
	r->len = 0;
	for (size_t i = 0; i < r->nr_list; i++) {
		const struct record_hdr *rec = (const void *)(r->bytes + r->list[i].at);
		size_t size = rec->size;

		memmove(r->bytes + r->len, rec, size);
		r->list[i].at = r->len;
		r->len += size;
	}
}

static struct event event_of(struct record_round *r, const struct record_hdr *rec)
{
	return (struct event){.time_ns = rec->time,
			      .type = record_type(&r->shapes, event_type_ours(rec->type), rec),
			      .data = (const uint8_t *)rec,
			      .pid = rec->pid,
			      .tid = rec->tid,
			      .size = rec->size,
			      .cpu = rec->cpu,
			      .vcpu = rec->vcpu};
}

int record_round_each(struct record_round *r, uint64_t watermark_ns, record_round_fn *fn,
		      void *arg)
{
	size_t i = 0;
	int err = 0;

	if (!r->nr_list)
		return 0;
	qsort(r->list, r->nr_list, sizeof(*r->list), by_time);
	for (; i < r->nr_list && r->list[i].time < watermark_ns && !err; i++) {
		struct event ev = event_of(r, (const void *)(r->bytes + r->list[i].at));

		err = fn(arg, &ev);
	}
	keep_from(r, i);
	return err;
}
