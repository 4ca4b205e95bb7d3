/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sums up `lost` events: of which type, on which CPU, how many, when. For messages. */
#ifndef HOSTRACE_LOSSES_H
#define HOSTRACE_LOSSES_H

#include "event/event.h"

#define LOSS_CPU_UNKNOWN (RECORD_NOT_WRITTEN - 1) /* not recorded */

enum { LOSSES_MAX = 64 }; /* pairs of type and CPU; further ones are summed up without either */

struct loss {
	const struct event_type *type; /* NULL: the recorder did not store it */
	uint32_t cpu; /* RECORD_NO_CPU, RECORD_NOT_WRITTEN: no buffer was full; LOSS_CPU_UNKNOWN */
	uint64_t count, first_ns, until_ns;
};

struct loss_sums {
	struct loss loss[LOSSES_MAX];
	unsigned int nr;
	uint64_t others; /* lost events beyond the limit */
};

/* How many events it reports; 0 of other types. */
uint64_t lost_record_count(const struct event *ev);

/* Until when events of this `lost` or `gap` are missing. */
uint64_t loss_until_ns(const struct event *ev);

/* Adds one; events of other types are ignored, and so are reports of no event. */
void losses_add(struct loss_sums *l, const struct event *ev);

/*
 * "7 kvm_exit of CPU 0 at 1.500 s, 40 events of unknown type of CPU 4 between 1.000 s and 2.000 s": the largest ones.
 * Times count from start_ns. Returns buf, "" if there are none.
 */
const char *losses_print(struct loss_sums *l, uint64_t start_ns, char *buf, size_t size);

/* "buffers were full", ... */
const char *losses_reason(const struct loss_sums *l);

#endif
