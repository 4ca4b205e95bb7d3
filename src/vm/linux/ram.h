/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The RAM of a guest as one range of bytes, by offsets (struct guest_ram). What is contiguous in the guest's physical
 * memory is so there. Pages that the process does not have are not read: a read would make them resident.
 */
#ifndef HOSTRACE_LINUX_RAM_H
#define HOSTRACE_LINUX_RAM_H

#include "vm/guest_ram.h"

struct linux_ram {
	const struct memory *memory; /* borrowed */
	struct guest_ram at;
	int pagemap; /* /proc/PID/pagemap; -1: every page is there */
	uint64_t until_ns; /* monotonic_ns() at which a walk gives up; 0: never */
};

enum {
	LINUX_PIECE = 2 << 20, /* of a walk */
	LINUX_OVERLAP = 64,    /* a piece has so many bytes of the next one, if they are there */
};

/* All or -EFAULT, without an error message. */
int linux_ram_read(const struct linux_ram *r, uint64_t offset, void *buf, size_t size);

/* Of the 4 KiB page at this offset: does the process have it? */
bool linux_ram_present(const struct linux_ram *r, uint64_t offset);

/*
 * Calls fn for what is there of [from, to), in order, in pieces that begin and end with pages or with the range. fn
 * returns 0 to continue; anything else ends the walk and is returned. -ETIMEDOUT (no error message), -ENOMEM.
 */
typedef int (*linux_piece_fn)(void *arg, uint64_t offset, const uint8_t *data, size_t size);
int linux_ram_walk(const struct linux_ram *r, uint64_t from, uint64_t to, linux_piece_fn fn,
		   void *arg);

#endif
