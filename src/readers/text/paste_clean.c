// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * One line of a text that went through other programs: escape sequences of terminals, HTML, Markdown and spaces of
 * other widths are removed or replaced.
 */
#include <ctype.h>
#include <stddef.h>
#include <string.h>

#include "base/digits.h"
#include "readers/text/lines.h"
#include "readers/text/paste_clean.h"

/*
 * An escape sequence of a terminal (ECMA-48) at s, whose ESC may have been lost, or be "^[" (cat -v): its end; NULL:
 * there is none.
 */
static const char *escape_end(const char *s, const char *end)
{
	bool caret = *s == '^', esc = *s == 0x1b || caret;
	const char *p = s + esc + caret;

	if (caret && (end - s < 3 || s[1] != '[' || s[2] != '['))
		return NULL;

	if (esc && p < end && *p != '[')
		return p + 1 + (*p == '(' && p + 1 < end);
	if (p >= end || *p != '[')
		return NULL;
	for (p++; p < end && (text_is_digit(*p) || *p == ';' || (esc && *p == '?'));)
		p++;
	if (p >= end || !(esc ? *p >= '@' && *p <= '~' : *p == 'm' || (*p == 'K' && p[-1] == '[')))
		return NULL; /* "[1K, 2K)" is a bucket of a histogram */
	return p + 1;
}

/*
 * What stands for something simple: UTF-8 of mail clients and office programs, HTML. No text is longer than its symbol.
 */
static const struct {
	const char *symbol, *is;
} symbols[] = {
	{"\xc2\xa0", " "},	    {"\xe2\x80\xaf", " "},  {"\xe3\x80\x80", " "}, /* blanks */
	{"\xc2\xad", ""},	    {"\xe2\x80\x8b", ""},   {"\xe2\x80\x8c", ""}, /* of no width */
	{"\xe2\x80\x8d", ""},   {"\xe2\x80\x8e", ""},   {"\xe2\x80\x8f", ""},
	{"\xe2\x81\xa0", ""},   {"\xef\xbb\xbf", ""},
	{"\xe2\x80\x90", "-"},  {"\xe2\x80\x91", "-"},  {"\xe2\x80\x92", "-"}, /* hyphens and dashes */
	{"\xe2\x80\x93", "-"},  {"\xe2\x80\x94", "-"},  {"\xe2\x88\x92", "-"},
	{"\xe2\x80\x98", "'"},  {"\xe2\x80\x99", "'"},  {"\xe2\x80\x9c", "\""}, /* quotation marks */
	{"\xe2\x80\x9d", "\""}, {"\xe2\x80\xa6", "..."}, {"\xe2\x80\xa2", "*"},
	{"\xc3\x97", "x"},	    {"\xe2\x9c\x95", "x"}, /* multiplication signs */
	{"\xe2\x94\x83", "|"},  {"\xef\xbd\x9c", "|"},  {"\xe2\x96\x8c", "|"}, /* bars */
	{"\xef\xbc\x9e", ">"},  {"\xc2\xbb", ">"},	    {"\xe2\x80\xba", ">"}, /* of quotes */
	{"\xe2\x86\x92", "->"}, {"\xe2\x87\x92", "=>"}, {"\xe2\x94\x82", "|"},
	{"&gt;", ">"},		   {"&lt;", "<"},	      {"&amp;", "&"},
	{"&nbsp;", " "},	   {"&quot;", "\""},
};

/* "&#61;", "&#x3D;" of HTML: its character, and how long the code is; 0: there is none of ASCII. */
static char entity_parse(const char *s, size_t len, size_t *ret_len)
{
	bool hex = len > 2 && (s[2] | 0x20) == 'x';
	unsigned int code = 0;
	size_t i = 2 + hex;

	if (len < 4 || s[0] != '&' || s[1] != '#')
		return 0;
	for (; i < len && code < 0x1000 && (hex ? hex_digit(s[i]) >= 0 : text_is_digit(s[i])); i++)
		code = code * (hex ? 16 : 10) + (unsigned int)hex_digit(s[i]);
	if (i == len || s[i] != ';')
		return 0;
	*ret_len = i + 1;
	code = code == 0xa0 || code == '\t' ? ' ' : code; /* NBSP */
	return code >= ' ' && code <= '~' ? (char)code : 0;
}

