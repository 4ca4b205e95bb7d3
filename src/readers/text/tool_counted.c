// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Rows of a table of events that were counted by their texts (text_counted.h). Each is a row of its event, those of the
 * same event are added up, and one of an exit reason:
 *
 *	  90112 kvm_exit: reason HLT              kvm_exit 90112, HLT 90112
 *	     20 kvm_pio: pio_write at 0xcf8 ...   kvm_pio 20
 *	   1321 virtio_queue_notify vdev 0x55 ... virtio_queue_notify 1321: of QEMU's log
 */
#include <stdio.h>
#include <string.h>

#include "event/exit_reason.h"
#include "readers/text/lines.h"
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

static const char tool[] = "counts (sort | uniq -c)";

/* An event of QEMU and the values of its arguments: "1321 virtio_queue_notify vdev 0x55b384 n 0 vq 0x7f332a" */
static int counted_qemu_line(struct tool_lines *l, const char *text)
{
	uint64_t count;
	const char *name = tool_count_read(text, &count);
	char event[64];
	int err;

	name = name && *name == ' ' ? text_skip_blanks(name) : NULL;
	if (!name || (strncmp(name, "virtqueue_", 10) && strncmp(name, "virtio_", 7)) ||
	    !strstr(name, " 0x"))
		return 0;
	snprintf(event, sizeof(event), "%.*s", (int)strcspn(name, " "), name);
	l->certain = true;
	tool_block_once(l, text);
	err = tool_count_put(l, tool, ROW_OF_EVENT, event, count);
	return err ? err : 1;
}

int tool_counted_line(struct tool_lines *l, const char *text)
{
	struct text_counted c;
	char name[64], reason[TOOL_REASON_MAX];
	int err;

	if (l->table->tool && strcmp(l->table->tool, tool) != 0)
		return 0;
	if (!text_counted_parse(text, text + strlen(text), &c))
		return counted_qemu_line(l, text);
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
