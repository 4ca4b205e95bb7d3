/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where a report is written and how: struct output, opened and closed by commands/common/output.h; colours of verdicts;
 * a stream that breaks long lines (wrap.c).
 */
#ifndef HOSTRACE_OUTPUT_H
#define HOSTRACE_OUTPUT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>

#include "base/new_file.h"

/* Which notes a text report ends with; other formats have all. */
enum output_notes {
	NOTES_LIMITS, /* what changes how the figures are to be read, as losses */
	NOTES_NONE,
	NOTES_ALL /* further what exactly is measured, and how it is computed */
};

/* Who receives rows one by one; put() returns 0 or -errno with the error message set. */
struct rows_sink {
	void *arg;
	int (*put)(void *arg, const json_t *row);
};

struct output {
	FILE *file;
	const char *format; /* "text" unless -f is given */
	uint64_t limit;	    /* rows; 0 = all */
	const char *sort;   /* column name or NULL */
	bool color;	    /* escape sequences may be used */
	int width;	    /* columns of the terminal, 80 elsewhere */
	bool wide;	    /* text: all columns, and no line is cut or broken */
	enum output_notes notes;
	FILE *wrapped;	    /* what `file` breaks the lines for; NULL: `file` is not of wrap_begin() */
	struct wrap_options *wrap;
	pid_t pager;	    /* the process that `file` is the input of; 0: none */
	struct new_file new_file; /* -o FILE; zeroed: standard output */

	/* A note that the format has no place for, as CSV. */
	void (*note)(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
	json_t **tree; /* format "tree": receives the JSON answer, a new reference; else NULL */
	const struct rows_sink *rows; /* "tree": gets the rows of a table, which the answer then lacks; or NULL */
};

/* Is it said what exactly is measured? */
static inline bool output_explains(const struct output *out)
{
	return out->notes == NOTES_ALL || strcmp(out->format, "text") != 0;
}

/* ---- colours of verdicts on a terminal: what is good, what limits a report, what is wrong ---- */

enum tone { TONE_NONE, TONE_GOOD, TONE_WARNING, TONE_BAD };

/* The escape sequence that begins the tone (green, yellow, red), and the one that ends it; "" for TONE_NONE. */
static inline const char *tone_begin(enum tone tone)
{
	static const char *const begin[] = {"", "\033[32m", "\033[33m", "\033[31m"};

	return begin[tone];
}

static inline const char *tone_end(enum tone tone)
{
	return tone == TONE_NONE ? "" : "\033[0m";
}

/* ---- a stream that breaks long lines between words, so that reports need not count columns ---- */

struct wrap_options {
	int width;
	int fields; /* lines of name=value: broken only before a name, the rest indented by so many columns; 0: words */
	bool ends_progress; /* the first write calls progress_end(): the line is on the same terminal */
};

/*
 * Makes out->file such a stream, and ends that. Escape sequences of colours and the later bytes of UTF-8 take no
 * column. -ENOMEM with the error message set; false: a line could not be written.
 */
int wrap_begin(struct output *out);
bool wrap_end(struct output *out);

/* What follows is not broken into lines of 80 columns: text in the layout of another tool. Before the first line. */
void output_unwrap(struct output *out);

/* Writes what is printed so far, for output that grows while the user watches. */
void output_flush(struct output *out);

/* What follows are lines of name=value; a line is broken before a name, the rest indented by so many columns. */
void output_fields(struct output *out, int indent);

#endif
