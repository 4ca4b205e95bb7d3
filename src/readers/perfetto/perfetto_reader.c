// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Traces of Perfetto with the kernel's events (the data source linux.ftrace). The CPUs' events are merged by time and
 * handed to the reader of texts as lines: it knows the kernel's events, threads and VMs, and how to show losses.
 *
 * Times are those of CLOCK_MONOTONIC where the trace has a snapshot of it and of CLOCK_BOOTTIME, which Perfetto lets
 * ftrace use.
 *
 * On x86-64 Perfetto knows kvm_exit and kvm_entry only as arm64 has them, and records none of their fields: exits have
 * no reasons then.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/file_map.h"
#include "readers/perfetto/perfetto.h"
#include "readers/perfetto/perfetto_internal.h"
#include "readers/text/text_source.h"

struct perfetto_source {
	struct text_source source; /* first */
	struct perfetto p;
	struct perfetto_stream *heap[PERFETTO_STREAMS_MAX]; /* those that have an event, the oldest first */
	unsigned int nr_heap;
	struct source_line line;
	struct open_files *files;
	bool noted;
};

/* ---- merging ---- */

static bool is_older(const struct perfetto_stream *a, const struct perfetto_stream *b)
{
	if (a->time_ns != b->time_ns)
		return a->time_ns < b->time_ns;
	return a->cpu != b->cpu ? a->cpu < b->cpu : a->sequence < b->sequence;
}

static void heap_down(struct perfetto_source *c, unsigned int i)
{
	for (;;) {
		unsigned int oldest = i;
		struct perfetto_stream *s = c->heap[i];

		for (unsigned int k = 2 * i + 1; k <= 2 * i + 2 && k < c->nr_heap; k++)
			if (is_older(c->heap[k], c->heap[oldest]))
				oldest = k;
		if (oldest == i)
			return;
		c->heap[i] = c->heap[oldest];
		c->heap[oldest] = s;
		i = oldest;
	}
}

static bool stream_advance(struct perfetto_source *c, struct perfetto_stream *s)
{
	if (perfetto_stream_next(&c->p, s))
		return true;
	if (s->lost)
		source_line_lost(&c->line, s->cpu, 0, s->lost_from_ns, UINT64_MAX);
	return false;
}

static int perfetto_rewind(struct text_source *source)
{
	struct perfetto_source *c = (struct perfetto_source *)source;

	c->nr_heap = 0;
	c->p.unknown_events = 0;
	c->line.len = c->line.read = 0;
	for (unsigned int i = 0; i < c->p.nr_streams; i++)
		perfetto_stream_rewind(&c->p, c->p.stream[i]);
	for (unsigned int i = 0; i < c->p.nr_streams; i++)
		if (stream_advance(c, c->p.stream[i]))
			c->heap[c->nr_heap++] = c->p.stream[i];
	for (unsigned int i = c->nr_heap / 2; i > 0; i--)
		heap_down(c, i - 1);
	return c->p.err;
}

/* After the first pass over all events. */
static void end_note(struct perfetto_source *c)
{
	struct perfetto *p = &c->p;

	if (c->noted)
		return;
	c->noted = true;
	if (p->unknown_events)
		trace_info_caveat(p->info,
				  "events of types whose form in Perfetto hostrace does not know: "
				  "%" PRIu64 " of %u type%s",
				  p->unknown_events, p->unknown.nr, p->unknown.nr == 1 ? "" : "s");
	if (p->bare_exits)
		trace_info_caveat(p->info,
				  "kvm_exit has no fields in this trace, so no reasons: Perfetto "
				  "records those of arm64 only");
}

/* The oldest event's line; none for events that are not read. False: there are no more, or p.err is set. */
static bool line_print(void *arg)
{
	struct perfetto_source *c = arg;

	while (c->nr_heap && !c->line.len && !c->p.err) {
		struct perfetto_stream *s = c->heap[0];

		if (s->lost)
			source_line_lost(&c->line, s->cpu, 0, s->lost_from_ns, s->time_ns);
		perfetto_event_print(&c->p, &c->line, s);
		if (!stream_advance(c, s))
			c->heap[0] = c->heap[--c->nr_heap];
		heap_down(c, 0);
	}
	if (!c->line.len)
		end_note(c);
	return c->line.len > 0;
}

