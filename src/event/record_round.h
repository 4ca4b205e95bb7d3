/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Records of a running recording, in order of time. The collector hands them over one CPU after the other; at the end
 * of a round those before the watermark are passed on as events, and the others wait for a later round.
 */
#ifndef HOSTRACE_RECORD_ROUND_H
#define HOSTRACE_RECORD_ROUND_H

#include "event/records.h"

/* Zero-initialised is empty. */
struct record_round {
	uint8_t *bytes;
	size_t len, size;
	struct record_waiting *list;
	size_t nr_list;
	struct event_shapes shapes;
};

void record_round_deinit(struct record_round *r);

/* Copies a record of one of our own types. -ENOMEM with the error message set. */
int record_round_add(struct record_round *r, const struct record_hdr *rec);

/* An error ends the round and is returned; later records are kept. */
typedef int record_round_fn(void *arg, const struct event *ev);

/* Every record before watermark_ns has been added. */
int record_round_each(struct record_round *r, uint64_t watermark_ns, record_round_fn *fn,
		      void *arg);

#endif
