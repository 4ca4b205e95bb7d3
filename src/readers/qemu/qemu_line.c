// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The lines of QEMU's log, of a SystemTap script made from QEMU's tapset, and of simpletrace.py (the forms:
 * qemu_line.h); whether a file has such lines; and where one was broken or cut: a line goes on in the next as long as
 * that adds arguments that QEMU prints of the event.
 */
#include <ctype.h>
#include <string.h>

#include "base/array.h"
#include "readers/qemu/qemu_line.h"
#include "readers/text/lines.h"

enum {
	NAME_BYTES_MAX = 64,
	BARE_LINES_MIN = 3,    /* without a time, of events that are not known: so many, */
	BARE_PERCENT_MIN = 90, /* and of all lines */
	HEAD_MAX = 64,	       /* bytes of a line with nothing but a time */
	RECORD_MAX = 1024,     /* bytes of a record in which its arguments are looked for */
};

/* ---- forms ---- */

static struct text_slice name_parse(const char *s)
{
	const char *p = s;

	if (*p < 'a' || *p > 'z')
		return (struct text_slice){s, 0};
	while ((*p >= 'a' && *p <= 'z') || text_is_digit(*p) || *p == '_' ||
	       (*p >= 'A' && *p <= 'Z'))
		p++;
	if ((*p != ' ' && *p != '\n') || p - s < 3 || p - s >= NAME_BYTES_MAX)
		p = s;
	return (struct text_slice){s, (uint32_t)(p - s)};
}

static bool event_parse(struct qemu_line *l, const char *s, const char *end)
{
	l->name = name_parse(s);
	s = text_skip_blanks(s + l->name.len);
	while (end > s && end[-1] == ' ')
		end--;
	l->args = (struct text_slice){s, (uint32_t)(s < end ? end - s : 0)};
	return l->name.len;
}

/* "<pid>@", "xxxx@", "****@": a number that a person has masked. Returns the end of the mask. */
static const char *mask_skip(const char *s)
{
	const char *p = s + strspn(s, "xX*#?");

	if (*s == '<' && (p = s + 1 + strspn(s + 1, "abcdefghijklmnopqrstuvwxyz-_")) > s + 1)
		p += *p == '>';
	return *p == '@' ? p : s;
}

/* "TID@SEC.USEC:NAME ARGS", "PID@NS NAME ARGS" */
static enum qemu_form stamped_parse(struct qemu_line *l, const char *s, const char *end)
{
	const char *p = s, *digits;
	uint64_t id = text_decimal(&p), time, us;

	if (p == s)
		p = mask_skip(s);

	if (p == s || *p != '@' || id > UINT32_MAX)
		return QEMU_NO_EVENT;
	digits = ++p;
	time = text_decimal(&p);
	if (p == digits || time > INT64_MAX)
		return QEMU_NO_EVENT;
	if (*p == ' ') {
		l->head = (struct qemu_head){.time_ns = time, .pid = (uint32_t)id};
		return event_parse(l, p + 1, end) ? QEMU_LOG_STAP : QEMU_NO_EVENT;
	}
	if (*p != '.')
		return QEMU_NO_EVENT;
	digits = ++p;
	us = text_decimal(&p);
	if (p != digits + 6 || *p != ':' || time > INT64_MAX / 1000000000)
		return QEMU_NO_EVENT;
	l->head = (struct qemu_head){.time_ns = time * 1000000000 + us * 1000, .tid = (uint32_t)id};
	return event_parse(l, p + 1, end) ? QEMU_LOG : QEMU_NO_EVENT;
}

/* An event of ours has an argument that QEMU prints. */
static bool has_args(const struct qemu_line *l)
{
	struct qemu_args args = qemu_args_of(l->name, l->args);

	return args.found || !args.all;
}

/* "2026-11-22T10:29:20.223839Z NAME ARGS": real_time_iso8601() of QEMU */
static bool is_plain_iso(const char *s, const char *name)
{
	return name - s == 28 && s[10] == 'T' && s[26] == 'Z';
}

static bool has_event_name(const struct qemu_line *l)
{
	return memchr(l->name.at, '_', l->name.len);
}

/*
 * -msg timestamp=on,guest-name=on: the guest's name, of several words, precedes the event, or its thread and time; so
 * do the words of other programs that put a date before each line. True: the event is behind it; *ret: its form if it
 * has a time of its own, which counts, else QEMU_NO_EVENT. Names of events have a '_', those of guests may have one
 * before an event that is known.
 */
