/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What programs do to a line: paste_clean.c removes it, paste_prefix.c and paste_layers.c find what was put before it,
 * paste_marks.c the marks at its ends.
 */
#ifndef HOSTRACE_PASTE_CLEAN_H
#define HOSTRACE_PASTE_CLEAN_H

#include <stdbool.h>

#include "readers/text/lines.h"
#include "readers/text/text_line.h"

/* All texts are in place, end with a newline and have TEXT_LINE_SLACK bytes after it, see lines.h. */

/* Removes what no trace contains; the text only gets shorter. Returns its new end, where no newline is. */
char *paste_clean(char *s, char *end);

/* Without the '$' at its end, the "^M" before it, and the "^I" for tabs (cat -A). */
char *paste_end_mark_cut(char *s, char *end);

/* Does the line begin or end a block of text: "```", "~~~", "{noformat}", "[code]", "</pre>"? */
bool paste_is_fence(const char *s, const char *end);

void paste_tabs_replace(char *s, const char *end);

/* Does paste_clean() change a line? */
bool paste_is_odd(const char *s, const char *end);

/* The end of one prefix at s; NULL: there is none. has_parts: the text has files' names that are no prefixes. */
const char *paste_prefix_skip(const char *s, bool has_parts);

/*
 * All prefixes of the line at s: where the n-th ends is layer[n], and layer[0] is s. Returns their number. The text
 * of an object of JSON is unescaped, which may move *end.
 */
enum { PASTE_LAYERS_MAX = 8 };
unsigned int paste_layers_find(const char *layer[static PASTE_LAYERS_MAX + 1], char *s, char **end,
			       bool has_parts);

/* The line at s without its first `nr` prefixes, and without what they enclose it with. */
char *paste_layers_strip(const char *const *layer, unsigned int nr, char *s, char **end);

/* Is the prefix the date that a log has before each line? */
bool paste_prefix_is_date(const char *s);

/* Its time, if it has fractions of a second, and the thread. The kernel's is behind that of a journal, and better. */
void paste_prefix_log(const char *s, const char *end, struct text_log *ret);

/* What a prefix begins with: the character, or what stands for all of its kind. */
char paste_prefix_kind(const char *s);

/*
 * What the first `nr` prefixes of a line, from layer[i] to layer[i + 1], name: a host and program, a container, a file;
 * the last of them that does. `sure`: the rest is an event with its time, so that any word before it is a name.
 */
struct text_slice paste_prefix_source(const char *const *layer, unsigned int nr, bool sure);

/* Does a screen's '>' (less -S) or a person's "..." say that the line goes on? Not of texts that programs print. */
bool paste_has_cut_mark(const char *s, const char *end);

/*
 * The end of an event's line without the bar of a frame after it; *ret_blanks before the bar: 0 if the frame cut the
 * text.
 */
char *paste_bar_cut(char *s, char *end, size_t *ret_blanks);

/* Does an event's text end as none of KVM does: "->", "<", "{", "-", what screens show where they cut? */
bool paste_ends_at_mark(const char *s, const char *end);

/* Any of these marks, or the bar of a frame. */
bool paste_may_be_cut(const char *s, const char *end);

/* The end of a line without the mark of an editor that it goes on, and the beginning of the next without one. */
char *paste_mark_before(char *s, char *end);
char *paste_mark_skip(char *s, char *end);

/* "root@host:~# ", "[joe@host ~]$ cat trace": a shell's prompt. */
bool paste_is_prompt(const char *s, const char *end);

#endif
