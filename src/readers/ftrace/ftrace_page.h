/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Pages of the kernel's ring buffer (events/header_page, events/header_event; include/linux/ring_buffer.h):
 *
 *   u64 time of the page | commit: bytes used, flags for lost events | events ...
 *   event: type_len:5 time_delta:27 [array]
 *     0: length in array[0]   1..28: 4 * type_len bytes   29: padding   30: time extend   31: absolute time
 *
 * Read here and not by libtraceevent's kbuffer, because that believes the lengths: a padding that leads back to itself
 * holds it for ever, and these pages may come from a guest.
 */
#ifndef HOSTRACE_FTRACE_PAGE_H
#define HOSTRACE_FTRACE_PAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum {
	FTRACE_PAGE_MAX = 1 << 20, /* bytes of a page */
	FTRACE_TYPE_BITS = 5,
	FTRACE_TYPE_PADDING = 29,
	FTRACE_TYPE_TIME_EXTEND,
	FTRACE_TYPE_TIME_STAMP,
};

struct ftrace_page {
	const uint8_t *at, *end;
	uint64_t time;
	uint64_t missed; /* events lost before this page; UINT64_MAX: some, not counted */
	bool damaged;	 /* a length led outside of the page: the rest is not read */
};

/*
 * A page of `size` bytes, whose `commit` field has commit_size bytes (4 or 8). -EBADMSG: it says that it holds more
 * than it can.
 */
int ftrace_page_open(struct ftrace_page *p, const uint8_t *data, size_t size, size_t commit_size);

/* The next event of any form. Use ftrace_page_next(). */
bool ftrace_page_next_any(struct ftrace_page *p, const uint8_t **ret, size_t *ret_len,
			  uint64_t *ret_time);

/* The next event: its bytes, their number, its time. False at the end. Nearly all have the short form. */
static inline bool ftrace_page_next(struct ftrace_page *p, const uint8_t **ret, size_t *ret_len,
				    uint64_t *ret_time)
{
	uint32_t head, words;

	if (p->end - p->at >= (ptrdiff_t)sizeof(head)) {
		memcpy(&head, p->at, sizeof(head));
		words = head & ((1u << FTRACE_TYPE_BITS) - 1);
		if (words - 1 < FTRACE_TYPE_PADDING - 1 &&
		    p->end - p->at >= (ptrdiff_t)(sizeof(head) + 4 * words)) {
			*ret = p->at + sizeof(head);
			*ret_len = 4 * words;
			*ret_time = p->time += head >> FTRACE_TYPE_BITS;
			p->at += sizeof(head) + 4 * words;
			return true;
		}
	}
	return ftrace_page_next_any(p, ret, ret_len, ret_time);
}

#endif