static bool guest_skip(struct qemu_line *l, const char *s, const char *end, enum qemu_form *ret)
{
	enum { WORDS = 6 };
	bool is_name = l->name.len && !has_event_name(l);
	struct qemu_line after = *l;

	for (unsigned int n = 0; n < WORDS && (s = memchr(s, ' ', (size_t)(end - s))); n++) {
		s = text_skip_blanks(s);
		*ret = stamped_parse(&after, s, end);
		if (!*ret && (!event_parse(&after, s, end) || !has_event_name(&after) ||
				 !has_args(&after)))
			continue;
		if (*ret || is_name || qemu_event_is_read(after.name)) {
			if (!*ret)
				after.head = l->head;
			*l = after;
			l->loose = !*ret;
			return true;
		}
	}
	return false;
}

/* With a head of other logs, or of QEMU's messages, any text may look like an event. */
static enum qemu_form headed_parse(struct qemu_line *l, const char *s, const char *end)
{
	struct log_head head;
	const char *p = log_head_parse(s, end, &head);
	enum qemu_form stamped = QEMU_NO_EVENT;

	if (!head.has_time && p == s)
		return QEMU_NO_EVENT;
	l->head = (struct qemu_head){.time_ns = head.has_time ? head.time.ns : 0, .tid = head.tid};
	l->time = head.time;
	l->source = head.source;
	l->loose = !head.has_time || !is_plain_iso(s, p);
	bool parsed = event_parse(l, p, end);

	if (!parsed)
		l->name = (struct text_slice){p, 0};
	if (!l->loose && (!parsed || !qemu_event_is_read(l->name)) &&
	    !guest_skip(l, p, end, &stamped) && !has_event_name(l))
		return QEMU_NO_EVENT;
	if (stamped)
		return stamped;
	if (!l->name.len || (l->loose && (!has_event_name(l) || !has_args(l))))
		return QEMU_NO_EVENT;
	return !head.has_time ? QEMU_LOG_BARE : head.time.monotonic ? QEMU_LOG_MONO : QEMU_LOG_ISO;
}

/* "NAME DELTA.NNN pid=N ARGS": head.time_ns is the difference. */
static bool python_parse(struct qemu_line *l, const char *s, const char *end)
{
	const char *p, *digits;
	uint64_t us, ns;

	l->name = name_parse(s);
	digits = p = s + l->name.len + 1;
	if (!l->name.len || p >= end)
		return false;
	us = text_decimal(&p);
	if (p == digits || *p != '.' || us > INT64_MAX / 1000000)
		return false;
	digits = ++p;
	ns = text_decimal(&p);
	if (p != digits + 3 || strncmp(p, " pid=", 5))
		return false;
	p += 5;
	l->head = (struct qemu_head){.time_ns = us * 1000 + ns, .pid = (uint32_t)text_decimal(&p)};
	p = text_skip_blanks(p);
	l->args = (struct text_slice){p, (uint32_t)(p < end ? end - p : 0)};
	return true;
}

static bool bare_parse(struct qemu_line *l, const char *s, const char *end)
{
	l->head = (struct qemu_head){0};
	l->loose = true;
	return event_parse(l, s, end) && memchr(l->name.at, '_', l->name.len) && has_args(l);
}

enum qemu_form qemu_line_parse(struct qemu_line *l, const char *s, const char *end)
{
	s = text_skip_quote(s);
	l->loose = false;
	l->source = (struct text_slice){s, 0};
	l->time = (struct log_time){.decimals = 6};
	l->form = stamped_parse(l, s, end);
	if (l->form == QEMU_NO_EVENT)
		l->form = headed_parse(l, s, end);
	if (l->form == QEMU_NO_EVENT)
		l->form = python_parse(l, s, end) ? QEMU_SIMPLETRACE_PY
			  : bare_parse(l, s, end) ? QEMU_LOG_BARE
						  : QEMU_NO_EVENT;
	return l->form;
}

bool qemu_line_is_cut(const struct qemu_line *l)
{
	struct qemu_args args = qemu_args_of(l->name, l->args);

	return args.all && !args.has_last;
}

/* ---- is it such a file? ---- */

/* "req 0x5a10", "cpu 0 mr 0x9c0": what no sentence and no table has after its first word. */
static bool has_named_value(struct text_slice args)
{
	const char *p = args.at, *end = p + args.len;

	while (p < end && ((*p >= 'a' && *p <= 'z') || *p == '_'))
		p++;
	return p > args.at && end - p > 1 && *p == ' ' && text_is_digit(p[1]);
}

bool qemu_line_is_likely(const struct qemu_line *l)
{
	return !l->loose || qemu_args_of(l->name, l->args).all || has_named_value(l->args);
}

/* An event with a time, or a known one, decides; others without a time do if there is hardly
 * anything else. */
