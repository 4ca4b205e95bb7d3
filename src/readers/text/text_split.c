// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Several records in one line: `paste -s`, `xargs`, HTML without line ends, a JSON string with "\n". What makes a
 * record is its time and the name after it, or without times the name of an event:
 *
 *	 CPU 0/KVM-7 [001] 1.000001: kvm_exit: reason HLT rip 0 info 0 0 CPU 0/KVM-7 [001] 1.000004: kvm_entry: vcpu 0
 *	                   ^ the first                    where is it? ^                   ^ the second
 *
 * The second begins after a tab, a tag or "\n"; else where the first one's text is whole by the forms of its event
 * (text_grammar.def); else after two blanks or more, or with the same task. If nothing proves it, it is not split.
 */
#include <ctype.h>
#include <string.h>

#include "readers/text/lines.h"
#include "readers/text/paste_clean.h"
#include "readers/text/text_grammar.h"
#include "readers/text/text_line.h"
#include "readers/text/tracetext.h"

enum {
	TIME_DIGITS_MIN = 6, /* after the point */
	WINDOW = 128,	     /* bytes before a time in which its record begins */
	FLAGS_MIN = 4,
	FLAGS_MAX = 10,	  /* with the CPU before them */
	FIRST_MAX = 1024, /* bytes of a record */
};

/* Where a record has its time, or its name if there are none, and its text. */
struct anchor {
	const char *at, *text;
};

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '-' || c == '.' || c == ':';
}

/* Is the character before p the last one of "\n"? */
static bool is_after_escape(const char *s, const char *p)
{
	return p - s >= 2 && p[-2] == '\\' && strchr("nrt", p[-1]);
}

/* "kvm_exit: ", "kvm:kvm_exit: " at s: what follows; NULL: it is no name. */
static const char *name_skip(const char *s, const char *end)
{
	const char *p = s;

	while (p < end && is_word(*p))
		p++;
	return isalpha((unsigned char)*s) && p - s > 2 && p[-1] == ':' && (p == end || *p == ' ')
		       ? p
		       : NULL;
}

/* "1.000001" before the colon: its beginning; NULL: it is no time. */
static const char *time_before(const char *s, const char *colon)
{
	const char *p = colon, *begin;

	while (p > s && text_is_digit(p[-1]))
		p--;
	if (colon - p < TIME_DIGITS_MIN || p == s || p[-1] != '.')
		return NULL;
	for (begin = p - 1; begin > s && text_is_digit(begin[-1]);)
		begin--;
	return begin < p - 1 && (begin == s || !is_word(begin[-1]) || is_after_escape(s, begin))
		       ? begin
		       : NULL;
}

static bool anchor_find(const char *s, const char *end, bool timeless, struct anchor *a)
{
	const char *name;

	for (const char *colon = s; (colon = memchr(colon, ':', (size_t)(end - colon))); colon++) {
		if (colon + 1 < end && colon[1] != ' ')
			continue;
		if (!timeless) {
			a->at = time_before(s, colon);
			name = a->at ? text_skip_blanks(colon + 1) : NULL;
			a->text = name && name < end ? name_skip(name, end) : NULL;
			if (a->text)
				return true;
			continue;
		}
		for (a->at = colon; a->at > s && is_word(a->at[-1]) && !is_after_escape(s, a->at);)
			a->at--;
		a->text = colon + 1;
		if (text_is_known_name(a->at, colon))
			return true;
	}
	return false;
}

bool text_has_more(const struct text_line *l)
{
	struct anchor a;

	return anchor_find(l->text.at, l->text.at + l->text.len, l->timeless, &a);
}

/* ---- what separates records ---- */

/* A tab, "\n" or a tag at s: its end; NULL: none of these. */
static const char *separator_skip(const char *s, const char *end)
{
	static const char *const tags[] = {"p",	 "div", "br",	"li",  "tr",
					   "td", "pre", "code", "span"};
	const char *p = s, *name;

	if (*s == '\t' || *s == '\v' || *s == '\f')
		return s + 1;
	if (end - s >= 2 && *s == '\\')
		return s[1] == 'n' || s[1] == 'r' || s[1] == 't' ? s + 2 : NULL;
	if (*p++ != '<')
		return NULL;
	p += *p == '/';
	for (name = p; p < end && islower((unsigned char)*p);)
		p++;
	for (size_t i = 0; i < sizeof(tags) / sizeof(*tags); i++)
		if (strlen(tags[i]) == (size_t)(p - name) &&
		    !memcmp(tags[i], name, strlen(tags[i]))) {
			p = memchr(p, '>', (size_t)(end - p));
			return p ? p + 1 : NULL;
		}
	return NULL;
}

static const char *separators_skip(const char *s, const char *end)
{
	const char *next;

	while (s < end && (next = separator_skip(s, end)))
		s = next;
	return s;
}

const char *text_separator_find(const char *s, const char *end)
{
	for (; s < end; s++)
		if (separator_skip(s, end))
			return s;
	return NULL;
}

