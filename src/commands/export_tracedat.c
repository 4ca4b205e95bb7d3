// SPDX-License-Identifier: GPL-2.0-or-later
/* export trace.dat: the events, and how many of them were lost. */
#include <errno.h>
#include <inttypes.h>

#include "base/error.h"
#include "commands/common/command.h"
#include "commands/export_events.h"
#include "output/event_formats.h"
#include "reports/rows.h"
#include "tracefile/tracefile.h"

struct target {
	struct event_tracedat *trace;
	uint64_t lost; /* events, of those reports that are in the trace */
};

static int row_put(void *arg, const struct event_row *row, uint64_t lost)
{
	struct target *t = arg;

	(void)lost;
	t->lost += lost_record_count(row->ev);
	return event_tracedat_row(t->trace, row);
}

int export_tracedat_write(const struct input_set *in, FILE *out)
{
	const struct trace_info *info = &in->reader->info;
	_cleanup_event_tracedat_ struct event_tracedat *trace = NULL;
	struct target t = {0};
	int err;

	if (input_set_nr(in) > 1)
		return fail(-EINVAL,
			    "a trace.dat holds the events of one machine: export the host's "
			    "with --no-guest, and each other trace alone");
	t.trace = trace = event_tracedat_new(trace_info_in_ticks(info));
	err = trace ? rows_each(in, row_put, &t) : -ENOMEM;
	if (!err)
		err = event_tracedat_finish(trace, out);
	if (!err && event_tracedat_dropped(trace))
		command_note("%" PRIu64 " events are longer than a page and are marked as lost",
			     event_tracedat_dropped(trace));
	if (!err && event_tracedat_moved(trace))
		command_note("%" PRIu64
			     " events out of time order got the time of the event before them",
			     event_tracedat_moved(trace));
	if (!err && event_tracedat_unplaced(trace))
		command_note("the CPU of %" PRIu64
			     " events is not recorded; the trace.dat has them on CPU 0",
			     event_tracedat_unplaced(trace));
	if (!err && info->lost > t.lost)
		command_note("%" PRIu64
			     " lost events have no place and are not marked in the trace.dat",
			     info->lost - t.lost);
	return err;
}
