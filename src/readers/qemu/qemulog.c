// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * QEMU's trace events as text (the forms of a line: qemu_line.h). Lines that are no trace events, of which the log has
 * others, and events without their ends are counted. A log that was pasted is read as paste.c restores it.
 *
 * The number before the '@' is the thread in QEMU's log and the process in SystemTap's and simpletrace.py's.
 */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>

#include "base/error.h"
#include "base/units.h"
#include "event/losses.h"
#include "event/records.h"
#include "readers/qemu/qemu_line.h"
#include "readers/qemu/qemu_reader.h"
#include "readers/text/lines.h"
#include "readers/text/log_years.h"
#include "readers/text/paste_clean.h"
#include "readers/text/paste_sources.h"

/*
 * People paste the logs of a migration's source and destination, or of two runs, one below the other. Their events
 * would be those of one VM. Two logs are seen from
 *
 *   - times that go back by more than a thread may be late, and stay there: this is an error;
 *   - an event of the destination after one of the source: a QEMU that sent its VM away does not receive one. The
 *     phases of a migration may still be right, so this is a note.
 *
 * A log whose lines have the process is not examined: its VMs are told apart.
 */

struct qemu_two {
	uint64_t newest_ns;
	unsigned int behind;	   /* events in a row that are far older than the newest */
	uint64_t back_ns, line;	   /* of the first of these, how far and where */
	bool words;		   /* lines that are no events precede it */
	bool was_source;	   /* of a migration */
	uint64_t destination_line; /* after events of the source; 0: none */
};

enum {
	LATE_NS = 10000000, /* a thread that is preempted before it writes its line */
	BEHIND_MIN = 3,
	BEHIND_MIN_WORDS = 2, /* after "on the destination:", at the end of the text */
};

static int back_fail(const struct qemu_two *t, const char *file)
{
	char back[16];

	fail(-EINVAL,
	     "%s: the times go back by %s at line %" PRIu64
	     ": these are the logs of two QEMUs or two runs",
	     file, duration_print(t->back_ns, back, sizeof(back)), t->line);
	return fail_hint(-EINVAL, "put each in a file of its own");
}

static bool two_begins(struct text_slice s, const char *with)
{
	return s.len >= strlen(with) && !memcmp(s.at, with, strlen(with));
}

static bool two_has(struct text_slice s, const char *what)
{
	return memmem(s.at, s.len, what, strlen(what)) != NULL;
}

/* Names of trace events of QEMU's migration/trace-events and system/trace-events. */
static bool is_source(const struct qemu_line *l)
{
	return two_begins(l->name, "migration_thread_") ||
	       two_begins(l->name, "migration_completion") ||
	       two_begins(l->name, "migration_set_outgoing") ||
	       (two_begins(l->name, "vmstate_downtime_checkpoint") &&
		two_begins(l->args, "src-")) ||
	       (two_begins(l->name, "runstate_set") && two_has(l->args, "(postmigrate)"));
}

static bool is_destination(const struct qemu_line *l)
{
	return two_begins(l->name, "process_incoming_migration") ||
	       two_begins(l->name, "migration_set_incoming") ||
	       (two_begins(l->name, "vmstate_downtime_checkpoint") &&
		two_begins(l->args, "dst-")) ||
	       (two_begins(l->name, "runstate_set") && two_has(l->args, "(inmigrate)"));
}

static int times_check(struct qemu_two *t, const char *file, uint64_t time_ns, uint64_t line,
		       bool words)
{
	if (time_ns + LATE_NS >= t->newest_ns) {
		t->newest_ns = time_ns > t->newest_ns ? time_ns : t->newest_ns;
		t->behind = 0;
		return 0;
	}
	if (!t->behind++) {
		t->back_ns = t->newest_ns - time_ns;
		t->line = line;
		t->words = words;
	}
	return t->behind < BEHIND_MIN ? 0 : back_fail(t, file);
}

/*
 * Each event in turn, with the number of its line; words: lines that are no events are between it and the event before.
 * Then the end. -EINVAL with the error message set: there are two.
 */
static int qemu_two_event(struct qemu_two *t, const char *file, const struct qemu_line *l,
			  uint64_t line, bool words)
{
	bool has_time = l->form == QEMU_LOG || l->form == QEMU_LOG_ISO || l->form == QEMU_LOG_MONO;

	if (!has_time && l->form != QEMU_LOG_BARE)
		return 0;
	if (t->was_source && !t->destination_line && is_destination(l))
		t->destination_line = line;
	t->was_source |= is_source(l);
	return has_time ? times_check(t, file, l->head.time_ns, line, words) : 0;
}

