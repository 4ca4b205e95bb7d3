/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Events as CSV: the columns of a row, then one column per field name of the events that are written. Which those are
 * is known after the last event, so rows go to a temporary file first.
 */
#ifndef HOSTRACE_EVENT_CSV_H
#define HOSTRACE_EVENT_CSV_H

#include "base/cleanup.h"
#include "output/event_rows.h"

struct event_csv;

enum { EVENT_CSV_FIELDS_MAX = 4096 };

/* Times are ns, or ticks of a clock whose rate is unknown. NULL with the error message set. */
struct event_csv *event_csv_new(bool ticks, bool with_vm);

/* Frees everything, the temporary file too. */
void event_csv_close(struct event_csv *csv);
DEFINE_CLEANUP(event_csv, struct event_csv *, event_csv_close);
#define _cleanup_event_csv_ _cleanup_(event_csv_cleanup_)

/* 0; -E2BIG: more than EVENT_CSV_FIELDS_MAX names; -ENOMEM. The error message is set. */
int event_csv_row(struct event_csv *csv, const struct event_row *row);

/* Writes the heading and all rows. 0 or -errno with the error message set; `out` keeps its own errors. */
int event_csv_finish(struct event_csv *csv, FILE *out);

#endif
