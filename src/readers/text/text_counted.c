// SPDX-License-Identifier: GPL-2.0-or-later
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
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "readers/text/text_counted.h"

enum {
	COUNTED_TEXTS_MAX = 4096,
	COUNT_DIGITS_MAX = 18,
	THREAD_MIN = 100,
	UNIQ_BLANKS = 3 /* before a number of 4 digits: uniq -c has 7 columns, perf script 5 */
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

static bool is_group(const char *s)
{
	return strchr(",.'", *s) && *s && text_is_digit(s[1]) && text_is_digit(s[2]) &&
	       text_is_digit(s[3]) && !text_is_digit(s[4]);
}

/* "90112", "90,112" at s, before `end`; its end, or NULL. */
static const char *count_read(const char *s, const char *end, uint64_t *ret)
{
	char digits[COUNT_DIGITS_MAX + TEXT_LINE_SLACK] = "";
	const char *number = digits, *p = s;
	size_t nr = 0;

	for (; p < end && nr < COUNT_DIGITS_MAX; p++) {
		if (text_is_digit(*p))
			digits[nr++] = *p;
		else if (p == s || p + 3 >= end || !is_group(p))
			break;
	}
	digits[nr] = '\0';
	*ret = text_decimal(&number);
	return nr && (p == end || !text_is_digit(*p)) ? p : NULL;
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

bool text_counted_parse(const char *s, const char *end, struct text_counted *ret)
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
	bool by_one, ascends, repeats, small, is_trace;
	struct hash_table texts, numbers;
};

struct counted_seen {
	uint64_t key;
};

static void counted_look_at(struct counted_look *c, const char *s, const char *end)
{
	struct text_line l = {.layout = TEXT_FTRACE};
	struct text_counted now;
	uint64_t hash;

	if (!text_counted_parse(s, end, &now)) {
		c->is_trace |= text_line_parse(&l, s, end) == TEXT_EVENT;
		return;
	}
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
	c->last = now.count;
	c->nr++;
}

bool text_is_counted(const char *head, size_t len)
{
	struct counted_look c = {.by_one = true, .ascends = true};
	char *copy = calloc(1, len + 1 + TEXT_LINE_SLACK), *end;
	bool are_threads;

	if (!copy)
		return false;
	c.texts = c.numbers = HASH_TABLE(struct counted_seen, 1, COUNTED_TEXTS_MAX);
	memcpy(copy, head, len);
	text_returns_replace(copy, copy + len);
	for (char *s = copy; !c.is_trace && (end = memchr(s, '\n', len - (size_t)(s - copy)));
	     s = end + 1)
		counted_look_at(&c, s, end);
	free(copy);
	are_threads = !c.small && c.nr > 1 && c.numbers.nr * 2 <= c.nr;
	hash_deinit(&c.texts);
	hash_deinit(&c.numbers);
	if (c.is_trace || are_threads || !c.nr || (c.by_one && (c.nr > 1 || c.last == 1)) ||
	    (c.nr == 1 && c.is_of_perf))
		return false;
	return !c.repeats || !c.ascends;
}