static int qemu_two_end(const struct qemu_two *t, struct trace_info *info)
{
	if (t->destination_line)
		trace_info_caveat(info,
				  "%s: line %" PRIu64
				  " is of a migration's destination, lines before it are of its "
				  "source: the logs of two QEMUs are shown as of one VM (but for "
				  "downtime, put each in a file of its own)",
				  info->file, t->destination_line);
	return t->behind >= BEHIND_MIN_WORDS && t->words ? back_fail(t, info->file) : 0;
}

enum {
	NS_DECIMALS = 9,
	ARENA = BATCH_MAX * QEMU_RECORD_MAX,
	FORM_LINES_MAX = 100000, /* lines whose form is looked at before the first is read */
	PIECE_EVENTS_MIN = 2,	 /* above a blank line that separates pieces */
};

static const uint64_t day_ns = 86400 * 1000000000ull;

struct qemulog {
	struct reader reader;
	struct text_lines lines;
	struct qemu_events events;
	enum qemu_form form; /* of all lines */
	uint64_t time_ns;    /* of the newest line */
	uint64_t last_line;  /* the last event's */
	struct skipped {
		uint64_t nr, first_line;
	} unknown, cut, head; /* head: the first line, if its beginning is missing */
	struct qemu_two two;
	struct text_seam seam;	 /* what is missing after the newest event */
	uint64_t since_blank;	 /* events below the last blank line */
	struct skipped left_out; /* places where only seam.doubtful is set, and the line after */
	uint64_t days;		 /* that have begun in times of day without a date */
	uint64_t uncounted;	 /* losses of unknown size */
	struct paste_sources
		sources;  /* of lines whose heads paste.c does not remove, as they have the time */
	uint8_t decimals; /* of the times: the least */
	struct log_years years;
	uint8_t *arena;
};

static bool qemulog_probe(const uint8_t *head, size_t len)
{
	return qemu_text_probe((const char *)head, len, len < READER_PROBE_BYTES);
}

/* ---- lines ---- */

static void line_skip(const struct qemulog *q, struct skipped *s)
{
	if (!s->nr++)
		s->first_line = q->lines.number;
}

/* "vm_run_exit cpu_index 0, reason 2", the first line of a paste */
static bool head_is_cut(const struct qemulog *q, const struct qemu_line *l)
{
	return l->form == QEMU_LOG_BARE && q->lines.number == 1 &&
	       qemu_event_is_part(l->name, true);
}

/* "virtio_q", the last one */
static bool tail_is_cut(const struct qemulog *q, const struct qemu_line *l)
{
	return q->lines.number == q->last_line && !l->args.len &&
	       qemu_event_is_part(l->name, false);
}

/* "(30 s later)", "# later", "Second try, after a reboot:": what QEMU and other programs do not print into its log. */
static bool is_remark(const char *s, const char *end)
{
	static const char opens[] = "([<", closes[] = ")]>", marks[] = "#*=~/";
	const char *open = strchr(opens, *s);

	while (end > s && end[-1] == ' ')
		end--;
	if (end - s < 2)
		return false;
	if (open) /* not "[   12.3] Linux", of a guest's console */
		return end[-1] == closes[open - opens];
	if (strchr(marks, *s))
		return s[1] == ' ' || s[1] == *s;
	return isalpha((unsigned char)*s) && end[-1] == ':' && memchr(s, ' ', (size_t)(end - s)) &&
	       !memmem(s, (size_t)(end - s), "qemu", 4);
}

/* What a line that is no event says that is missing there. A log has others, for which no event was left out. */
static void seam_see(struct qemulog *q, const char *s, const char *end)
{
	bool blank = text_skip_quote(s) >= end;

	s = text_skip_quote(s);
	text_seam_parse(s, end, &q->seam);
	q->seam.doubtful |=
		blank ? q->since_blank >= PIECE_EVENTS_MIN || q->lines.is_fence : is_remark(s, end);
	q->since_blank = blank ? 0 : q->since_blank;
}