const char *text_split_end(const char *s, const char *end)
{
	const char *p = end, *tag;

	while (end > s && end[-1] == '>' && (tag = memrchr(s, '<', (size_t)(end - s))) &&
	       separator_skip(tag, end) == end)
		end = p = tag;
	while (p > s && strchr("\"',]}", p[-1]))
		p--;
	while (p - s >= 2 && p[-2] == '\\' && (p[-1] == 'n' || p[-1] == 'r'))
		end = p -= 2;
	return end;
}

/* ---- where the second record begins ---- */

static const char *blanks_before(const char *s, const char *p)
{
	while (p > s && p[-1] == ' ')
		p--;
	return p;
}

/* "d..1.", also after "[001]", before p: their beginning, or p. */
static const char *columns_before(const char *s, const char *p)
{
	for (int i = 0; i < 3; i++) {
		const char *end = blanks_before(s, p), *word = end;

		while (word > s && word[-1] != ' ' && word[-1] != '\t' && word[-1] != '>')
			word--;
		if (end - word >= 3 && *word == '[' && text_is_digit(word[1]) && end[-1] == ']')
			p = word;
		else if (end - word >= FLAGS_MIN && end - word <= FLAGS_MAX &&
			 memchr(word, '.', (size_t)(end - word)) && end[-1] != ':')
			p = word;
		else
			break;
	}
	return p;
}

/* A record and what is after it. */
struct glued {
	const char *s, *end;	/* the line */
	struct text_line first; /* of all of it, so that its text ends elsewhere */
	const char *columns;	/* of the second: its CPU, flags and time */
};

static bool rest_is_record(const struct glued *g, const char *from)
{
	struct text_line l = {.layout = g->first.layout};
	const char *end = g->end - from < FIRST_MAX ? g->end : from + FIRST_MAX;

	return text_line_parse(&l, from, end) == TEXT_EVENT && l.comm.len <= TEXT_COMM_MAX &&
	       l.timeless == g->first.timeless &&
	       (l.tid || l.comm.len || !(g->first.tid || g->first.comm.len));
}

/* Is the first record's text whole if it ends at `end`? */
static bool first_is_whole(const struct glued *g, const char *end)
{
	struct text_slice text = {g->first.text.at, (uint32_t)(end - g->first.text.at)};

	return end > text.at && text_end_of(g->first.name, text_plugin_skip(text)) >= END_OPEN;
}

/* The last beginning of a word at which the first record is whole, or after two blanks or more; NULL: there is none. */
static const char *word_find(const struct glued *g, bool whole)
{
	const char *from = g->first.text.at, *found = NULL;

	if (g->columns - from > WINDOW)
		from = g->columns - WINDOW;
	for (const char *p = g->columns; p > from && !found; p--) {
		const char *end = blanks_before(from, p);

		if (end == p || *p == ' ')
			continue;
		if ((whole ? first_is_whole(g, end) : p - end > 1) && rest_is_record(g, p))
			found = p;
	}
	return found;
}

/* With the task of the first record; NULL: it is another one. */
static const char *task_find(const struct glued *g)
{
	const char *task = text_skip_quote(g->s), *columns, *p, *begin;
	struct anchor a;
	size_t len;

	if (!anchor_find(g->s, g->end, g->first.timeless, &a))
		return NULL;
	columns = columns_before(g->s, a.at);
	if (columns <= task)
		return NULL;
	len = (size_t)(blanks_before(task, columns) - task);
	p = blanks_before(g->first.text.at, g->columns);
	begin = p - len;
	return begin > g->first.text.at && begin[-1] == ' ' && !memcmp(begin, task, len) &&
			       rest_is_record(g, begin)
		       ? begin
		       : NULL;
}

/* Texts of people and programs contain anything. */
static bool is_free_text(struct text_slice name)
{
	static const char *const names[] = {"print", "bprint",	   "puts",
					    "bputs", "mark_write", "tracing_mark_write"};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (strlen(names[i]) == name.len && !memcmp(names[i], name.at, name.len))
			return true;
	return false;
}

/* Where a line begins after tags, or after "{"body": "". */
static const char *text_start(const char *s, const char *end)
{
	const char *at = s + strspn(s, " {["), *next;

	if (*at == '"' || *at == '\'') {
		next = paste_prefix_skip(s, false);
		return next && next < end ? next : s;
	}
	return separators_skip(at, end) > at ? separators_skip(at, end) : s;
}

const char *text_split(const char *s, const char *end, const char **first_end, bool *unsure)
{
	struct glued g = {.s = text_start(s, end), .end = end, .first = {.layout = TEXT_FTRACE}};
	const char *separator, *next;
	struct anchor a;

	*first_end = text_split_end(s, end);
	*unsure = false;
	if (text_line_parse(&g.first, g.s, end) != TEXT_EVENT ||
	    !anchor_find(g.first.text.at, end, g.first.timeless, &a))
		return NULL;
	g.columns = columns_before(g.first.text.at, a.at);
	if (is_free_text(g.first.name) && g.columns == a.at)
		return NULL;
	separator = text_separator_find(g.first.text.at, g.columns);
	if (separator) {
		*first_end = separator;
		return separators_skip(separator, end);
	}
	next = word_find(&g, true);
	next = next ? next : task_find(&g);
	next = next ? next : word_find(&g, false);
	*unsure = !next;
	*first_end = next ? blanks_before(s, next) : end;
	return next;
}
