/* SPDX-License-Identifier: GPL-2.0-or-later */
/* For src/guestside/source*.c only. */
#ifndef HOSTRACE_GUEST_SOURCE_INTERNAL_H
#define HOSTRACE_GUEST_SOURCE_INTERNAL_H

#include <stddef.h>

#include "base/growing_file.h"
#include "fetch/source.h"
#include "guestside/agent/stream.h"
#include "guestside/ring/ring.h"

/*
 * Follows a ring that a running guest writes: look by look, what is new is copied out, and at the end written as a
 * ring of its own that is large enough for all of it (doc/guest-ring.md), so that a recording may be longer than the
 * guest's ring. The guest does not notice: memory is only read.
 *
 * Each look copies the new slots three times and uses those whose marks did not change, from memory that may be
 * anywhere: a mapping, or another process.
 */

enum {
	RING_FOLLOW_BYTES_MAX = 512 << 20, /* of the guest's ring, and of records kept; then the oldest go */
	RING_FOLLOW_WINDOW = 4096,	   /* slots that are read at a time */
};

struct ring_follow;

/* Reads len bytes of the ring, from its start: 0 or -errno with the error message set. */
typedef int ring_read_fn(void *arg, uint64_t offset, void *to, size_t len);

/* Writes into it, for rings that wait for their reader (RING_DROP); NULL: it cannot be written. */
typedef int ring_write_fn(void *arg, uint64_t offset, const void *from, size_t len);

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

/* Writes complete frames of a stream to the file; bytes before BEGIN and damaged ones are skipped. */
struct frames {
	uint8_t *buf;
	size_t len;
	bool begun, ended; /* BEGIN, END was received */
	bool noise;	   /* no frame began where the last byte lay: counted once until one does */
	uint64_t frames, damaged;
	uint64_t received; /* bytes */
};

enum { FRAMES_ROOM = 2 * (STREAM_HEAD + STREAM_PAYLOAD_MAX) };

struct shm;
struct guest_memory;

struct guest_source {
	const struct source_ops *ops;
	const char *text, *arg; /* arg: after "serial:" */
	struct growing_file out;
	pid_t pid;
	int fd;
	bool there, failed;
	char error[256];
	uint64_t retry_ms, bytes, max_bytes;
	uint64_t stop_ms; /* GUEST_SOURCE_STOP_MS */
	struct frames frames;
	struct ring_follow *ring;
	struct shm *shm;
	struct guest_memory *memory;
};

struct source_ops {
	const char *name;
	/* Looks whether the source is there. 0; -EAGAIN: not yet, with the error message set; -errno permanently. */
	int (*find)(struct guest_source *s);
	/* Once, with all privileges, before anything is looked for; may be absent. */
	int (*prepare)(struct guest_source *s);
	/* Takes what is there. > 0: there may be more; 0; -errno. */
	int (*take)(struct guest_source *s);
	/* Asks for the end. */
	void (*ask_end)(struct guest_source *s);
	/* The last look, when waiting is over; may be absent. */
	int (*finish)(struct guest_source *s);
	void (*close)(struct guest_source *s);
};

extern const struct source_ops source_serial, source_vsock, source_shm, source_mem, source_file;

int source_write(struct guest_source *s, const void *data, size_t len);

/* The last look at s->ring, and the ring file. */
int source_ring_finish(struct guest_source *s);

/* Space for more bytes of the stream, then the number received. */
uint8_t *frames_room(struct guest_source *s, size_t *ret_room);
int frames_take(struct guest_source *s, size_t len);

#endif
