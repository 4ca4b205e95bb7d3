/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOSTRACE_BABELTRACE_H
#define HOSTRACE_BABELTRACE_H

#include <stdbool.h>
#include <stddef.h>

/* Is this, the beginning of a file, what babeltrace prints of a trace of LTTng? */
bool babeltrace_probe(const char *text, size_t len);

/*
 * Rewrites a line and its newline at `end` in place, which gets shorter, to one that text_line.h knows. Returns the new
 * end, where the newline is. Another line stays as it is.
 */
char *babeltrace_line(char *s, char *end);

/* Does a record begin in this line that is none by itself, as its end is in the next lines? */
bool babeltrace_is_wrapped(char *s, char *end);

#endif
