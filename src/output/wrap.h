/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A stream that breaks long lines between words, so that reports need not count columns. A line that fits passes
 * unchanged. The rest of a longer one follows indented, under the line's second column if it has one near its start; of
 * a note ("# ...") as a note. A word is never broken: a path that is longer than a line stays whole.
 */
#ifndef HOSTRACE_WRAP_H
#define HOSTRACE_WRAP_H

#include <stdbool.h>
#include <stdio.h>

struct wrap_options {
	int width;
	int fields; /* lines of name=value: broken only before a name, the rest indented by so many columns; 0: words */
	bool ends_progress; /* the first write calls progress_end(): the line is on the same terminal */
};

/*
 * The stream that writes to `to`, which the caller flushes and closes after it. The options are borrowed, and may be
 * changed between lines after fflush(). Escape sequences of colours and the later bytes of UTF-8 take no column.
 * NULL: out of memory.
 */
FILE *wrap_open(FILE *to, const struct wrap_options *options);

#endif
