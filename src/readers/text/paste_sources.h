/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whose lines are they? The names in the prefixes of a text: of hosts and programs, of containers, of files. */
#ifndef HOSTRACE_PASTE_SOURCES_H
#define HOSTRACE_PASTE_SOURCES_H

#include <stdbool.h>
#include <stdint.h>

#include "event/reader.h"
#include "readers/text/text_line.h"

enum { PASTE_SOURCES_MAX = 16, PASTE_SOURCE_BYTES = 48 };

struct paste_sources {
	char name[PASTE_SOURCES_MAX][PASTE_SOURCE_BYTES];
	unsigned int nr, now; /* `now` is the newest line's: its index */
	uint64_t lines;	      /* that have a source, up to mixed_line */
	uint64_t mixed_line;	/* the first that is of a source whose lines had ended; 0: there is none */
	unsigned int mixed_with; /* the source of the line before it */
};

/* An event's line, whose prefix has this name, of length 0 if it has none. */
void paste_sources_line(struct paste_sources *s, struct text_slice name, uint64_t line);

/*
 * -EINVAL with the error message set: lines of several sources are mixed, and would be shown as those of one machine.
 * If they follow each other, they may be parts of one trace: that is a note.
 */
int paste_sources_check(struct paste_sources *s, struct trace_info *info);

#endif
