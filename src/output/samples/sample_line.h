/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A sample as the line that OSv's tool prints. What depends on the tracepoint or on the backtrace
 * only is prepared once: formats are parsed, backtraces are kept as text.
 */
#ifndef HOSTRACE_SAMPLE_LINE_H
#define HOSTRACE_SAMPLE_LINE_H

#include <jansson.h>

#include "analyzers/profile/frames.h"
#include "output/samples/text_out.h"

struct sample_line_options {
	bool backtrace, multiline; /* -b -l */
	bool compat;
	struct frames_options frames;
};

struct sample_lines;

/* Symbols are opened only where backtraces are wanted. */
int sample_lines_open(struct sample_trace *t, const struct sample_line_options *opt,
		      struct sample_lines **ret);
void sample_lines_close(struct sample_lines *l);
DEFINE_CLEANUP(sample_lines, struct sample_lines *, sample_lines_close);

/* Parts of a line; each returns the end of what it wrote. */
char *sample_put_thread(struct sample_lines *l, char *p, const struct sample *s);
char *sample_put_name(const struct sample_lines *l, char *p, const struct sample *s);

/* The arguments; NULL with the error message set where the format does not fit them. */
char *sample_put_args(struct sample_lines *l, char *p, const struct sample *s);
char *sample_put_args_text(const struct sample_lines *l, char *p, const char *text);

/* The backtrace as asked, nothing without -b; NULL with the error message set on failure. */
char *sample_put_backtrace(struct sample_lines *l, char *p, const struct sample *s);

/* Frames of the sample's backtrace as -b shows them, an array of texts; NULL on failure. */
json_t *sample_backtrace_json(struct sample_lines *l, const struct sample *s);

#endif
