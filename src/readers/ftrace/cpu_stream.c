// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * One CPU of a trace.dat: its events in order, and where some are missing. The kernel and trace-cmd say this in three
 * ways, of which only the first has a place:
 *
 *   a page's own flag    events were lost before this page, with or without their number    -> CPU_STREAM_LOST
 *   the statistics       entries: still in the kernel's buffer when the recording ended -> CPU_STREAM_LOST, at the end
 *   the statistics       overrun, dropped: more than the pages say; read: more than the file holds, as trace-cmd lost
 *                        whole pages. They may be missing at every boundary of two pages     -> CPU_STREAM_GAP at each
 */
#include <errno.h>

#include "readers/ftrace/tracedat_reader.h"

uint64_t cpu_left(const struct tracedat_cpu *info, const struct cpu_totals *t)
{
	const struct tracedat_stats *st = &info->stats;
	uint64_t more = t->nr_read > st->read ? t->nr_read - st->read : 0; /* read after the statistics */

	return st->known && st->entries > more ? st->entries - more : 0;
}

uint64_t cpu_unplaced(const struct tracedat_cpu *info, const struct cpu_totals *t)
{
	const struct tracedat_stats *st = &info->stats;
	uint64_t overwritten = st->overrun + st->commit_overrun + st->dropped,
		 placed = t->nr_lost - (t->end_reported ? cpu_left(info, t) : 0), nr = 0;

	if (!st->known)
		return 0;
	nr += overwritten > placed ? overwritten - placed : 0;
	if (st->read > t->nr_read && !t->cut) /* of a file that is cut, its end is missing */
		nr += st->read - t->nr_read;
	return nr;
}

static void loss_set(struct cpu_stream *s, uint64_t from, uint64_t until, uint64_t lost)
{
	s->head = CPU_STREAM_LOST;
	s->time = from;
	s->until = until;
	s->lost = lost;
	s->total.nr_lost += lost;
}

static int stream_end(struct cpu_stream *s)
{
	uint64_t left = cpu_left(s->info, &s->total);

	if (!s->total.end_reported && left) {
		loss_set(s, s->total.last, INT64_MAX, left);
	} else if (!s->total.end_reported && s->unplaced) {
		s->head = CPU_STREAM_GAP;
		s->time = s->total.last;
		s->until = INT64_MAX;
	} else {
		s->head = CPU_STREAM_END;
	}
	s->total.end_reported = true;
	return 0;
}

/* True: something is missing before this page. */
static bool page_open(struct cpu_stream *s, const uint8_t *data)
{
	if (ftrace_page_open(&s->page, data, s->file->page_size, s->file->commit_size)) {
		s->total.damaged++;
		s->page = (struct ftrace_page){0};
		return false;
	}
	if (s->page.missed) {
		s->total.uncounted += s->page.missed == UINT64_MAX;
		loss_set(s, s->total.last ? s->total.last : s->page.time, s->page.time,
			 s->page.missed == UINT64_MAX ? 1 : s->page.missed);
		return true;
	}
	if (!s->unplaced || !s->total.last)
		return false;
	s->head = CPU_STREAM_GAP;
	s->time = s->total.last;
	s->until = s->page.time;
	return true;
}

int cpu_stream_step(struct cpu_stream *s)
{
	const uint8_t *data;
	int more;

	if (s->head == CPU_STREAM_END)
		return 0;
	for (;;) {
		if (s->page.at && ftrace_page_next(&s->page, &s->entry, &s->len, &s->time)) {
			s->head = CPU_STREAM_EVENT;
			s->total.last = s->time;
			s->total.nr_read++;
			return 0;
		}
		s->total.damaged += s->page.damaged;
		s->page = (struct ftrace_page){0};
		if (s->total.end_reported)
			return stream_end(s);
		more = tracedat_pages_next(&s->pages, &data);
		if (more == -EBADMSG) { /* what was read before it is good */
			s->total.cut = true;
			more = 0;
		}
		if (more < 0)
			return more;
		if (!more)
			return stream_end(s);
		if (page_open(s, data))
			return 0;
	}
}

int cpu_stream_begin(struct cpu_stream *s, const struct tracedat_file *f,
		     const struct tracedat_cpu *info, bool unplaced)
{
	tracedat_pages_deinit(&s->pages);
	*s = (struct cpu_stream){.file = f, .info = info, .unplaced = unplaced};
	tracedat_pages_init(&s->pages, f, info);
	return cpu_stream_step(s);
}

void cpu_stream_deinit(struct cpu_stream *s)
{
	tracedat_pages_deinit(&s->pages);
}