/* What the symbol at s stands for, and its length; NULL: there is none. */
static const char *symbol_parse(const char *s, size_t len, size_t *ret_len)
{
	if (len >= 3 && !memcmp(s, "\xe2\x80", 2) && (unsigned char)s[2] >= 0x80 &&
	    (unsigned char)s[2] <= 0x8a) { /* spaces of given widths */
		*ret_len = 3;
		return " ";
	}
	for (size_t i = 0; i < sizeof(symbols) / sizeof(*symbols); i++) {
		*ret_len = strlen(symbols[i].symbol);
		if (len >= *ret_len && !memcmp(s, symbols[i].symbol, *ret_len))
			return symbols[i].is;
	}
	return NULL;
}

/* "| ... |" of a table in Markdown. */
static char *frame_cut(const char *at, char *end)
{
	const char *s = at + strspn(at, " \t>");

	if (*s != '|')
		return end;
	while (end > s + 1 && end[-1] == ' ')
		end--;
	return end - (end > s + 1 && end[-1] == '|');
}

/* "```text" of Markdown, "{noformat}", "{code:title=x}", "<pre>", "<br>": what encloses a text, at s; its end, or s. */
static const char *fence_skip(const char *s, const char *end)
{
	static const char *const fences[] = {"```",	"~~~",	  "{noformat}", "{code}",
					     "<pre>",	"</pre>", "[code]",	"[/code]",
					     "<code>",	"</code>", "<div>",	"</div>",
					     "<p>",	"</p>",	  "<li>",	"</li>",
					     "<br>",	"<br/>",  "<br />"};
	const char *close;

	if (s == end || !strchr("`~{<[", *s))
		return s;
	for (size_t i = 0; i < sizeof(fences) / sizeof(*fences); i++) {
		size_t len = strlen(fences[i]);

		if ((size_t)(end - s) >= len && !memcmp(s, fences[i], len))
			return s + len;
	}
	if (end - s < 7 || (memcmp(s, "{code:", 6) && memcmp(s, "{nofor", 6)))
		return s;
	close = memchr(s, '}', (size_t)(end - s));
	return close ? close + 1 : s;
}

bool paste_is_fence(const char *s, const char *end)
{
	s = text_skip_quote(s);
	return s < end &&
	       (strchr("`~{[", *s) || !memcmp(s, "<pre>", 5) || !memcmp(s, "</pre", 5)) &&
	       fence_skip(s, end) > s && !memchr(s, ' ', (size_t)(end - s));
}

/* "kvm\_exit" of Markdown: in such a line, other characters are escaped, too. */
static bool is_escaped(const char *s, const char *end)
{
	return *s == '\\' && end - s > 1 && s[1] == '_';
}

/*
 * NBSP, a dash or a quotation mark of Windows-1252 or ISO 8859-1, which is not a part of a character of UTF-8: what it
 * stands for; 0: it is none. `begin`: of the line.
 */
static char old_symbol(const char *begin, const char *s)
{
	static const char symbol[] = "\xa0\x96\x97\x91\x92\x93\x94", is[] = " --''\"\"";
	const char *found = (unsigned char)*s >= 0x80 ? strchr(symbol, *s) : NULL;

	return found && (s == begin || (unsigned char)s[-1] < 0x80) ? is[found - symbol] : 0;
}

/* The word in "*kvm_exit*" or "**kvm_exit**" of Markdown and chats, at s in a line from `begin`; of length 0: none. */
static struct text_slice bold_word(const char *begin, const char *s, const char *end)
{
	const char *word = s, *p;
	size_t stars, after;

	while (word < end && *word == '*')
		word++;
	for (p = word; p < end && (isalnum((unsigned char)*p) || *p == '_');)
		p++;
	stars = (size_t)(word - s);
	after = p < end ? strspn(p, "*") : 0;
	if (!stars || stars > 2 || after != stars || (s > begin && s[-1] != ' ' && s[-1] != ':') ||
	    (p + after < end && !strchr(" :,", p[after])))
		return (struct text_slice){s, 0};
	return (struct text_slice){word, (uint32_t)(p - word)};
}