/* The next line that is an event; false at the end. */
static bool line_next(struct qemulog *q, struct qemu_line *l)
{
	char *s, *end;

	while ((s = text_line_next(&q->lines, &end))) {
		enum qemu_form form = qemu_line_parse(l, s, end);

		q->seam.doubtful |= q->lines.after_drop;
		if (form == QEMU_NO_EVENT || form != q->form || q->lines.signature) {
			if (form == QEMU_NO_EVENT)
				seam_see(q, s, end);
			if (text_skip_quote(s) < end)
				line_skip(q, &q->unknown);
			continue;
		}
		q->since_blank++;
		if (head_is_cut(q, l)) {
			line_skip(q, &q->head);
			continue;
		}
		if (qemu_line_is_cut(l) || tail_is_cut(q, l)) {
			line_skip(q, &q->cut);
			q->seam.doubtful = true;
			continue;
		}
		l->head.time_ns = log_years_time(&q->years, &l->time, l->head.time_ns);
		if (l->time.of_day) {
			l->head.time_ns += q->days * day_ns;
			q->days += q->time_ns > l->head.time_ns + day_ns / 2;
			l->head.time_ns += q->time_ns > l->head.time_ns + day_ns / 2 ? day_ns : 0;
		}
		if (form == QEMU_LOG_BARE)
			l->head.time_ns = q->time_ns + 1;
		else if (form == QEMU_SIMPLETRACE_PY)
			l->head.time_ns += q->time_ns;
		return true;
	}
	return false;
}

/*
 * The form of all lines is that of most; of a text whose lines were joined and broken elsewhere, so that what begins a
 * line is no event, that of the events within. Returns whether there are lines that paste.c may read otherwise.
 */
static bool form_find(struct qemulog *q)
{
	uint64_t nr[QEMU_FORMS] = {0};
	enum qemu_form within = QEMU_NO_EVENT;
	bool is_odd = false;
	struct qemu_line l;
	char *s, *end;

	q->sources = (struct paste_sources){0};
	q->decimals = NS_DECIMALS;
	q->years = (struct log_years){.any = false};
	for (int i = 0; i < FORM_LINES_MAX && (s = text_line_next(&q->lines, &end)); i++) {
		enum qemu_form form = qemu_line_parse(&l, s, end);

		if (form && qemu_line_is_likely(&l)) {
			paste_sources_line(&q->sources, l.source, q->lines.number);
			q->decimals = l.time.decimals < q->decimals ? l.time.decimals : q->decimals;
			log_years_learn(&q->years, &l.time);
		}
		q->last_line = form ? q->lines.number : q->last_line;
		if (form)
			qemu_tid_learn(&q->events, l.head.tid, l.args);
		nr[form] += qemu_line_is_likely(&l) && !q->lines.signature;
		if (!within && (!form || form == QEMU_LOG_BARE))
			within = qemu_line_form_within(s, end);
		is_odd |= text_skip_quote(s) < end &&
			  (!l.form || qemu_line_is_cut(&l) || qemu_line_has_more(s, end) ||
			   paste_is_odd(s, end) || paste_has_cut_mark(s, end));
	}
	log_years_rewind(&q->years);
	is_odd |= q->lines.unended;
	q->form = QEMU_NO_EVENT;
	for (enum qemu_form form = q->form + 1; form < QEMU_FORMS; form++)
		if (nr[form] && (!q->form || nr[form] > nr[q->form]))
			q->form = form;
	if (q->form == QEMU_LOG_BARE && within)
		q->form = within;
	return is_odd;
}

/* ---- the reader ---- */

static void skipped_report(struct qemulog *q, const struct skipped *s, const char *what)
{
	struct trace_info *info = &q->reader.info;

	if (s->nr)
		trace_info_caveat(info,
				  "%s: %" PRIu64 " lines were skipped, the first is line %" PRIu64
				  ": %s",
				  info->file, s->nr, s->first_line, what);
}

/* Those that paste.c dropped, and others. */
static void cut_report(struct qemulog *q, const struct paste_counts *counts)
{
	struct skipped all = {q->cut.nr + counts->cut, q->cut.first_line};

	if (!q->cut.nr || (counts->cut && counts->first_cut < q->cut.first_line))
		all.first_line = counts->first_cut;
	skipped_report(q, &all, "their ends are missing");
}

