/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where a report goes and in which format: -f FORMAT, -o FILE, --limit, --sort, the pager.
 */
#ifndef HOSTRACE_COMMANDS_OUTPUT_H
#define HOSTRACE_COMMANDS_OUTPUT_H

#include <stdio.h>

#include "base/options.h"
#include "output/output.h"

struct output_options {
	const char *format, *file, *sort;
	uint64_t limit;
	bool wide;
	const char *fallback; /* NULL: text */
	bool is_trace;	      /* the file */
};

/* What the options gave. */
extern struct output_options output_given;

extern const struct option_row output_options[];

/* The same without --sort, for reports with an order of their own. */
extern const struct option_row output_file_options[];

/*
 * Opens the output. `formats` are those that the command supports, space-separated ("text json csv"); another one is
 * -EINVAL. -o FILE is written to a temporary name and renamed by output_close(), so that a failed report never
 * replaces a good one. To be ended by output_close() or output_cancel(), unless this fails.
 */
int output_open(const char *formats, struct output *ret);

/* Is this the format that was given? For decisions before output_open(). */
bool output_is(const char *format);

/* The format that was given, or that the name of the file stands for ("x.svg"), or "text". */
const char *output_format(void);

/* The format instead of text. Before output_open(). */
void output_default(const char *format);

/* The file of -o is a trace: its name says nothing of the format of what is printed. */
void output_file_is_trace(void);

/* 0; -EINVAL with the error message set: the name of a recording to be written stands for another format. */
int output_recording_check(const char *file);

/* So many rows of text if neither --limit nor --wide is given. For commands with output_file_options. */
void output_limit_default(uint64_t rows);

/* The name after -o, or NULL: for commands that write a trace, not a report. */
const char *output_file(void);

/* The column after --sort, or NULL; the number after --limit, or 0. */
const char *output_sort(void);
uint64_t output_limit(void);

/* Flushes and renames; -errno with the error message set if anything could not be written. */
int output_close(struct output *out);

/* Discards what was written (the report failed). */
void output_cancel(struct output *out);

/* The one or the other, by err (-errno with the error message set). Returns the exit status: `found` is EXIT_FOUND. */
int output_end(int err, struct output *out, bool found);

#endif
