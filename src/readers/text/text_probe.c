// SPDX-License-Identifier: GPL-2.0-or-later
/* Is the beginning of a file a text with events, as it is? */
#include <stdlib.h>
#include <string.h>

#include "readers/text/babeltrace.h"
#include "readers/text/lines.h"
#include "readers/text/text_line.h"

bool text_has_event(const char *head, size_t len, bool whole)
{
	char *copy = malloc(len + 1 + TEXT_LINE_SLACK), *s, *newline;
	struct text_parts parts = {.nr = 0};
	struct text_line l = {0};
	bool found = false, babeltrace = babeltrace_probe(head, len);

	if (!copy)
		return false;
	memcpy(copy, head, len);
	text_returns_replace(copy, copy + len);
	copy[len] = '\n';
	memset(copy + len + 1, 0, TEXT_LINE_SLACK);
	for (s = copy; !found && s < copy + len + whole; s = newline + 1) {
		char *end = newline = memchr(s, '\n', len + whole - (size_t)(s - copy));

		if (!newline)
			break;
		if (end > s && end[-1] == '\r')
			*--end = '\n';
		end = babeltrace ? babeltrace_line(s, end) : end;
		found = text_line_parse(&l, text_parts_skip(&parts, s, end), end) == TEXT_EVENT;
	}
	free(copy);
	return found;
}