static void end_report(struct qemulog *q)
{
	const struct paste_counts *counts = paste_counts_of(&q->lines);
	struct trace_info *info = &q->reader.info;

	if (counts->joined)
		trace_info_caveat(info, "%s: %" PRIu64 " records were joined from several lines",
				  info->file, counts->joined);
	if (counts->width)
		trace_info_caveat(info, "%s: the lines are cut at column %zu", info->file,
				  counts->width);
	skipped_report(q, &(struct skipped){counts->glued, counts->first_glued},
		       "several records are in one line, and where they begin is not certain");
	if (counts->open)
		trace_info_caveat(info,
				  "%s: the texts of %" PRIu64 " events, the first in line %" PRIu64
				  ", may lack their ends",
				  info->file, counts->open, counts->first_open);
	if (q->events.has_vcpu_tids)
		trace_info_caveat(
			info, "%s: the log has no threads%s: each vCPU counts as one thread",
			info->file,
			q->events.tids_are_pids ? ", but one number for several vCPUs" : "");
	if (q->uncounted)
		trace_info_caveat(info,
				  "%s: an unknown number of events is missing in %" PRIu64
				  " places; each place counts as one lost event",
				  info->file, q->uncounted);
	if (q->left_out.nr)
		trace_info_caveat(info,
				  "%s: events may be left out in %" PRIu64
				  " places, the first is before line %" PRIu64
				  ": blank lines, remarks, or dropped records are there, and what "
				  "spans them is not measured",
				  info->file, q->left_out.nr, q->left_out.first_line);
	if (info->late)
		trace_info_caveat(info, "%s: %" PRIu64 " events are out of order", info->file,
				  info->late);
	skipped_report(q, &q->unknown, "not recognized");
	skipped_report(q, &q->head, "its beginning is missing");
	cut_report(q, counts);
}

/* Events may be missing between the newest event and one of this time. */
static void gap_make(struct qemulog *q, uint64_t until_ns, uint8_t *to, struct event *ev)
{
	struct rec_gap gap = {.hdr = {.time = q->time_ns,
				      .type = EV_gap,
				      .size = sizeof(gap),
				      .cpu = RECORD_CPU_UNKNOWN,
				      .vcpu = RECORD_NO_VCPU},
			      .gap_cpu = RECORD_CPU_UNKNOWN,
			      .until = until_ns > q->time_ns ? until_ns : q->time_ns};

	line_skip(q, &q->left_out);
	q->reader.info.nr_events++;
	memcpy(to, &gap, sizeof(gap));
	*ev = (struct event){.time_ns = gap.hdr.time,
			     .type = event_type_ours(EV_gap),
			     .data = to,
			     .size = sizeof(gap),
			     .cpu = RECORD_CPU_UNKNOWN,
			     .vcpu = RECORD_NO_VCPU};
}

/* The loss that lines before an event of this time, or before the end, report; false: they report none. */
static bool seam_make(struct qemulog *q, uint64_t until_ns, uint8_t *to, struct event *ev)
{
	struct text_seam seam = q->seam;
	struct rec_lost lost = {.hdr = {.time = q->time_ns,
					.type = EV_lost,
					.size = sizeof(lost),
					.cpu = RECORD_CPU_UNKNOWN,
					.vcpu = RECORD_NO_VCPU},
				.count = seam.count ? seam.count : 1,
				.lost_cpu = LOSS_CPU_UNKNOWN,
				.until = until_ns > q->time_ns ? until_ns : q->time_ns};

	q->seam = (struct text_seam){0};
	if (!seam.any && seam.doubtful && q->time_ns && until_ns != INT64_MAX) {
		gap_make(q, until_ns, to, ev);
		return true;
	}
	if (!seam.any || (!q->time_ns && !seam.stated))
		return false;
	if (!q->time_ns)
		lost.hdr.time = q->reader.info.start_ns;
	q->uncounted += !seam.count;
	q->reader.info.lost += lost.count;
	q->reader.info.nr_events++;
	memcpy(to, &lost, sizeof(lost));
	*ev = (struct event){.time_ns = lost.hdr.time,
			     .type = event_type_ours(EV_lost),
			     .data = to,
			     .size = sizeof(lost),
			     .cpu = RECORD_CPU_UNKNOWN,
			     .vcpu = RECORD_NO_VCPU};
	return true;
}

