/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Events of one machine as a trace.dat of version 6 (trace-cmd.dat.v6(5)), which trace-cmd report and KernelShark read.
 * What hostrace has from the kernel's tracepoints is written with the tracepoints' names of systems and fields
 * (readers/ftrace/ftrace_kvm.h), so that these tools' plugins know it and `import` gets the same events back; other
 * events are of the system "hostrace". libtracecmd is not used: it only writes event formats that it reads from
 * tracefs.
 */
#ifndef HOSTRACE_EVENT_TRACEDAT_H
#define HOSTRACE_EVENT_TRACEDAT_H

#include "base/cleanup.h"
#include "output/event_rows.h"

struct event_tracedat;

/* Times are ns of CLOCK_MONOTONIC, or ticks of a TSC. Pages go to a temporary file. NULL with the error message set. */
struct event_tracedat *event_tracedat_new(bool ticks);
void event_tracedat_close(struct event_tracedat *t);
DEFINE_CLEANUP(event_tracedat, struct event_tracedat *, event_tracedat_close);
#define _cleanup_event_tracedat_ _cleanup_(event_tracedat_cleanup_)

/*
 * Adds an event; `lost` ones become the mark of the next page of their CPU. 0; -E2BIG: its CPU number is too large;
 * -ENOMEM, -EIO. The error message is set.
 */
int event_tracedat_row(struct event_tracedat *t, const struct event_row *row);

/* Writes the file. -errno with the error message set; `out` keeps its own errors. */
int event_tracedat_finish(struct event_tracedat *t, FILE *out);

/* Events that were longer than a page: they are marked as lost there. */
uint64_t event_tracedat_dropped(const struct event_tracedat *t);

#endif
