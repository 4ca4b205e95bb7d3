/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Events as a CTF 1.8 trace (https://diamon.org/ctf/v1.8.3/), which babeltrace2 and Trace Compass read: a directory
 * with the files "metadata" and "stream". Fields keep their width and sign; what every event has (pid, tid, cpu, vcpu,
 * its source, its thread's name) is the event context. libbabeltrace2 is not used for it: it opens its files itself, by
 * name and when it likes, which the confinement of commands does not allow, and brings GLib with it.
 */
#ifndef HOSTRACE_EVENT_CTF_H
#define HOSTRACE_EVENT_CTF_H

#include "base/cleanup.h"
#include "output/event_rows.h"

struct event_ctf;

struct event_ctf_clock {
	bool ticks;	   /* times are ticks of a clock whose rate is unknown, not ns */
	int64_t offset_ns; /* from times to CLOCK_REALTIME; 0: unknown */
};

/* Events are written to `stream` (borrowed; it must be seekable) as they come. NULL with the error message set. */
struct event_ctf *event_ctf_new(FILE *stream, const struct event_ctf_clock *clock);
void event_ctf_close(struct event_ctf *ctf);
DEFINE_CLEANUP(event_ctf, struct event_ctf *, event_ctf_close);
#define _cleanup_event_ctf_ _cleanup_(event_ctf_cleanup_)

/*
 * Adds an event. A time before that of the event before, which the format does not allow, becomes that time and is
 * counted (event_ctf_moved()). `lost` counts the events lost so far: readers print it. -ENOMEM with the message set.
 */
int event_ctf_row(struct event_ctf *ctf, const struct event_row *row, uint64_t lost);

/* Completes the stream and writes the metadata. `out` keeps its own errors. -errno with the error message set. */
int event_ctf_finish(struct event_ctf *ctf, uint64_t lost, FILE *out);

uint64_t event_ctf_moved(const struct event_ctf *ctf);

#endif
