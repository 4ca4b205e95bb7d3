// SPDX-License-Identifier: GPL-2.0-or-later
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
#include <errno.h>

#include "readers/ftrace/ftrace.h"

#define COMMIT_BYTES  ((1u << 27) - 1)
#define COMMIT_MISSED (1u << 31)
#define COMMIT_STORED (1u << 30) /* the number of missed events follows the data */
#define DELTA_BITS    27
#define STAMP_BITS    59 /* an absolute time has so many; the rest is as before */

static uint32_t u32_at(const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

int ftrace_page_open(struct ftrace_page *p, const uint8_t *data, size_t size, size_t commit_size)
{
	size_t head = 8 + commit_size, used;
	uint32_t commit;

	if (size < head)
		return -EBADMSG;
	commit = u32_at(data + 8);
	used = commit & COMMIT_BYTES;
	if (used > size - head)
		return -EBADMSG;
	*p = (struct ftrace_page){.at = data + head, .end = data + head + used};
	memcpy(&p->time, data, 8);
	if (!(commit & COMMIT_MISSED))
		return 0;
	p->missed = UINT64_MAX;
	if (commit & COMMIT_STORED && size - head - used >= commit_size) {
		p->missed = 0;
		memcpy(&p->missed, p->end, commit_size);
	}
	return 0;
}

static bool page_damaged(struct ftrace_page *p)
{
	p->damaged = true;
	p->at = p->end;
	return false;
}

/* Steps over the event's head, and its array[0] where it has one. False: there is not so much. */
static bool head_take(struct ftrace_page *p, uint32_t *type, uint64_t *delta, uint32_t *array)
{
	uint32_t head = u32_at(p->at);

	*type = head & 31;
	*delta = head >> 5;
	p->at += 4;
	if (*type && *type < FTRACE_TYPE_PADDING)
		return true;
	if (p->end - p->at < 4) {
		*array = 0;
		return *type == FTRACE_TYPE_PADDING && !*delta;
	}
	*array = u32_at(p->at);
	p->at += 4;
	return true;
}

bool ftrace_page_next_any(struct ftrace_page *p, const uint8_t **ret, size_t *ret_len,
			  uint64_t *ret_time)
{
	while (p->end - p->at >= 4) {
		uint32_t type, array;
		uint64_t delta, len;

		if (!head_take(p, &type, &delta, &array))
			return page_damaged(p);
		if (type == FTRACE_TYPE_PADDING && !delta) { /* to the end of the page */
			p->at = p->end;
			return false;
		}
		if (type == FTRACE_TYPE_TIME_STAMP) {
			p->time &= ~0ull << STAMP_BITS;
			p->time |= ((uint64_t)array << DELTA_BITS | delta) & ~(~0ull << STAMP_BITS);
			continue;
		}
		p->time += delta;
		if (type == FTRACE_TYPE_TIME_EXTEND) {
			p->time += (uint64_t)array << DELTA_BITS;
			continue;
		}
		len = type && type < FTRACE_TYPE_PADDING ? 4 * type : (uint64_t)array - 4;
		if (len > (uint64_t)(p->end - p->at))
			return page_damaged(p);
		p->at += len;
		if (type == FTRACE_TYPE_PADDING)
			continue;
		*ret = p->at - len;
		*ret_len = len;
		*ret_time = p->time;
		p->at += (4 - (len & 3)) & 3 && p->end - p->at >= 4 ? (4 - (len & 3)) & 3 : 0;
		return true;
	}
	return false;
}
