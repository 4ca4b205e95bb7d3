// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Rows of a table of events that were counted by their texts. Each is a row of its event, those of the
 * same event are added up, and one of an exit reason:
 *
 *	  90112 kvm_exit: reason HLT              kvm_exit 90112, HLT 90112
 *	     20 kvm_pio: pio_write at 0xcf8 ...   kvm_pio 20
 *	   1321 virtio_queue_notify vdev 0x55 ... virtio_queue_notify 1321: of QEMU's log
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/hash.h"
#include "event/exit_reason.h"
#include "readers/text/lines.h"
#include "readers/text/paste_clean.h"
#include "readers/text/text_line.h"
#include "readers/text/tool_line.h"

/*
 * Events that were counted by their texts, which are no trace: one line stands for many events.
 *
 *	  90112 kvm_exit: reason HLT        sort | uniq -c
 *	90112: kvm_exit: reason HLT         a script
 *	kvm_exit: reason HLT: 90112
 *
 * The numbers of lines (cat -n) and of threads (perf script -F tid,event,trace) look alike. Those of lines ascend, by 1
 * or, if lines were selected, with texts that come again. Those of threads are not small, and most come again.
 */

enum { COUNTED_LINE_MAX = 512 };

struct text_counted {
	uint64_t count;
	struct text_line event; /* in `line` */
	char line[COUNTED_LINE_MAX + 1 + TEXT_LINE_SLACK];
};

enum {
	COUNTED_TEXTS_MAX = 4096,
	COUNT_BYTES = 28, /* of a number with separators */
	THREAD_MIN = 100,
	PERIOD_WIDTH = 10, /* uniq -c has 7 */
	UNIQ_BLANKS = 3	   /* before a number of 4 digits: uniq -c has 7 columns, perf script 5 */
};

/* An event without a time. */
static bool counted_event(const char *s, const char *end, struct text_counted *ret)
{
	size_t len = (size_t)(end - s);

	if (len >= COUNTED_LINE_MAX)
		return false;
	memcpy(ret->line, s, len);
	ret->line[len] = '\n';
	memset(ret->line + len + 1, 0, TEXT_LINE_SLACK);
	ret->event = (struct text_line){.layout = TEXT_FTRACE};
	for (char *p = ret->line; (p = memchr(p, '\t', (size_t)(ret->line + len - p)));)
		*p = ' ';
	return text_line_parse(&ret->event, ret->line, ret->line + len) == TEXT_EVENT &&
	       ret->event.timeless;
}

/* "90112", "90,112", "90 112" at s, before `end`; its end, or NULL. */
static const char *count_read(const char *s, const char *end, uint64_t *ret)
{
	char text[COUNT_BYTES + TEXT_LINE_SLACK] = "";
	const char *p;
	double v;

	memcpy(text, s, end - s < COUNT_BYTES ? (size_t)(end - s) : COUNT_BYTES);
	p = tool_number_parse(text, &v, ret);
	if (!p || *ret == TOOL_TABLE_UNKNOWN)
		return NULL;
	p = tool_count_rest(text, p, ret);
	return p < text + COUNT_BYTES ? s + (p - text) : NULL;
}

/* "90112 ", "90112: ", "90112x ", "90112 | ": where the event begins; NULL: no number, or one of grep -n ("12:kvm"). */
static const char *count_skip(const char *s, const char *end, uint64_t *ret)
{
	const char *p = count_read(s, end, ret), *after;

	if (!p || p >= end)
		return NULL;
	after = p + strspn(p, " \t");
	if (strchr(":,;|x", *after) && (*after != 'x' || after == p))
		after++;
	return after > p && (*p != ':' || strchr(" \t", p[1])) ? after : NULL;
}

/* "reason HLT": all that a text says that was shortened to be counted. */
static bool is_reason(struct text_slice text)
{
	return text.len > 7 && !memcmp(text.at, "reason ", 7) &&
	       !memchr(text.at + 7, ' ', text.len - 7);
}

/* "kvm_exit: reason HLT: 90112", "kvm_exit: reason HLT 90112" */
static bool counted_before(const char *s, const char *end, struct text_counted *ret)
{
	const char *digits = end, *before;

	while (digits > s && !strchr(" \t:=|;", digits[-1]))
		digits--;
	if (digits == s || count_read(digits, end, &ret->count) != end)
		return false;
	for (before = digits; before > s && strchr(" \t:=|,;", before[-1]);)
		before--;
	return counted_event(s, before, ret) && ret->event.text.len &&
	       (is_reason(ret->event.text) || !memcmp(before, ": ", 2));
}

/* A line, which needs nothing after `end`; false: it is no such count. */
static bool text_counted_parse(const char *s, const char *end, struct text_counted *ret)
{
	const char *event;

	s = text_skip_quote(s);
	while (end > s && strchr(" \t\r", end[-1]))
		end--;
	event = s < end ? count_skip(s, end, &ret->count) : NULL;
	if (event && event < end)
		return counted_event(event, end, ret);
	return s < end && counted_before(s, end, ret);
}

