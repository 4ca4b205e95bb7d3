// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The time of an event's line (tracetext.h): its own one, that of the log's line if it has none (tp_printk, ts), or the
 * number of the line. Times of day without a date, of babeltrace2 and of ts, begin again at midnight: the first pass
 * notes at which lines, as the second does not see them all.
 */
#include "base/clock.h"
#include "readers/text/tracetext.h"

static void log_time(struct tracetext *t)
{
	const struct text_log *log = &t->lines.log;
	struct text_line *l = &t->line;

	bool is_first = !t->scanned && !t->reader.info.nr_events;

	t->log_coarse |= l->timeless && log->is_coarse;
	t->is_log_time =
		l->timeless && log->has_time && !t->unit.own_times && (is_first || t->log_times);
	if (!t->is_log_time)
		return;
	l->timeless = false;
	l->time = log->time.ns;
	l->decimals = log->time.decimals;
	l->is_date = !log->time.monotonic;
	l->tid = l->tid ? l->tid : log->tid;
	t->log_times = true;
}

/* Times of day begin again at midnight: a time that is far before the newest one is of the next day. */
static void day_add(struct tracetext *t)
{
	static const uint64_t day = 86400 * NS_PER_S;
	struct text_days *d = &t->days;
	struct text_line *l = &t->line;

	if (l->timeless || l->ticks || l->time >= day ||
	    !(t->is_log_time ? t->lines.log.time.of_day : t->lines.babeltrace))
		return;
	if (!t->scanned && d->newest > l->time && d->newest - l->time > day / 2 &&
	    d->nr < TRACETEXT_DAYS_MAX)
		d->record[d->nr++] = t->lines.record;
	d->newest = t->scanned ? d->newest : l->time;
	for (unsigned int i = 0; i < d->nr && d->record[i] <= t->lines.record; i++)
		l->time += day;
}

void tracetext_time(struct tracetext *t)
{
	log_time(t);
	day_add(t);
	t->line.timeless |= t->unit.differences;
	if (t->line.timeless)
		t->line.time = t->lines.record;
}
