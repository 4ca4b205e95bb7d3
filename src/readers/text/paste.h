/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Text that went through a mailer, a terminal or another program before it came here. See paste.c for what is undone.
 */
#ifndef HOSTRACE_PASTE_H
#define HOSTRACE_PASTE_H

#include <stdbool.h>
#include <stdint.h>

struct text_front;
struct text_lines;
struct paste;
struct trace_info;

/* What a line is, the better the higher. */
enum paste_class {
	PASTE_UNKNOWN,
	PASTE_HEAD,	/* the beginning of an event: its time, and not all of its name */
	PASTE_OTHER,	/* blank, a comment, a header: ends a record */
	PASTE_TIMELESS, /* an event without a time */
	PASTE_EVENT,
};

/* Is a record all of it? */
enum paste_end {
	PASTE_CUT,   /* no */
	PASTE_HALF,  /* it lacks fields that others have; of a trace that was trimmed so, it is all */
	PASTE_BARE,  /* it is the event's name; of a trace of names, it is all */
	PASTE_OPEN,  /* yes, if its last value is */
	PASTE_WHOLE, /* yes, or nobody knows */
};

/* How sure it is that lines are parts of one record. */
enum paste_join { JOIN_NONE, JOIN_GUESS, JOIN_HALF, JOIN_WHOLE };

/* What the lines of a format are. Each text is followed by a newline, and by what lines.h demands. */
struct paste_grammar {
	enum paste_class (*classify)(const char *s, const char *end);
	/*
	 * Is `joined` one record, and `half` only its beginning? `wide`: the next word had no space in half's line.
	 */
	enum paste_join (*joins)(const char *half, const char *half_end, const char *joined,
				 const char *end, bool wide);
	/*
	 * Of a record, NULL: unknown. *key says which fields one has that is PASTE_HALF. `open`: there may be more of
	 * the line; if its last value is needed, it is PASTE_CUT.
	 */
	enum paste_end (*ends)(const char *s, const char *end, bool open, uint64_t *key);
	/*
	 * Where the second record of a line begins, NULL: it has only one; *first_end is the end of the first.
	 * `unsure`: there is a second one, but nothing proves where it begins.
	 */
	const char *(*split)(const char *s, const char *end, const char **first_end, bool *unsure);
	/* Do screens and frames cut its lines at marks in which none of its events ends? See paste_ends_at_mark(). */
	bool has_edges;
	/* As text_head_end() of text_line.h; NULL: heads that paste_prefix.c does not know are none. */
	const char *(*head_end)(const char *s, const char *end, struct text_front *h);
	/* May the line be the rest of one that a terminal broke, of which joins() proves nothing? NULL: no. */
	bool (*continues)(const char *s, const char *end);
};

struct paste_counts {
	uint64_t joined;	 /* records made of several lines */
	uint64_t cut, first_cut; /* records without their end, which were dropped, and the first one's line */
	uint64_t glued, first_glued; /* lines of several records, which were dropped */
	uint64_t open, first_open; /* records whose last value may be cut */
	size_t width;		   /* at which lines were cut; 0: they were not */
};

/*
 * From now on text_line_next() returns records as they were before. The lines are read once from their beginning, to
 * measure them, and rewound. 0 or -errno with the error message set.
 */
int paste_begin(struct text_lines *t, const struct paste_grammar *grammar);

/* The same for `text`, `len` bytes and a newline, in memory: does it contain an event? */
bool paste_has_event(const char *text, size_t len, const struct paste_grammar *grammar);

/* Whose lines are they? See paste_sources_check(). */
int paste_check(struct text_lines *t, struct trace_info *info);

/* Counts since the last rewind. */
const struct paste_counts *paste_counts_of(const struct text_lines *t);

/* For lines.c. */
char *paste_next(struct text_lines *t, char **ret_end);
void paste_rewind(struct paste *p);
void paste_free(struct paste *p);

#endif