static int qemulog_next(struct reader *r, struct batch *batch)
{
	struct qemulog *q = (struct qemulog *)r;
	struct qemu_line l;
	uint64_t skipped;

	batch->nr = 0;
	for (skipped = q->unknown.nr; batch->nr + 2 < BATCH_MAX && line_next(q, &l);
	     skipped = q->unknown.nr) {
		struct qemu_name *n = qemu_event_name(&q->events, l.name, NULL);
		uint64_t took_ns, step;
		int err = qemu_two_event(&q->two, r->info.file, &l, q->lines.number,
					 q->unknown.nr > skipped);

		if (err)
			return err;
		if (!n) {
			line_skip(q, &q->unknown);
			continue;
		}
		batch->nr += seam_make(q, l.head.time_ns, q->arena + batch->nr * QEMU_RECORD_MAX,
				       &batch->ev[batch->nr]);
		took_ns = qemu_step_begin(n, l.args, &step);
		if (took_ns && took_ns < l.head.time_ns) {
			struct qemu_head begin = l.head;

			begin.time_ns -= took_ns;
			if (begin.time_ns < q->time_ns) /* it began after the event before */
				begin.time_ns = q->time_ns;
			qemu_step_make(begin, step, q->arena + batch->nr * QEMU_RECORD_MAX,
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
	if (!batch->nr && q->seam.stated)
		batch->nr += seam_make(q, INT64_MAX, q->arena, &batch->ev[0]);
	if (batch->nr)
		return 1;
	end_report(q);
	return qemu_two_end(&q->two, &r->info);
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

static uint64_t ns_of_decimals(unsigned int decimals)
{
	uint64_t ns = 1;

	for (; decimals < NS_DECIMALS; decimals++)
		ns *= 10;
	return ns;
}

static void qemulog_describe(struct qemulog *q)
{
	struct trace_info *info = &q->reader.info;

	info->kind = q->form == QEMU_SIMPLETRACE_PY ? "simpletrace text" : "QEMU log";
	bool monotonic = q->form == QEMU_SIMPLETRACE_PY || q->form == QEMU_LOG_MONO;

	json_object_set_new(info->meta, "clock", json_string(monotonic ? "monotonic" : "realtime"));
	if (q->form == QEMU_LOG_BARE) {
		json_object_set_new(info->meta, "time_unit", json_string("ticks"));
		trace_info_caveat(info,
				  "%s: the log has no timestamps (QEMU: -msg timestamp=on): times "
				  "are the numbers of the events",
				  info->file);
	} else if (q->form && !monotonic) {
		trace_info_caveat(info,
				  "%s: timestamps are from the clock 'realtime', not "
				  "CLOCK_MONOTONIC",
				  info->file);
	}
	if (q->form == QEMU_LOG || q->form == QEMU_LOG_ISO || q->form == QEMU_LOG_MONO)
		trace_info_set_resolution(info, ns_of_decimals(q->decimals));
	if (q->years.any)
		trace_info_caveat(info, "%s: the dates have no year: %" PRIu64 " is assumed",
				  info->file, q->years.first);
}

static int qemulog_begin(struct qemulog *q, const char *path, struct open_files *files)
{
	struct trace_info *info = &q->reader.info;
	int err = text_lines_open(&q->lines, path, files);
	struct qemu_line l;

	if (err)
		return err;
	q->arena = malloc(ARENA);
	if (!q->arena)
		return fail(-ENOMEM, "%s: out of memory", path);
	if (form_find(q)) {
		err = paste_begin(&q->lines, &qemu_paste_grammar)
			      ?: paste_check(&q->lines, &q->reader.info);
		if (err)
			return err;
		form_find(q);
	}
	err = paste_sources_check(&q->sources, info) ?: text_lines_rewind(&q->lines);
	if (!err && line_next(q, &l))
		info->start_ns = info->end_ns = l.head.time_ns;
	qemulog_describe(q);
	q->unknown = q->cut = q->head = (struct skipped){0};
	q->seam = (struct text_seam){0};
	q->since_blank = 0;
	return err ? err : text_lines_rewind(&q->lines);
}

static int qemulog_open(const char *path, const struct read_hint *hint, struct reader **ret)
{
	struct qemulog *q = calloc(1, sizeof(*q));
	int err = q ? trace_info_init(&q->reader.info, path, "QEMU log")
		    : fail(-ENOMEM, "%s: out of memory", path);

	if (err) {
		free(q);
		return err;
	}
	q->reader.ops = &qemulog_reader;
	q->lines.fd = -1;
	qemu_events_init(&q->events, false);
	err = qemulog_begin(q, path, hint ? hint->files : NULL);
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
