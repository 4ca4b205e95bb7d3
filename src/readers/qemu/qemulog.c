// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * QEMU's trace events as text. The log backend, with -msg timestamp=on and without it; a SystemTap script made from
 * QEMU's tapset; simpletrace.py, whose times are us since the line before:
 *
 *   32416@1795357760.223839:virtqueue_pop vq 0x7f332a89e010 elem 0x55b3842a08c0 in_num 2 out_num 1
 *   2026-11-22T10:29:20.223839Z virtqueue_pop vq 0x7f332a89e010 ...       (QEMU 10.2 and newer)
 *   virtqueue_pop vq 0x7f332a89e010 elem 0x55b3842a08c0 in_num 2 out_num 1
 *   32416@1795357760223839123 virtqueue_pop vq 0x7f332a89e010 ...
 *   virtqueue_pop 12.345 pid=32416 vq=0x7f332a89e010 elem=0x55b3842a08c0 in_num=0x2 out_num=0x1
 *
 * The number before the '@' is the thread in QEMU's log and the process in SystemTap's and simpletrace.py's. Lines that
 * are no trace events (the log has others, too) are counted.
 */
#include <errno.h>
#include <inttypes.h>

#include "base/array.h"
#include "base/error.h"
#include "readers/qemu/qemu_events.h"
#include "readers/qemu/qemu_reader.h"
#include "readers/text/lines.h"

enum { ARENA = BATCH_MAX * QEMU_RECORD_MAX, NAME_BYTES_MAX = 64 };

enum form { NO_EVENT, LOG, LOG_ISO, LOG_BARE, LOG_STAP, SIMPLETRACE_PY };

struct line {
	struct qemu_head head;
	struct text_slice name, args;
};

struct qemulog {
	struct reader reader;
	struct text_lines lines;
	struct qemu_events events;
	enum form form; /* of all lines */
	uint64_t time_ns; /* of the newest line */
	uint64_t unknown, first_unknown;
	uint8_t *arena;
};

/* ---- lines ---- */

static struct text_slice name_parse(const char *s)
{
	const char *p = s;

	if (*p < 'a' || *p > 'z')
		return (struct text_slice){s, 0};
	while ((*p >= 'a' && *p <= 'z') || text_is_digit(*p) || *p == '_' ||
	       (*p >= 'A' && *p <= 'Z'))
		p++;
	if ((*p != ' ' && *p != '\n') || p - s < 3 || p - s >= NAME_BYTES_MAX)
		p = s;
	return (struct text_slice){s, (uint32_t)(p - s)};
}

static bool event_parse(struct line *l, const char *s, const char *end)
{
	l->name = name_parse(s);
	s = text_skip_blanks(s + l->name.len);
	l->args = (struct text_slice){s, (uint32_t)(s < end ? end - s : 0)};
	return l->name.len;
}

/* "TID@SEC.USEC:NAME ARGS", "PID@NS NAME ARGS" */
static enum form stamped_parse(struct line *l, const char *s, const char *end)
{
	const char *p = s, *digits;
	uint64_t id = text_decimal(&p), time, us;

	if (p == s || *p != '@' || id > UINT32_MAX)
		return NO_EVENT;
	digits = ++p;
	time = text_decimal(&p);
	if (p == digits || time > INT64_MAX)
		return NO_EVENT;
	if (*p == ' ') {
		l->head = (struct qemu_head){.time_ns = time, .pid = (uint32_t)id};
		return event_parse(l, p + 1, end) ? LOG_STAP : NO_EVENT;
	}
	if (*p != '.')
		return NO_EVENT;
	digits = ++p;
	us = text_decimal(&p);
	if (p != digits + 6 || *p != ':' || time > INT64_MAX / 1000000000)
		return NO_EVENT;
	l->head = (struct qemu_head){.time_ns = time * 1000000000 + us * 1000, .tid = (uint32_t)id};
	return event_parse(l, p + 1, end) ? LOG : NO_EVENT;
}

/* `nr` digits at *p, which is set behind them and the character `then`; false: it is not so. */
static bool digits_parse(const char **p, int nr, char then, uint64_t *ret)
{
	const char *begin = *p;

	*ret = text_decimal(p);
	return *p - begin == nr && *(*p)++ == then;
}

/* Days from 1970-01-01 to a date of the Gregorian calendar, from 1970 on. */
static uint64_t days_of(uint64_t year, uint64_t month, uint64_t day)
{
	uint64_t y = month <= 2 ? year - 1 : year, m = (month + 9) % 12;

	return 365 * y + y / 4 - y / 100 + y / 400 + (153 * m + 2) / 5 + day - 1 - 719468;
}

