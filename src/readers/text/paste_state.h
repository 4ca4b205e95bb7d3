/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What paste.c, paste_lines.c (the lines) and paste_measure.c (their widths and breaks) share. */
#ifndef HOSTRACE_PASTE_STATE_H
#define HOSTRACE_PASTE_STATE_H

#include "readers/text/lines.h"
#include "readers/text/paste.h"
#include "readers/text/paste_clean.h"
#include "readers/text/paste_printable.h"
#include "readers/text/paste_sources.h"

enum {
	PASTE_AHEAD = 3,      /* lines that are read before it is decided what the current one is */
	PASTE_TRIMMED_MAX = 1, /* blanks that are missing at the ends of lines of one width */
	PASTE_HALVES = 256,    /* kinds of records that lack fields */
};

/* One line of the file, cleaned. */
struct physical {
	char *buffer; /* owned, TEXT_LINE_MAX + TEXT_LINE_SLACK */
	char *at, *end;
	uint64_t number, record; /* see struct text_lines */
	size_t width;		 /* as it was in the file */
	enum paste_class class;
	bool flowed;  /* ended with a blank: the mailer says that the line goes on */
	bool in_log;  /* it has a log's date in front, and so has the event above */
	struct text_log log;
	bool is_fence; /* paste_is_fence() */
	bool apart;   /* no part of a record: of a signature, or a shell's prompt */
	bool ended;   /* by a tag, or by the end of a JSON string */
	bool glued;   /* several records, of which nothing proves where they begin */
	bool wrapped; /* it has, or the next has, a mark that says that the line goes on */
	bool barred, tight; /* at most one blank before the bar of a frame; none */
	bool marked;  /* as cut: paste_has_cut_mark() */
	bool last;    /* of a text without a newline at its end */
	char source[TEXT_HEAD_BYTES]; /* that the prefix names; "": none */
};

enum paste_frames { PASTE_NO_FRAMES, PASTE_JOURNAL, PASTE_LOGCAT };

struct paste {
	const struct paste_grammar *grammar;
	enum paste_frames frames; /* that were seen */
	struct paste_counts counts;
	struct physical now, ahead[PASTE_AHEAD];
	unsigned int nr_ahead;
	size_t width; /* of the longest line */
	bool hard;    /* lines are broken at this width, within words */
	struct printable printable;
	bool has_whole;		      /* records with all their fields */
	bool has_parts;		      /* "host.dat: cpus=2": such names are no prefixes */
	unsigned int layers;	      /* prefixes of the last event */
	struct text_front head;	      /* behind them, that no prefix is */
	bool ends_marked;	      /* lines end with '$': cat -A, cat -E */
	bool is_log;		      /* one of them is a log's date */
	char layer[PASTE_LAYERS_MAX]; /* what they begin with */
	uint64_t number, records;     /* of the newest line that was read */
	bool in_split;		      /* that was the beginning of a longer one */
	size_t cut_width;	      /* lines are cut at this width; 0: they are not */
	struct { /* records that lack fields, and are not broken or cut: see PASTE_HALF */
		uint64_t key, nr;
	} half[PASTE_HALVES];
	struct paste_sources sources;
};

/* ---- paste_lines.c ---- */

/* The next line of the file, cleaned; false: there is none. */
bool paste_line_read(struct text_lines *t, struct physical *x);
bool paste_line_is_blank(const struct physical *x);

/* Appends what has place. */
void paste_line_append(struct physical *x, const char *s, const char *end);
void paste_line_cut(struct physical *x, char *end);
void paste_lines_swap(struct physical *a, struct physical *b);

/* ---- paste_frames.c ---- */

/* Is the line a part of a log's record that is not its text? *known: what was seen of the text so far. */
bool paste_is_frame(enum paste_frames *known, const char *s, const char *end);

/* ---- paste.c ---- */

struct paste_joins {
	enum paste_join blank, no_blank;
};

/* Are the current line and `more` one record, with a blank between them and without? False: the line is too long. */
bool paste_join_both(struct paste *p, const struct physical *more, struct paste_joins *ret);

/* Of the kind of a record that lacks fields: its index in p->half. */
unsigned int paste_half_slot(const struct paste *p, uint64_t key);

/* ---- paste_measure.c ---- */

/*
 * Reads all lines, and goes back with `rewind`: how wide they are, how they were broken, and which parts are
 * quoted-printable. 0 or what `rewind` returned.
 */
int paste_measure(struct text_lines *t, int (*rewind)(struct text_lines *t));

#endif