static bool lines_decide(const char *text, size_t len, bool whole)
{
	unsigned int nr = 0, bare = 0;
	const char *end;

	for (const char *s = text; s < text + len + whole; s = end + 1) {
		struct qemu_line l;

		end = memchr(s, '\n', (size_t)(text + len + whole - s));
		if (!end)
			break;
		nr += text_skip_blanks(s) < end;
		if (qemu_line_parse(&l, s, end) == QEMU_NO_EVENT || !qemu_line_is_likely(&l))
			continue;
		if (!l.loose || qemu_args_of(l.name, l.args).all)
			return true;
		bare++;
	}
	return bare >= BARE_LINES_MIN && bare * 100 >= nr * BARE_PERCENT_MIN;
}

bool qemu_text_probe(const char *head, size_t len, bool whole)
{
	char *copy = text_copy(head, len);
	bool found;

	if (!copy)
		return false;
	found = lines_decide(copy, len, whole);
	free(copy);
	return found || paste_has_event(head, len, &qemu_paste_grammar);
}

/* ---- pasted lines ---- */

/* Is the line the time of an event, whose name follows in the next? */
static bool is_head(const char *s, const char *end)
{
	char line[HEAD_MAX + 8 + TEXT_LINE_SLACK] = "";
	size_t len = (size_t)(end - s);
	struct qemu_line l;

	if (len > HEAD_MAX)
		return false;
	memcpy(line, s, len);
	memcpy(line + len, " name\n", 6);
	if (headed_parse(&l, line, line + len + 5) == QEMU_LOG_ISO && !l.loose)
		return true;
	memcpy(line + len, "name\n", 6);
	return stamped_parse(&l, line, line + len + 4) != QEMU_NO_EVENT;
}

/* "qemu-system-x86_64: terminating on signal 15" */
static bool is_message(const char *s, const char *end)
{
	const char *p = s;

	while (p < end && *p != ' ' && *p != ':')
		p++;
	return p > s && p + 1 < end && p[0] == ':' && p[1] == ' ';
}

static enum paste_class qemu_classify(const char *s, const char *end)
{
	struct qemu_line l;

	switch (qemu_line_parse(&l, s, end)) {
	case QEMU_NO_EVENT:
		return is_head(s, end)	    ? PASTE_HEAD
		       : is_message(s, end) ? PASTE_OTHER
					    : PASTE_UNKNOWN;
	case QEMU_LOG_BARE:
		return qemu_args_of(l.name, l.args).all ? PASTE_TIMELESS : PASTE_UNKNOWN;
	default:
		return !l.loose || qemu_args_of(l.name, l.args).all ? PASTE_EVENT : PASTE_UNKNOWN;
	}
}

/* "ue 3", "0xae80, arg (nil)": values or their names, and no remark such as "[...]" or "this took 3 s". */
static bool is_arguments(const char *s, const char *end)
{
	unsigned int words = 0, values = 0;

	s = text_skip_blanks(s);
	if (*s == '[')
		return false;
	for (const char *p = s; p < end; p = text_skip_blanks(p)) {
		const char *word = p;

		for (; p < end && *p != ' ';)
			p++;
		words++;
		values += strcspn(word, "0123456789=") < (size_t)(p - word) ||
			  (p - word == 5 && !memcmp(word, "(nil)", 5));
	}
	return values && 2 * values >= words;
}

static enum paste_join qemu_joins(const char *half, const char *half_end, const char *joined,
				  const char *end, bool wide)
{
	struct qemu_line a, b;
	struct qemu_args args, more;
	const char *rest = joined + (half_end - half);

	if (!qemu_line_parse(&a, half, half_end) || !qemu_line_parse(&b, joined, end))
		return JOIN_NONE;
	args = qemu_args_of(a.name, a.args);
	if (!args.all)
		return (wide && is_arguments(rest, end)) || !a.args.len ? JOIN_GUESS : JOIN_NONE;
	more = qemu_args_of(b.name, b.args);
	return more.found <= args.found ? JOIN_NONE
	       : more.found < more.all	? JOIN_HALF
					: JOIN_WHOLE;
}

static enum paste_end qemu_ends(const char *s, const char *end, bool open, uint64_t *key)
{
	struct qemu_line l;
	struct qemu_args args;

	(void)key;
	if (!qemu_line_parse(&l, s, end))
		return PASTE_WHOLE;
	args = qemu_args_of(l.name, l.args);
	if (!args.all)
		return open && !l.args.len ? PASTE_CUT : PASTE_OPEN;
	return !args.has_last || (open && args.last_is_open) ? PASTE_CUT : PASTE_WHOLE;
}

