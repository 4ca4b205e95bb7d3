/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A guest ring seen from the host. */
#ifndef HOSTRACE_RING_IMAGE_H
#define HOSTRACE_RING_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "event/reader.h"
#include "guestside/ring/ring.h"

#define RING_FILE_MAX (1ull << 30) /* bytes of a ring in a file: the reader loads it into memory */

struct ring_image {
	const uint8_t *mem; /* borrowed */
	uint64_t bytes;	    /* of the ring */
	uint64_t events_offset, cpus_offset, slots_offset, clock_hz;
	uint32_t nr_cpus, slots, mode, nr_events_max;
	char name[33];
};

struct ring_record {
	uint64_t tsc, pos;
	uint32_t thread;
	uint16_t event, cpu;
	uint16_t nr_args, nr_frames;
	uint64_t word[RING_ARGS_MAX + RING_FRAMES_MAX]; /* arguments, then frames */
};

/* Where one reader is on one vCPU, and what it could not have. All counts are of slots. */
struct ring_cursor {
	uint64_t pos;
	uint64_t overwritten; /* before they were read */
	uint64_t torn;	      /* changed while they were copied */
	uint64_t unfinished;  /* reserved and not (yet) written: a writer at work, or one that had to drop */
	bool wait; /* live reading: skip an unfinished slot only when half a ring has been written after it */
};

/*
 * Looks at a ring that starts at mem. `file` is for messages. 0, or -EBADMSG (no ring, or one whose size is
 * wrong) or -EPROTONOSUPPORT (another version), with the error message set.
 */
int ring_image_open(const void *mem, size_t bytes, const char *file, struct ring_image *ret);

/* Offset of the next ring at or after `from` in a memory image, RING_ALIGN aligned; -1 if none. */
int64_t ring_find(const void *mem, size_t bytes, size_t from);

/* A checked copy of event id's description: names are made of letters that are safe to print. False: none. */
bool ring_image_event(const struct ring_image *img, unsigned int id, struct ring_event *ret);

/* Records that the guest itself counted as dropped on this vCPU. */
uint64_t ring_image_drops(const struct ring_image *img, unsigned int cpu);

/*
 * The next good record of a vCPU, in the order of reservation (timestamps of interrupted writers may be a little out
 * of order). 1 and the record, or 0: nothing more now. Starts at the oldest that can still be there. A call looks
 * at no more slots than the buffer has, whatever the guest does.
 */
int ring_cursor_next(const struct ring_image *img, unsigned int cpu, struct ring_cursor *c,
		     struct ring_record *ret);

/* A file with a snapshot of a guest ring. Times are guest TSC ticks: meta "clock" is "guest-tsc". */
extern const struct reader_ops ring_reader;

#endif