/* "2026-11-22T10:29:20.223839Z NAME ARGS": real_time_iso8601() of QEMU */
static bool iso_parse(struct line *l, const char *s, const char *end)
{
	const char *p = s;
	uint64_t year, month, day, hour, minute, second, us;

	if (!digits_parse(&p, 4, '-', &year) || !digits_parse(&p, 2, '-', &month) ||
	    !digits_parse(&p, 2, 'T', &day) || !digits_parse(&p, 2, ':', &hour) ||
	    !digits_parse(&p, 2, ':', &minute) || !digits_parse(&p, 2, '.', &second) ||
	    !digits_parse(&p, 6, 'Z', &us) || *p != ' ' || year < 1970 || year > 2200 ||
	    month < 1 || month > 12 || day < 1 || day > 31 || hour > 23 || minute > 59 ||
	    second > 60)
		return false;
	l->head = (struct qemu_head){
		.time_ns = (((days_of(year, month, day) * 24 + hour) * 60 + minute) * 60 + second) *
				   1000000000 +
			   us * 1000};
	return event_parse(l, p + 1, end);
}

/* "NAME DELTA.NNN pid=N ARGS": head.time_ns is the difference. */
static bool python_parse(struct line *l, const char *s, const char *end)
{
	const char *p, *digits;
	uint64_t us, ns;

	l->name = name_parse(s);
	digits = p = s + l->name.len + 1;
	if (!l->name.len || p >= end)
		return false;
	us = text_decimal(&p);
	if (p == digits || *p != '.' || us > INT64_MAX / 1000000)
		return false;
	digits = ++p;
	ns = text_decimal(&p);
	if (p != digits + 3 || strncmp(p, " pid=", 5))
		return false;
	p += 5;
	l->head = (struct qemu_head){.time_ns = us * 1000 + ns, .pid = (uint32_t)text_decimal(&p)};
	p = text_skip_blanks(p);
	l->args = (struct text_slice){p, (uint32_t)(p < end ? end - p : 0)};
	return true;
}

static enum form line_parse(struct line *l, const char *s, const char *end)
{
	enum form form;

	s = text_skip_quote(s);
	form = stamped_parse(l, s, end);
	if (form != NO_EVENT)
		return form;
	if (iso_parse(l, s, end))
		return LOG_ISO;
	if (python_parse(l, s, end))
		return SIMPLETRACE_PY;
	l->head = (struct qemu_head){0};
	return event_parse(l, s, end) && memchr(l->name.at, '_', l->name.len) &&
			       qemu_event_has_args(l->name, l->args)
		       ? LOG_BARE
		       : NO_EVENT;
}

/*
 * The form of the file's lines by its first ones. Without a time, any line of text could be an event: only one that is
 * known decides, with its first argument.
 */
static bool decides(enum form form, const struct line *l)
{
	static const char *const first[] = {"vq 0x", "vdev 0x", "elem 0x", "cpu_index ", "addr 0x",
					    "cpu "};

	const char *p = l->args.at;

	if (form != LOG_BARE)
		return form != NO_EVENT;
	if (qemu_event_is_known(l->name))
		return true;
	if (array_any(sizeof(first) / sizeof(first[0]), i,
		      l->args.len > strlen(first[i]) &&
			      !memcmp(l->args.at, first[i], strlen(first[i]))))
		return true;
	while ((*p >= 'a' && *p <= 'z') || *p == '_')
		p++;
	return p > l->args.at && !strncmp(p, " 0x", 3); /* "req 0x..." */
}

static bool qemulog_probe(const uint8_t *head, size_t len)
{
	char *copy = malloc(len + 1 + TEXT_LINE_SLACK), *s, *newline;
	bool whole = len < READER_PROBE_BYTES, found = false;
	struct line l;

	if (!copy)
		return false;
	memcpy(copy, head, len);
	copy[len] = '\n';
	memset(copy + len + 1, 0, TEXT_LINE_SLACK);
	for (s = copy; !found && s < copy + len + whole; s = newline + 1) {
		newline = memchr(s, '\n', len + whole - (size_t)(s - copy));
		if (!newline)
			break;
		found = decides(line_parse(&l, s, newline), &l);
	}
	free(copy);
	return found;
}

static void line_skip(struct qemulog *q)
{
	if (!q->unknown++)
		q->first_unknown = q->lines.number;
}

/* The next line that is an event; false at the end. */
static bool line_next(struct qemulog *q, struct line *l)
{
	char *s, *end;

	while ((s = text_line_next(&q->lines, &end))) {
		enum form form = line_parse(l, s, end);

		if (q->form == NO_EVENT && decides(form, l))
			q->form = form;
		if (form == NO_EVENT || form != q->form) {
			if (*text_skip_quote(s) != '\n')
				line_skip(q);
			continue;
		}
		if (form == LOG_BARE)
			l->head.time_ns = q->time_ns + 1;
		else if (form == SIMPLETRACE_PY)
			l->head.time_ns += q->time_ns;
		return true;
	}
	return false;
}

