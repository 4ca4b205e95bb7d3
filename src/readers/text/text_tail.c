// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Was a text's last event cut, though a newline follows? People mark a part of a screen, and an editor or the shell
 * ends it with a newline. That shows where
 *
 *	kvm_entry: vcpu 0, rip 0xffff      all others have more digits, or more words
 *	066a18 info1 0x0 info2 0x0         the first line is a part of an event
 *
 * Then the end is read as one without a newline: its last value may be half, and is not recorded.
 */
#include <ctype.h>
#include <string.h>

#include "readers/text/tracetext.h"

enum {
	OTHERS_MIN = 3,	 /* events of the same name that show how long they are */
	DIGITS_MIN = 8,	 /* of a value that always has as many */
	DIGITS_LESS = 4, /* of others, how many fewer than the shortest */
};

/* The hexadecimal digits of the value at the text's end; 0: it has none. */
static uint32_t digits_of(struct text_slice text)
{
	const char *end = text.at + text.len, *p;

	while (end > text.at && end[-1] == ' ')
		end--;
	for (p = end; p > text.at && isxdigit((unsigned char)p[-1]);)
		p--;
	return p > text.at && strchr("x =", p[-1]) ? (uint32_t)(end - p) : 0;
}

static uint32_t words_of(struct text_slice text)
{
	uint32_t nr = 0;

	for (uint32_t i = 0; i < text.len; i++)
		nr += text.at[i] != ' ' && (!i || text.at[i - 1] == ' ');
	return nr;
}

static void ends_add(struct text_ends *e, uint32_t digits, uint32_t words)
{
	bool first = !e->nr++;

	e->digits_min = first || digits < e->digits_min ? digits : e->digits_min;
	e->digits_max = digits > e->digits_max ? digits : e->digits_max;
	e->words_min = first || words < e->words_min ? words : e->words_min;
	e->words_max = words > e->words_max ? words : e->words_max;
}

void tracetext_tail_learn(struct tracetext *t, struct text_tail *tail, struct text_name *name)
{
	if (tail->name)
		ends_add(&tail->name->ends, tail->digits, tail->words);
	*tail = (struct text_tail){name, digits_of(t->line.text), words_of(t->line.text)};
	t->tail.line = t->lines.number;
}

static bool is_short(const struct text_tail *tail)
{
	const struct text_ends *e = &tail->name->ends;

	if (e->nr < OTHERS_MIN)
		return false;
	if (e->words_min == e->words_max && tail->words < e->words_min)
		return true;
	if (!tail->digits || e->words_min != tail->words)
		return false;
	return e->digits_min == e->digits_max && e->digits_min >= DIGITS_MIN
		       ? tail->digits < e->digits_min
		       : tail->digits + DIGITS_LESS <= e->digits_min;
}

/* A part of an event's text, or the rest of its head. */
static bool head_is_cut(const struct tracetext *t)
{
	return t->head.skip || t->head.is_cut ||
	       (t->unknown.first_line == 1 &&
		(strstr(t->unknown_line, "0x") || strstr(t->unknown_line, ": kvm_")));
}

void tracetext_tail_end(struct tracetext *t, const struct text_tail *tail)
{
	t->tail.is_cut = !t->guest && !t->lines.open_from && !t->lines.source && tail->name &&
			 (is_short(tail) || head_is_cut(t));
}

/* Does the first line lack the task or the CPU that the next event has? Its other values may be half. */
void tracetext_head_learn(struct tracetext *t, const char *line)
{
	struct text_head *h = &t->head, now = *h;

	if (t->scanned || h->is_cut || h->skip || (t->lines.number > 1 && !h->is_first))
		return;
	now.has_task = t->line.comm.len || strchr("<:", *text_skip_quote(line));
	now.has_cpu = t->line.have_cpu;
	now.timeless = t->line.timeless;
	if (t->lines.number == 1) {
		now.is_first = true;
		*h = now;
		return;
	}
	h->is_first = false;
	h->is_cut = h->timeless == now.timeless && /* else it has another unit */
		    ((!h->has_task && now.has_task) || (!h->has_cpu && now.has_cpu));
}
