/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Formats of `list` and `export` that write events into something that must be opened and finished. */
#ifndef HOSTRACE_EVENT_FORMATS_H
#define HOSTRACE_EVENT_FORMATS_H

#include "output/event_rows.h"

/*
 * Events as CSV: the columns of a row, then one column per field name of the events that are written. Which those are
 * is known after the last event, so rows go to a temporary file first.
 */
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

/*
 * Chosen columns of events (`list --columns`): what a script reads is what it named, in that order, whatever else later
 * versions add. A column is one of a row's own (time_ns, source, ..., by their JSON keys), or a field by its name; a
 * field that has the name of one of a row's own is "fields.NAME". A cell is empty where an event has none.
 */
struct event_columns;

extern const struct table_def events_table; /* a row's own columns */

enum { EVENT_COLUMNS_MAX = 64 };

enum event_columns_format {
	EVENT_COLUMNS_TEXT, /* separated by tabs; "-" where an event has none */
	EVENT_COLUMNS_CSV,
	EVENT_COLUMNS_JSON, /* an object without newline; null where an event has none */
};

/* "time_ns,vcpu,event,reason". NULL with the error message set: an empty name, more than EVENT_COLUMNS_MAX. */
struct event_columns *event_columns_new(const char *list, enum event_columns_format format);
void event_columns_free(struct event_columns *columns);
DEFINE_CLEANUP(event_columns, struct event_columns *, event_columns_free);
#define _cleanup_event_columns_ _cleanup_(event_columns_cleanup_)

/* The names; nothing for JSON. */
void event_columns_head(const struct event_columns *columns, FILE *out);

/* Text and CSV end with a newline. */
void event_columns_row(struct event_columns *columns, const struct event_row *row, FILE *out);

/* The first column, from *at on, that no row had, *at being the next; NULL: there is none. *at begins as 0. */
const char *event_columns_unused(const struct event_columns *columns, unsigned int *at);

/*
 * Events as a CTF 1.8 trace (https://diamon.org/ctf/v1.8.3/), which babeltrace2 and Trace Compass read: a directory
 * with the files "metadata" and "stream". Fields keep their width and sign; what every event has (pid, tid, cpu, vcpu,
 * its source, its thread's name) is the event context. libbabeltrace2 is not used for it: it opens its files itself, by
 * name and when it likes, which the confinement of commands does not allow, and brings GLib with it.
 */
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

/*
 * Events of one machine as a trace.dat of version 6 (trace-cmd.dat.v6(5)), which trace-cmd report and KernelShark read.
 * What hostrace has from the kernel's tracepoints is written with the tracepoints' names of systems and fields
 * (readers/ftrace/ftrace_kvm.h), so that these tools' plugins know it and `import` gets the same events back; other
 * events are of the system "hostrace". libtracecmd is not used: it only writes event formats that it reads from
 * tracefs.
 */
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

/* Events out of time order that got the time of the one before them, as a page for each would be out of proportion. */
uint64_t event_tracedat_moved(const struct event_tracedat *t);

/* Events whose CPU is not recorded: they are among those of CPU 0. */
uint64_t event_tracedat_unplaced(const struct event_tracedat *t);

/* An event type as a tracepoint of ftrace: where its fields are, and its format as tracefs has it. */
/* common_type is the type's index in the registry, and this: 0 is not an event. */
enum { TRACEDAT_FIRST_ID = 1 };

/* A field's number as other programs get it: that of a type which is not ours is of this process alone (event.h). */
static inline uint64_t event_number_stable(const struct event *ev, const struct field *f)
{
	uint64_t v = event_u64(ev, f);

	return v >= EVENT_NUMBERS_FIRST && !strcmp(f->fmt, "event") ? EVENT_UNDECLARED : v;
}

/*
 * Writes the record of an event: the common fields, its own one after the other, its vCPU if the kernel's tracepoint
 * has it, and its texts of any length. Returns its length, a multiple of 4; 0: it is longer than `size`.
 */
size_t tracedat_record(const struct event_row *row, uint8_t *to, size_t size);

/* "kvm", "sched", "hostrace", or what is before the ':' in the type's name. */
void tracedat_system(const struct event_type *type, char system[EVENT_NAME_MAX]);
void tracedat_format(const struct event_type *type, FILE *out);

#endif