/* What the lines have shown so far. */
struct counted_look {
	uint64_t nr, last;
	bool is_of_perf; /* the last: a thread, and the event with its system and all of its text */
	bool by_one, ascends, repeats, small;
	bool are_periods; /* of perf script -F event,trace,period, which has a column for them */
	struct hash_table texts, numbers;
};

struct counted_seen {
	uint64_t key;
};

/* False: the line is no count. */
static bool counted_look_at(struct counted_look *c, const char *s, const char *end)
{
	struct text_counted now;
	uint64_t hash;
	size_t blanks = strspn(s, " ");

	if (!text_counted_parse(s, end, &now))
		return false;
	hash = hash_keyed_bytes(now.line, strcspn(now.line, "\n"));
	c->repeats |= hash_find_u64(&c->texts, hash) != NULL;
	hash_add_u64(&c->texts, hash, NULL);
	hash_add_u64(&c->numbers, now.count, NULL);
	c->by_one &= now.count == (c->nr ? c->last + 1 : now.count);
	c->ascends &= !c->nr || now.count > c->last;
	c->small |= now.count < THREAD_MIN;
	c->is_of_perf = now.count >= THREAD_MIN && now.event.system.len &&
			text_skip_blanks(s) - s < UNIQ_BLANKS && !is_reason(now.event.text) &&
			memchr(now.event.text.at, ' ', now.event.text.len);
	c->are_periods &=
		now.event.system.len && blanks + strspn(s + blanks, "0123456789") == PERIOD_WIDTH;
	c->last = now.count;
	c->nr++;
	return true;
}

static bool counted_look_decide(const struct counted_look *c)
{
	bool are_threads = !c->small && c->nr > 1 && c->numbers.nr * 2 <= c->nr;

	if (are_threads || c->are_periods || !c->nr ||
	    (c->by_one && (c->nr > 1 || c->last == 1)) || (c->nr == 1 && c->is_of_perf))
		return false;
	return !c->repeats || !c->ascends;
}

/* Looks at a line, which is changed, behind each of its prefixes. Returns whether it is an event of a trace. */
static bool counted_layers_look(struct counted_look *c, char *s, char *end)
{
	const char *layer[PASTE_LAYERS_MAX + 1];
	unsigned int nr;
	bool counted = false, timed = false, timeless = false;

	end = paste_clean(s, end);
	*end = '\n';
	memset(end + 1, 0, TEXT_LINE_SLACK);
	nr = paste_layers_find(layer, s, &end, false);
	/* the text of an object of JSON may end before a prefix that was found behind it */
	for (unsigned int i = 0; i <= nr && layer[i] <= end; i++) {
		const char *at = paste_layers_strip(layer, i, s, &end);
		struct text_line l = {.layout = TEXT_FTRACE};
		bool is_event = text_line_parse(&l, at, end) == TEXT_EVENT;

		counted |= counted_look_at(&c[i], at, end);
		timed |= is_event && !l.timeless && !l.is_date;
		timeless |= is_event && !i;
	}
	return timed || (timeless && !counted); /* an event's prefix may be its count */
}

static bool counted_text_look(struct counted_look *c, const char *head, size_t len)
{
	char *copy = text_copy(head, len),
	     *line = calloc(1, TEXT_LINE_MAX + TEXT_LINE_SLACK + 1), *end;
	bool is_trace = !copy || !line;

	for (char *s = copy; !is_trace && (end = memchr(s, '\n', len - (size_t)(s - copy)));
	     s = end + 1) {
		size_t bytes = end - s < TEXT_LINE_MAX ? (size_t)(end - s) : TEXT_LINE_MAX;

		memcpy(line, s, bytes);
		line[bytes] = '\n';
		memset(line + bytes + 1, 0, TEXT_LINE_SLACK);
		is_trace = counted_layers_look(c, line, line + bytes);
	}
	free(copy);
	free(line);
	return !is_trace;
}

bool text_is_counted(const char *head, size_t len)
{
	struct counted_look c[PASTE_LAYERS_MAX + 1];
	bool counted = false, may_be;

	for (unsigned int i = 0; i <= PASTE_LAYERS_MAX; i++)
		c[i] = (struct counted_look){
			.by_one = true,
			.ascends = true,
			.are_periods = true,
			.texts = HASH_TABLE(struct counted_seen, 1, COUNTED_TEXTS_MAX),
			.numbers = HASH_TABLE(struct counted_seen, 1, COUNTED_TEXTS_MAX)};
	may_be = counted_text_look(c, head, len);
	for (unsigned int i = 0; i <= PASTE_LAYERS_MAX; i++) {
		counted |= counted_look_decide(&c[i]);
		hash_deinit(&c[i].texts);
		hash_deinit(&c[i].numbers);
	}
	return counted && may_be;
}

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