/* Does an event begin at p, as those of this form do? */
static bool begins_here(enum qemu_form form, const char *p, const char *end)
{
	struct qemu_line l;

	end = end - p < RECORD_MAX ? end : p + RECORD_MAX;
	switch (form) {
	case QEMU_LOG:
	case QEMU_LOG_STAP:
		return text_is_digit(*p) && stamped_parse(&l, p, end);
	case QEMU_LOG_ISO:
	case QEMU_LOG_MONO:
		return headed_parse(&l, p, end) == form;
	case QEMU_SIMPLETRACE_PY:
		return python_parse(&l, p, end);
	case QEMU_LOG_BARE:
		return bare_parse(&l, p, end) && qemu_args_of(l.name, l.args).all;
	default:
		return false;
	}
}

/* Blanks, tags, "\n" before p, all of which separate records. */
static const char *separators_before(const char *s, const char *p)
{
	const char *separator = text_separator_find(s, p);

	while (p > s && p[-1] == ' ')
		p--;
	return separator ? separator : p;
}

/* The first event with its time, whatever is before it. */
static bool first_parse(struct qemu_line *l, const char *s, const char *end)
{
	static const enum qemu_form forms[] = {QEMU_LOG, QEMU_LOG_ISO};

	if (qemu_line_parse(l, s, end))
		return true;
	for (const char *p = s; p < end; p++)
		for (size_t i = 0; i < sizeof(forms) / sizeof(*forms); i++)
			if ((p == s || !isalnum((unsigned char)p[-1])) &&
			    begins_here(forms[i], p, end))
				return qemu_line_parse(l, p, end);
	for (const char *p = s + 1; p < end && p - s < HEAD_MAX; p++) /* "<p>", "{"body": "" */
		if (strchr("<>\"'", p[-1]) && begins_here(QEMU_LOG_BARE, p, end))
			return qemu_line_parse(l, p, end);
	return false;
}

/* Is "24217@" the last digit of a record that lacks one, and the thread 4217 of the next? */
static bool is_glued(const struct qemu_line *l, const char *p, const char *end)
{
	struct text_slice args = {l->args.at, (uint32_t)(p - l->args.at)};
	struct qemu_args have = qemu_args_of(l->name, args);
	struct qemu_line next;
	uint32_t tid = l->head.tid;

	if (l->form != QEMU_LOG || !stamped_parse(&next, p, end))
		return false;
	while (tid && next.head.tid > tid && next.head.tid % 10 == tid % 10) {
		next.head.tid /= 10;
		tid /= 10;
	}
	return (have.all && !have.has_last) || (!tid && l->head.tid);
}

/* A number that has no separator after it may be the beginning of the next record's. */
static const char *qemu_split(const char *s, const char *end, const char **first_end, bool *unsure)
{
	struct qemu_line l;
	bool in_word = false;

	*first_end = text_split_end(s, end);
	*unsure = false;
	if (!first_parse(&l, s, end))
		return NULL;
	for (const char *p = l.args.at; p < end; p++) {
		bool escaped = p - s >= 2 && p[-2] == '\\' && strchr("nrt", p[-1]);

		in_word = !escaped &&
			  (p == s || isalnum((unsigned char)p[-1]) || p[-1] == '_' || p[-1] == '-');
		if (in_word && *p != '@')
			continue;
		if (*p == '@' && l.form == QEMU_LOG) {
			const char *id = p;

			while (id > l.args.at && text_is_digit(id[-1]))
				id--;
			*unsure = id < p && stamped_parse(&l, id, end);
			if (*unsure)
				return NULL;
			continue;
		}
		if (begins_here(l.form, p, end)) {
			*unsure = is_glued(&l, p, end);
			if (*unsure)
				return NULL;
			*first_end = separators_before(l.args.at, p);
			return p;
		}
	}
	return NULL;
}

bool qemu_line_has_more(const char *s, const char *end)
{
	const char *first_end;
	bool unsure;

	return qemu_split(s, end, &first_end, &unsure) || unsure;
}

enum qemu_form qemu_line_form_within(const char *s, const char *end)
{
	static const enum qemu_form forms[] = {QEMU_LOG, QEMU_LOG_ISO};

	for (const char *p = text_skip_quote(s) + 1; p < end; p++)
		for (size_t i = 0; i < sizeof(forms) / sizeof(*forms); i++)
			if (text_is_digit(*p) && p[-1] == ' ' && begins_here(forms[i], p, end))
				return forms[i];
	return QEMU_NO_EVENT;
}

const struct paste_grammar qemu_paste_grammar = {
	.classify = qemu_classify,
	.joins = qemu_joins,
	.ends = qemu_ends,
	.split = qemu_split,
	.continues = is_arguments,
};
