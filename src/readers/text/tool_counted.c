// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Rows of a table of events that were counted by their texts (text_counted.h). Each is a row of its event, those of the
 * same event are added up, and one of an exit reason:
 *
 *	  90112 kvm_exit: reason HLT              kvm_exit 90112, HLT 90112
 *	     20 kvm_pio: pio_write at 0xcf8 ...   kvm_pio 20
 */
#include <stdio.h>
#include <string.h>

#include "event/exit_reason.h"
#include "readers/text/text_counted.h"
#include "readers/text/tool_line.h"

enum { TOOL_REASON_MAX = 40 };

static bool counted_is(struct text_slice s, const char *name)
{
	return s.len == strlen(name) && !memcmp(s.at, name, s.len);
}

/* The word after "reason"; false: there is none. */
static bool counted_reason(struct text_slice text, char ret[static TOOL_REASON_MAX])
{
	static const char mark[] = "reason ";
	const char *end = text.at + text.len,
		   *s = memmem(text.at, text.len, mark, sizeof(mark) - 1);
	int len;

	if (!s || (s > text.at && s[-1] != ' '))
		return false;
	s = text_skip_blanks(s + sizeof(mark) - 1);
	len = (int)(s < end ? strcspn(s, " \n") : 0);
	snprintf(ret, TOOL_REASON_MAX, "%.*s", len, s);
	return len;
}

int tool_counted_line(struct tool_lines *l, const char *text)
{
	static const char tool[] = "counts (sort | uniq -c)";
	struct text_counted c;
	char name[64], reason[TOOL_REASON_MAX];
	int err;

	if ((l->table->tool && strcmp(l->table->tool, tool) != 0) ||
	    !text_counted_parse(text, text + strlen(text), &c))
		return 0;
	snprintf(name, sizeof(name), "%.*s", (int)c.event.name.len, c.event.name.at);
	if (!tool_is_kvm_event(name))
		return 0;
	l->certain = true;
	tool_block_once(l, c.line);
	err = tool_count_put(l, tool, ROW_OF_EVENT, name, c.count);
	if (err || !counted_is(c.event.name, "kvm_exit") || !counted_reason(c.event.text, reason))
		return err ? err : 1;
	if (!exit_reason_known(reason)) {
		tool_row_odd(l, reason);
		return 1;
	}
	err = tool_count_put(l, tool, ROW_OF_REASON, reason, c.count);
	return err ? err : 1;
}
