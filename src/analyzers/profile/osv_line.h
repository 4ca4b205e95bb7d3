/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A sample as the line that OSv's tool prints. What depends on the tracepoint or on the backtrace
 * only is prepared once: formats are taken apart, backtraces are kept as text.
 */
#ifndef HOSTRACE_OSV_LINE_H
#define HOSTRACE_OSV_LINE_H

#include "analyzers/profile/osv_frames.h"
#include "analyzers/profile/osv_text.h"

struct osv_line_options {
	bool backtrace, multiline; /* -b -l */
	bool compat;
	struct osv_symbols_options symbols;
	struct osv_frames_options frames;
};

struct osv_lines;

/* Symbols are opened only where backtraces are wanted. */
int osv_lines_open(const struct osv_trace *t, const struct osv_line_options *opt,
		   struct osv_lines **ret);
void osv_lines_close(struct osv_lines *l);
DEFINE_CLEANUP(osv_lines, struct osv_lines *, osv_lines_close);

/* Parts of a line; each returns the end of what it wrote. */
char *osv_put_thread(struct osv_lines *l, char *p, const struct osv_sample *s);
char *osv_put_name(const struct osv_lines *l, char *p, const struct osv_sample *s);

/* The arguments; NULL with the sentence set where the format does not fit them. */
char *osv_put_args(struct osv_lines *l, char *p, const struct osv_sample *s);
char *osv_put_args_text(const struct osv_lines *l, char *p, const char *text);

/* The backtrace as asked, nothing without -b; NULL with the sentence set on failure. */
char *osv_put_backtrace(struct osv_lines *l, char *p, const struct osv_sample *s);

/* Frames of the sample's backtrace as -b shows them, an array of texts; NULL on failure. */
json_t *osv_backtrace_json(struct osv_lines *l, const struct osv_sample *s);

#endif
