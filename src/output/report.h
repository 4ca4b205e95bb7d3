/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A report: a shape, with what must stand beside its figures. A format is how it is written: one
 * file in src/output/, one line in src/output/formats.c. A shape that a format cannot draw stays
 * NULL.
 */
#ifndef HOSTRACE_REPORT_H
#define HOSTRACE_REPORT_H

#include <jansson.h>

#include "event/reader.h"
#include "output/output.h"
#include "output/table.h"

struct input_set;

struct report {
	const struct reader *reader; /* read to its end */
	const struct output *out;
	bool wide; /* text: all columns, whatever the terminal's width */

	/*
	 * What every report says of its inputs; given by the commands, so that formats know no inputs: members of the
	 * JSON object (a new reference), and lines under the text. `inputs` is for these two.
	 */
	const struct input_set *inputs;
	json_t *(*head)(const struct input_set *inputs, const json_t *caveats);
	void (*foot)(const struct input_set *inputs, const json_t *caveats, FILE *out);

	const char *title;
	const char *first_line; /* text: stands above everything; NULL: nothing */
	json_t *caveats;	/* array of sentences */
	json_t *extra;		/* object: further members of the JSON answer ("totals"); or NULL */
	const char *extra_text; /* the same for text, under the table; or NULL */
};

struct timeline_ops;

struct format {
	const char *name;
	int (*table)(const struct report *r, const struct table *t);
	int (*histogram)(const struct report *r, const struct histogram *h);
	int (*heatmap)(const struct report *r, const struct heatmap *h);
	const struct timeline_ops *timeline; /* written as it comes, see timeline/timeline.h */
};

extern const struct format *const formats[]; /* ends with NULL */

const struct format *format_find(const char *name);

/* The names of the formats that can draw a shape, space-separated, for output_open(). */
extern const char table_formats[], histogram_formats[], heatmap_formats[];

/* Adds a sentence to an array of them. */
void caveat_add(json_t *list, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* A sentence as comment lines of at most 80 columns, under a text report. */
void caveat_print(const char *text, FILE *out);

#endif
