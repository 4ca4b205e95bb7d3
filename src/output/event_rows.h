/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Events as rows for `list` and `export`: text for people, JSON for programs; for CSV see event_formats.h. Rows are
 * written as they come; nothing is kept.
 */
#ifndef HOSTRACE_EVENT_ROWS_H
#define HOSTRACE_EVENT_ROWS_H

#include <stdio.h>

#include "event/event.h"
#include "event/thread_names.h"

struct addresses;

struct event_row {
	const struct event *ev;
	const char *source; /* "host", "guest" */
	const char *comm;   /* "" if not known */
	const char *vm;	    /* its name, "-" if unknown; NULL: the trace has one VM, and there is no such column */
	int vm_width;	    /* of the column, in text */
	uint16_t vcpu;	    /* RECORD_NO_VCPU if none */
	struct addresses *symbols; /* of the guest, for text; NULL: none */
	bool with_flags;     /* ftrace's latency flags, in text and JSON */
	bool ticks;	     /* times are ticks of an unknown rate, not ns */
	uint64_t max_frames; /* of a backtrace; 0: all */
};

enum {
	ROW_VALUE_MAX = 4096,			/* bytes of a printed value; longer text is cut */
	ROW_CELL_MAX = 2 * ROW_VALUE_MAX + 64,	/* of its cell in CSV */
};

/* Where the event's name begins, without source, VM and flags. */
enum { ROW_EVENT_COLUMN = 38, ROW_SOURCE_WIDTH = 7, ROW_FLAGS_WIDTH = 7 };

/* One line: seconds since start_ns, [source,] [VM,] CPU, vCPU, thread, event, fields with readable values. */
void event_row_text(const struct event_row *row, uint64_t start_ns, bool with_source, FILE *out);
void event_row_text_head(const struct event_row *row, bool with_source, FILE *out); /* of its ticks, width, flags */

/* {"time_ns","source",["vm",]"cpu","vcpu","tid","comm",["flags",]"event","fields":{}} without a newline. */
void event_row_json(const struct event_row *row, FILE *out);

/*
 * The value of one field, as the rows have it: in text, as a cell of CSV (a number is a number), in JSON.
 * event_row_cell() writes that cell at `to`, which has ROW_CELL_MAX bytes, and returns its end; no NUL.
 */
void event_row_field_text(const struct event_row *row, const struct field *f, FILE *out);
void event_row_field_csv(const struct event_row *row, const struct field *f, FILE *out);
char *event_row_cell(const struct event_row *row, const struct field *f, char *to);
void event_row_field_json(const struct event_row *row, const struct field *f, FILE *out);

/* Is the field shown? A backtrace has one for each possible frame, see max_frames; *frames counts them, from 0. */
bool event_row_shows(const struct event_row *row, const struct field *f, uint64_t *frames);

/* What a field is for programs: a number is a number, except that what may be an address is hexadecimal. */
enum row_value { ROW_VALUE_TEXT, ROW_VALUE_HEX, ROW_VALUE_SIGNED, ROW_VALUE_NUMBER };
enum row_value event_row_value(const struct field *f);

#endif