/* Is there something at s that paste_clean() changes? */
static bool is_odd(const char *s, const char *end)
{
	size_t len;

	if (*s == '[' || *s == '^')
		return escape_end(s, end);
	if (*s == '*')
		return bold_word(s, s, end).len;
	if (*s == '<' || *s == '"')
		return *s == '"' || fence_skip(s, end) > s;
	return *s == 0x1b || *s == '\t' || *s == '`' || is_escaped(s, end) || old_symbol(s, s) ||
	       ((*s == '&' || (unsigned char)*s >= 0x80) &&
		(symbol_parse(s, (size_t)(end - s), &len) ||
		 entity_parse(s, (size_t)(end - s), &len)));
}

bool paste_is_odd(const char *s, const char *end)
{
	if (end > s && end[-1] == '$')
		return true; /* of cat -A */
	for (; s < end; s++)
		if ((*s < ' ' || strchr("[&`<\"\\^*", *s)) && is_odd(s, end))
			return true;
	return false;
}

/* Where a fence ends the text. */
static char *fence_cut(const char *s, char *end)
{
	enum { LONGEST = 10 }; /* "{noformat}" */

	for (char *p = end; p > s && end - p <= LONGEST; p--)
		if (p < end && fence_skip(p, end) == end)
			return p;
	return end > s + 1 && end[-1] == '`' ? end - 1 : end;
}

/* A cell of a table with commas. */
static bool is_quoted(const char *s, const char *end)
{
	return end - s > 1 && *s == '"' && end[-1] == '"';
}

/* Removes what encloses a text. Returns its new end. */
static char *fences_cut(char *s, char *end)
{
	char *at = s + strspn(s, " \t>");
	const char *after = at < end ? fence_skip(at, end) : at;
	size_t len;

	if (after > at && !strncmp(at, "```", 3) && !memchr(after, ' ', (size_t)(end - after)))
		after = end; /* "```text" */
	if (after == at && at < end && (*at == '`' || is_quoted(at, end)))
		after = at + 1;
	end = fence_cut(after, end);
	end -= end - at > 2 && *at == '"' && !memcmp(end - 2, "\",", 2); /* of an array */
	end -= is_quoted(at, end);
	len = (size_t)(end - after);
	memmove(at, after, len);
	return at + len;
}

/* "911,204431: " of a locale with decimal commas: an event's time. */
static bool is_decimal_comma(const char *begin, const char *comma, const char *end)
{
	size_t digits = strspn(comma + 1, "0123456789");
	const char *after = comma + 1 + digits;

	return comma > begin && text_is_digit(comma[-1]) && (digits == 6 || digits == 9) &&
	       after + 1 < end && after[0] == ':' && after[1] == ' ';
}

void paste_tabs_replace(char *s, const char *end)
{
	for (; s < end; s++)
		*s = *s == '\t' ? ' ' : *s;
}

char *paste_clean(char *s, char *end)
{
	char *to = s, *begin = s;
	bool markdown = memmem(s, (size_t)(end - s), "\\_", 2);

	while (s < end) {
		const char *escape = *s && strchr("\033[^", *s) ? escape_end(s, end) : NULL,
			   *is = NULL;
		struct text_slice bold = {s, 0};
		char old = old_symbol(begin, s), entity;
		size_t len = 0;

		if (*s == ',' && is_decimal_comma(begin, s, end))
			*s = '.';
		if (!escape && (*s == '&' || (unsigned char)*s >= 0x80))
			is = symbol_parse(s, (size_t)(end - s), &len);
		if (old)
			*s = old;
		if (markdown && *s == '\\' && end - s > 1 && ispunct((unsigned char)s[1])) {
			*to++ = s[1];
			s += 2;
		} else if (escape) {
			s += escape - s;
		} else if (*s == '*' && (bold = bold_word(begin, s, end)).len) {
			size_t stars = (size_t)(bold.at - s);

			memmove(to, bold.at, bold.len);
			to += bold.len;
			s += bold.len + 2 * stars;
		} else if (is) {
			to = mempcpy(to, is, strlen(is));
			s += len;
		} else if ((entity = entity_parse(s, (size_t)(end - s), &len))) {
			*to++ = entity;
			s += len;
		} else {
			*to = *s++;
			to += *to != '\r';
		}
	}
	return frame_cut(begin, fences_cut(begin, to));
}