static ssize_t perfetto_read(struct text_source *source, char *to, size_t len)
{
	struct perfetto_source *c = (struct perfetto_source *)source;
	ssize_t n = source_line_read(&c->line, to, len, line_print, c);

	return c->p.err ? c->p.err : n;
}

/* ---- opening ---- */

static void perfetto_close(struct text_source *source)
{
	struct perfetto_source *c = (struct perfetto_source *)source;

	perfetto_deinit(&c->p);
	file_unmap(c->p.data, c->p.bytes);
	free(c);
}

/* Of an ftrace clock that is not CLOCK_BOOTTIME its time is known together with that. */
static void clock_set(struct perfetto *p)
{
	json_t *meta = p->info->meta;

	if (p->ftrace_clock)
		p->offset_ns = (int64_t)((uint64_t)p->ftrace_boottime - (uint64_t)p->ftrace_time);
	if (!p->monotonic || !p->boottime) {
		trace_info_caveat(
			p->info, "the trace has no snapshot of CLOCK_MONOTONIC: times are those of "
				 "CLOCK_BOOTTIME");
		return;
	}
	p->offset_ns += (int64_t)(p->monotonic - p->boottime);
	if (!p->realtime || p->realtime > INT64_MAX || p->monotonic > INT64_MAX)
		return;
	json_object_set_new(meta, "start_realtime_ns", json_integer((int64_t)p->realtime));
	json_object_set_new(meta, "start_monotonic_ns", json_integer((int64_t)p->monotonic));
}

static void notes_add(const struct perfetto *p)
{
	if (p->other_machines)
		trace_info_caveat(p->info,
				  "%" PRIu64 " bundles of events of other machines are not read",
				  p->other_machines);
	if (p->kernel_lost[1] > p->kernel_lost[0])
		trace_info_caveat(
			p->info,
			"the kernel's count of events lost while the trace was recorded: %" PRIu64,
			p->kernel_lost[1] - p->kernel_lost[0]);
}

static int empty_refuse(const struct perfetto *p)
{
	const char *path = p->info->file;

	if (p->info->truncated)
		return fail(-ENODATA,
			    "%s: the Perfetto trace is cut or damaged before its first event of "
			    "the kernel",
			    path);
	if (p->has_tracks)
		return fail_hint(
			fail(-ENODATA,
			     "%s: the Perfetto trace has tracks, but no events of the kernel",
			     path),
			"a timeline of hostrace (-f perfetto) is a picture: use the recording that "
			"it "
			"was made of");
	return fail_hint(fail(-ENODATA, "%s: the Perfetto trace has no events of the kernel", path),
			 "record with the data source linux.ftrace and ftrace_events: \"kvm/*\"");
}

static int perfetto_source_open(struct text_source *source, struct trace_info *info)
{
	struct perfetto_source *c = (struct perfetto_source *)source;
	struct perfetto *p = &c->p;
	int err;

	p->info = info;
	err = open_files_map(c->files, info->file, &p->data, &p->bytes);
	if (!err)
		err = perfetto_scan(p);
	if (!err && !p->nr_bundles)
		err = empty_refuse(p);
	if (err)
		return err;
	clock_set(p);
	notes_add(p);
	return perfetto_rewind(source);
}

static int perfetto_open(const char *path, const struct read_hint *hint, struct reader **ret)
{
	struct perfetto_source *c = calloc(1, sizeof(*c));

	if (!c)
		return fail(-ENOMEM, "%s: out of memory", path);
	c->source = (struct text_source){.kind = "Perfetto",
					 .open = perfetto_source_open,
					 .read = perfetto_read,
					 .rewind = perfetto_rewind,
					 .close = perfetto_close};
	c->files = hint ? hint->files : NULL;
	return text_source_read(path, hint, &c->source, ret);
}

const struct reader_ops perfetto_reader = {
	.name = "Perfetto",
	.summary = "a trace of Perfetto with the kernel's events (linux.ftrace)",
	.probe = perfetto_probe,
	.open = perfetto_open,
};
