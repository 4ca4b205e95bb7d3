/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A report: a shape, with its title, notes and totals. A format is how it is written: one file in src/output/, one
 * line in src/output/formats.c. A shape that a format does not support is NULL.
 */
#ifndef HOSTRACE_REPORT_H
#define HOSTRACE_REPORT_H

#include "event/reader.h"
#include "output/output.h"
#include "output/table.h"

struct condition;
struct input_set;

/* What a report is made of, to explain one that is empty. Lists are comma-separated. */
struct report_needs {
	const char *events; /* one of these begins each row */
	const char *ends;   /* and one of these ends it; NULL: nothing has to */
	bool exits;	    /* rows may come from kvm_exit as well, where it contains the access */
	const char *record_for; /* record --for this records them; NULL: */
	const char *record; /* ... another command does; NULL: none */
	const char *others; /* where these are in the trace, it cannot record more; NULL: none */
};

struct report {
	const struct reader *reader; /* read to its end */
	const struct output *out;
	bool ticks; /* times are ticks of an unknown rate: "kt" in text, keys end in "_ticks" and not in "_ns" */
	bool continues; /* CSV: the heading was printed with an earlier table */
	bool wide; /* text: all columns, whatever the terminal's width */

	/*
	 * What every report prints about its inputs; set by the commands, so that formats do not depend on inputs:
	 * members of the JSON object (a new reference), and lines below the text. `inputs` is for these callbacks.
	 */
	const struct input_set *inputs;
	const char *command;
	json_t *(*head)(const struct report *r);
	void (*foot)(const struct report *r);

	/* A note that the format has no place for, as CSV; on stderr. NULL: there is none. */
	void (*note)(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

	/* Explains a report without rows: prints lines, or adds to `caveats`, as the format has it. NULL: "no data". */
	void (*empty)(const struct report *r);
	const struct report_needs *needs; /* for it; NULL: any event */
	const char *where; /* --where on the rows of a table; NULL: all rows */
	bool answers; /* without rows it is an answer as well, which first_line or extra_text is */

	const char *title;
	const char *first_line; /* text: printed before the table; NULL: none */
	json_t *caveats;	/* array of texts: notes and warnings */
	json_t *extra;		/* object: further members of the JSON answer ("totals"); or NULL */
	const char *extra_text; /* the same for text, under the table; or NULL */
};

struct timeline_ops;
extern const struct timeline_ops text_timeline, json_timeline, csv_timeline, svg_timeline,
	html_timeline, bands_timeline;

struct format {
	const char *name;
	int (*table)(const struct report *r, const struct table *t);
	int (*histogram)(const struct report *r, const struct histogram *h);
	int (*heatmap)(const struct report *r, const struct heatmap *h);
	const struct timeline_ops *timeline; /* written incrementally, see timeline/timeline.h */
};

extern const struct format *const formats[]; /* ends with NULL */

const struct format *format_find(const char *name);

/*
 * Ends a report that is a table: sorts it by --sort or else by the column `sort` (NULL: not at all), keeps --limit
 * rows, writes it and frees it. 0 or -errno with the error message set.
 */
int report_table(const struct report *r, struct table *t, const char *sort);

/* The same for a table that may have failed (err): then it is only freed, and err returned. */
int report_table_made(const struct report *r, int err, struct table *t);

/*
 * Ends a report that is not one of the shapes, in JSON: the head, then the members of `more`, which is stolen;
 * `flags` are jansson's for the text.
 */
void report_answer(const struct report *r, json_t *more, size_t flags);

/* Is it written as JSON, text or value? */
bool report_is_json(const struct report *r);

/* The names of the formats that support a shape, space-separated, for output_open(). */
extern const char table_formats[], histogram_formats[], heatmap_formats[];

/* "total_ns" if the times are in ticks: "total_ticks". Returns buf or the key itself. */
const char *report_key(bool ticks, const char *key, char *buf, size_t size);

/* The same for all keys of an object and of what it contains: a new reference. Steals `value`. */
json_t *report_json_in_ticks(json_t *value);

/* A duration in the report's unit. buf has at least 16 bytes; returns it. */
const char *report_duration(const struct report *r, uint64_t time, char *buf, size_t size);

/* A JSON string of any bytes: broken UTF-8, which JSON cannot have, is replaced. */
json_t *json_text(const char *text);

/* The same string without what controls a terminal or the direction of text. Steals it; NULL is returned as it is. */
json_t *json_sanitized(json_t *string);

/* Appends a note to an array of texts, without control characters. */
void caveat_add(json_t *list, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* "what: nr", if there are any. */
void caveat_count(json_t *list, const char *what, uint64_t nr);

/* Prints a note as comment lines of at most 80 columns, below a text report. */
void caveat_print(const char *text, FILE *out);
void caveat_print_tone(const char *text, enum tone tone, FILE *out);

/* report.foot of a report without inputs: its notes. */
void caveats_print(const struct report *r);

/*
 * To be called by each format for a report without rows, before its notes are written: of text at the place of the
 * rows.
 */
void report_empty(const struct report *r);

/*
 * The rows were selected away: that is the answer. `text` is the first line of text, which must live as long as the
 * report, and else a note.
 */
void report_answer_none(struct report *r, const char *text);

/* "no span matches --where 'ns > 1s' (of 12)". Returns buf. */
const char *where_none_print(const struct condition *where, uint64_t of, const char *what,
			     char *buf, size_t size);

/*
 * Says how many rows are left out, if any: a line of text; a note of JSON, so that it is to be called before the head
 * is written; of CSV a note beside it.
 */
void report_left_out(const struct report *r, uint64_t rows);

#endif
