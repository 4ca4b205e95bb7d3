/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Follows a ring that a running guest writes: look by look, what is new is copied out, and at the end written as a
 * ring of its own that is large enough for all of it (doc/guest-ring.md), so that a recording may be longer than the
 * guest's ring. The guest does not notice: memory is only read.
 *
 * Each look copies the new slots three times and uses those whose marks did not change, from memory that may be
 * anywhere: a mapping, or another process.
 */
#ifndef HOSTRACE_RING_FOLLOW_H
#define HOSTRACE_RING_FOLLOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "guestside/ring/ring.h"

enum {
	RING_FOLLOW_BYTES_MAX = 512 << 20, /* of the guest's ring, and of records kept; then the oldest go */
	RING_FOLLOW_WINDOW = 4096,	   /* slots that are read at a time */
};

/* Reads len bytes of the ring, from its start: 0 or -errno with the error message set. */
typedef int ring_read_fn(void *arg, uint64_t offset, void *to, size_t len);

/* Writes into it, for rings that wait for their reader (RING_DROP); NULL: it cannot be written. */
typedef int ring_write_fn(void *arg, uint64_t offset, const void *from, size_t len);

struct ring_follow;

/*
 * Looks at the ring's header. -EBADMSG: there is none (yet), or it is inconsistent. `name` is for messages, kept by
 * reference.
 */
int ring_follow_new(ring_read_fn *read, ring_write_fn *write, void *arg, const char *name,
		    struct ring_follow **ret);
void ring_follow_free(struct ring_follow *f);

/* Takes what is new. `last`: also passes over records that are not finished. 0 or -errno. */
int ring_follow_look(struct ring_follow *f, bool last);

/* Records read so far. */
uint64_t ring_follow_records(const struct ring_follow *f);

/* Writes all of it as a ring: a call of write() for each part. */
int ring_follow_write(struct ring_follow *f, int (*write)(void *arg, const void *data, size_t len),
		      void *arg);

#endif