/* ---- the reader ---- */

static int qemulog_next(struct reader *r, struct batch *batch)
{
	struct qemulog *q = (struct qemulog *)r;
	struct line l;

	batch->nr = 0;
	while (batch->nr + 1 < BATCH_MAX && line_next(q, &l)) {
		struct qemu_name *n = qemu_event_name(&q->events, l.name, NULL);
		uint64_t saved_ns;

		if (!n) {
			line_skip(q);
			continue;
		}
		saved_ns = qemu_saved_ns(n, l.args);
		if (saved_ns && saved_ns < l.head.time_ns) {
			struct qemu_head begin = l.head;

			begin.time_ns -= saved_ns;
			if (begin.time_ns < q->time_ns) /* it began after the event before */
				begin.time_ns = q->time_ns;
			qemu_saving_make(begin, q->arena + batch->nr * QEMU_RECORD_MAX,
					 &batch->ev[batch->nr]);
			batch->nr++;
			r->info.nr_events++;
		}
		qemu_event_make(&q->events, n, l.head, l.args,
				q->arena + batch->nr * QEMU_RECORD_MAX, &batch->ev[batch->nr]);
		batch->nr++;
		r->info.nr_events++;
		if (l.head.time_ns < q->time_ns)
			r->info.late++;
		else
			q->time_ns = l.head.time_ns;
	}
	r->info.end_ns = q->time_ns > r->info.end_ns ? q->time_ns : r->info.end_ns;
	if (q->lines.err)
		return fail(q->lines.err, "%s: %s", r->info.file, strerror(-q->lines.err));
	if (!batch->nr && r->info.late)
		trace_info_caveat(&r->info, "%s: %" PRIu64 " events are out of order", r->info.file,
				  r->info.late);
	if (!batch->nr && q->unknown)
		trace_info_caveat(&r->info,
				  "%s: %" PRIu64 " lines were skipped, the first is line %" PRIu64
				  ": not recognized",
				  r->info.file, q->unknown, q->first_unknown);
	return batch->nr > 0;
}

static void qemulog_close(struct reader *r)
{
	struct qemulog *q = (struct qemulog *)r;

	text_lines_close(&q->lines);
	qemu_events_deinit(&q->events);
	free(q->arena);
	trace_info_deinit(&r->info);
	free(q);
}

static void describe(struct qemulog *q)
{
	struct trace_info *info = &q->reader.info;

	info->kind = q->form == SIMPLETRACE_PY ? "simpletrace text" : "QEMU log";
	json_object_set_new(info->meta, "clock",
			    json_string(q->form == SIMPLETRACE_PY ? "monotonic" : "realtime"));
	if (q->form == LOG_BARE) {
		json_object_set_new(info->meta, "time_unit", json_string("ticks"));
		trace_info_caveat(info,
				  "%s: the log has no timestamps (QEMU: -msg timestamp=on): times "
				  "are the numbers of the events",
				  info->file);
	} else if (q->form != SIMPLETRACE_PY) {
		trace_info_caveat(info,
				  "%s: timestamps are from the clock 'realtime', not "
				  "CLOCK_MONOTONIC",
				  info->file);
	}
	if (q->form == LOG || q->form == LOG_ISO)
		trace_info_set_resolution(info, 1000);
}

static int qemulog_begin(struct qemulog *q, const char *path)
{
	struct trace_info *info = &q->reader.info;
	int err = text_lines_open(&q->lines, path);
	struct line l;

	if (err)
		return err;
	q->arena = malloc(ARENA);
	if (!q->arena)
		return fail(-ENOMEM, "%s: out of memory", path);
	if (line_next(q, &l))
		info->start_ns = info->end_ns = l.head.time_ns;
	describe(q);
	q->unknown = 0;
	return text_lines_rewind(&q->lines);
}

static int qemulog_open(const char *path, const struct read_hint *hint, struct reader **ret)
{
	struct qemulog *q = calloc(1, sizeof(*q));
	int err = q ? trace_info_init(&q->reader.info, path, "QEMU log")
		    : fail(-ENOMEM, "%s: out of memory", path);

	(void)hint; /* wants() lives only as long as this call */
	if (err) {
		free(q);
		return err;
	}
	q->reader.ops = &qemulog_reader;
	q->lines.fd = -1;
	qemu_events_init(&q->events, false);
	err = qemulog_begin(q, path);
	if (err)
		qemulog_close(&q->reader);
	else
		*ret = &q->reader;
	return err;
}

const struct reader_ops qemulog_reader = {
	.name = "QEMU log",
	.summary = "QEMU's log with trace events, and the text of simpletrace.py",
	.text = true,
	.probe = qemulog_probe,
	.open = qemulog_open,
	.next = qemulog_next,
	.close = qemulog_close,
};
