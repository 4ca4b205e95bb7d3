// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "vm/linux/ram.h"

#define PAGEMAP_HAS (UINT64_C(3) << 62) /* present, or swapped out: admin-guide/mm/pagemap.rst */

enum { PIECE_PAGES = LINUX_PIECE / GUEST_PAGE };

int linux_ram_read(const struct linux_ram *r, uint64_t offset, void *buf, size_t size)
{
	uint8_t *to = buf;
	int err = 0;

	while (size && !err) {
		uint64_t left, at = guest_ram_at(&r->at, offset, &left);
		size_t part = left < size ? (size_t)left : size;

		err = at ? memory_read(r->memory, at, to, part) : -EFAULT;
		to += part;
		offset += part;
		size -= part;
	}
	return err;
}

/* Of nr pages that the process has in one range. Where the answer is unknown, pages count as present. */
static void range_present(const struct linux_ram *r, uint64_t process, bool *ret, unsigned int nr)
{
	uint64_t entry[PIECE_PAGES + 1];
	uint64_t at = process / GUEST_PAGE * sizeof(*entry);
	bool known = r->pagemap >= 0 && pread(r->pagemap, entry, nr * sizeof(*entry), (off_t)at) ==
						(ssize_t)(nr * sizeof(*entry));

	for (unsigned int i = 0; i < nr; i++)
		ret[i] = !known || entry[i] & PAGEMAP_HAS;
}

/* Of nr pages from the offset on; those beyond the RAM's end are not there. */
static void pages_present(const struct linux_ram *r, uint64_t offset, bool *ret, unsigned int nr)
{
	for (unsigned int i = 0, part; i < nr; i += part) {
		uint64_t left, at = guest_ram_at(&r->at, offset + (uint64_t)i * GUEST_PAGE, &left);
		uint64_t pages = (left + GUEST_PAGE - 1) / GUEST_PAGE;

		part = pages < nr - i ? (unsigned int)pages : nr - i;
		if (!at) {
			memset(ret + i, 0, (nr - i) * sizeof(*ret));
			return;
		}
		range_present(r, at, ret + i, part);
	}
}

bool linux_ram_present(const struct linux_ram *r, uint64_t offset)
{
	bool present;

	pages_present(r, offset, &present, 1);
	return present;
}

struct walk {
	const struct linux_ram *ram;
	uint64_t to;
	linux_piece_fn fn;
	void *arg;
	uint8_t *buf;
};

/* The pages of one piece, by runs of those that are there. */
static int piece_walk(struct walk *w, uint64_t from, size_t size)
{
	unsigned int pages = (unsigned int)((size + GUEST_PAGE - 1) / GUEST_PAGE);
	bool present[PIECE_PAGES + 1];
	int ret = 0;

	pages_present(w->ram, from, present, pages + 1);
	for (unsigned int i = 0, end; i < pages && !ret; i = end + 1) {
		uint64_t offset = from + (uint64_t)i * GUEST_PAGE;
		uint64_t stop;

		for (end = i; end < pages && present[end];)
			end++;
		stop = from + (uint64_t)end * GUEST_PAGE + (present[end] ? LINUX_OVERLAP : 0);
		stop = stop < w->to ? stop : w->to;
		if (end > i && !linux_ram_read(w->ram, offset, w->buf, stop - offset))
			ret = w->fn(w->arg, offset, w->buf, stop - offset);
	}
	return ret;
}

int linux_ram_walk(const struct linux_ram *r, uint64_t from, uint64_t to, linux_piece_fn fn,
		   void *arg)
{
	_cleanup_free_ uint8_t *buf = malloc(LINUX_PIECE + GUEST_PAGE);
	struct walk w = {.ram = r,
			 .to = to < r->at.size ? to : r->at.size,
			 .fn = fn,
			 .arg = arg,
			 .buf = buf};
	int ret = buf ? 0 : fail(-ENOMEM, "out of memory");

	from -= from % GUEST_PAGE;
	for (; !ret && from < w.to; from += LINUX_PIECE) {
		uint64_t left = w.to - from;

		if (r->until_ns && monotonic_ns() > r->until_ns)
			return -ETIMEDOUT;
		ret = piece_walk(&w, from, left < LINUX_PIECE ? left : LINUX_PIECE);
	}
	return ret;
}
