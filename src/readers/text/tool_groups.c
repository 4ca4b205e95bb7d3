// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Numbers as locales and people print them, made those of one locale before a line of a table is parsed: digits of
 * other scripts become ASCII, and what separates groups of digits becomes a comma.
 *
 *	1٬234٬567   1·234·567   1_234_567   1 234 567 (no-break spaces)   ۱٬۲۳۴٬۵۶۷	1,234,567
 *	59٫98		59.98
 *
 * A plain blank separates columns, too: it is one of a number only where no column can follow (tool_count_rest()).
 */
#include <ctype.h>
#include <string.h>

#include "readers/text/lines.h"
#include "readers/text/tool_line.h"

enum { GROUP_DIGITS = 3 };

struct tool_symbol {
	const char *utf8;
	char is;
};

static const struct tool_symbol separators[] = {
	{"\xd9\xac", ','},     {"\xd8\x8c", ','},     {"\xc2\xb7", ','},     {"\xcb\x99", ','},
	{"\xc2\xb4", ','},     {"\xca\xbc", ','},     {"\xe2\x80\xb2", ','}, {"\xef\xbc\x8c", ','},
	{"\xef\xbc\x87", ','}, {"\xe2\x80\x98", ','}, {"\xe2\x80\x99", ','}, {"\xd9\xab", '.'},
	{"\xef\xbc\x8e", '.'},
};

/* No-break spaces and those of other widths. A table of HTML has them between columns, too. */
static const struct tool_symbol spaces[] = {
	{"\xc2\xa0", ','},     {"\xe2\x80\xaf", ','}, {"\xe2\x80\x87", ','},
	{"\xe2\x80\x88", ','}, {"\xe2\x80\x89", ','}, {"\xe2\x80\x8a", ','},
};

/* What precedes the last byte of a script's digits: Arabic, Persian, Devanagari, Bengali, full width; the byte of 0. */
static const struct {
	const char *lead;
	unsigned char zero;
} scripts[] = {
	{"\xd9", 0xa0}, {"\xdb", 0xb0}, {"\xe0\xa5", 0xa6}, {"\xe0\xa7", 0xa6}, {"\xef\xbc", 0x90}};

/* The digit of another script at s, its length; 0: there is none. */
static size_t digit_len(const char *s, const char *end, char *ret)
{
	for (size_t i = 0; i < sizeof(scripts) / sizeof(*scripts); i++) {
		size_t len = strlen(scripts[i].lead);
		unsigned int digit;

		if ((size_t)(end - s) <= len || memcmp(s, scripts[i].lead, len) != 0)
			continue;
		digit = (unsigned char)s[len] - (unsigned int)scripts[i].zero;
		*ret = (char)('0' + digit);
		if (digit < 10)
			return len + 1;
	}
	return 0;
}

static size_t symbol_len(const struct tool_symbol *symbols, size_t nr, const char *s,
			 const char *end, char *ret)
{
	for (size_t i = 0; i < nr; i++) {
		size_t len = strlen(symbols[i].utf8);

		*ret = symbols[i].is;
		if ((size_t)(end - s) > len && !memcmp(s, symbols[i].utf8, len))
			return len;
	}
	return 0;
}

/* Is s, which `len` bytes precede, between two digits of which the latter begins a group? */
static bool is_between(const char *begin, const char *s, size_t len, const char *end)
{
	const char *p = s + len;

	return s > begin && text_is_digit(s[-1]) && end - p >= GROUP_DIGITS &&
	       text_is_digit(p[0]) && text_is_digit(p[1]) && text_is_digit(p[2]) &&
	       (end - p == GROUP_DIGITS || !text_is_digit(p[3]));
}

static size_t space_len(const char *s, const char *end, char *ret)
{
	bool is_latin1 = *s == '\xa0' && end - s > 1 && (unsigned char)s[1] < 0x80;

	*ret = ',';
	return is_latin1 ? 1 : symbol_len(spaces, sizeof(spaces) / sizeof(*spaces), s, end, ret);
}

/* Are all such spaces of the line within numbers, so that they separate no columns? */
static bool spaces_are_of_numbers(const char *begin, const char *end)
{
	char is;

	for (const char *s = begin; s < end; s++) {
		size_t len = space_len(s, end, &is);

		if (len && !is_between(begin, s, len, end))
			return false;
		s += len ? len - 1 : 0;
	}
	return true;
}

/* "1_234": not "pages_4k", "vcpu_12_345" */
static bool is_underscore_of_number(const char *begin, const char *s, const char *end)
{
	const char *p = s;

	if (*s != '_' || !is_between(begin, s, 1, end))
		return false;
	while (p > begin && (text_is_digit(p[-1]) || p[-1] == '_' || p[-1] == ','))
		p--;
	if (p > begin && (isalpha((unsigned char)p[-1]) || p[-1] == '-'))
		return false;
	for (p = s; p < end && (text_is_digit(*p) || *p == '_');)
		p++;
	return p == end || !isalpha((unsigned char)*p);
}

static char *digits_replace(char *s, char *end)
{
	char *to = s, is;

	while (s < end) {
		size_t len = (unsigned char)*s >= 0x80 ? digit_len(s, end, &is) : 0;

		*to++ = len ? is : *s;
		s += len ? len : 1;
	}
	return to;
}

char *tool_groups_replace(char *begin, char *end)
{
	char *to = begin, *s = begin, is;
	bool spaces_too;

	end = digits_replace(begin, end);
	spaces_too = spaces_are_of_numbers(begin, end);
	while (s < end) {
		size_t len = 0;

		if (s > begin && text_is_digit(s[-1]))
			len = symbol_len(separators, sizeof(separators) / sizeof(*separators), s,
					 end, &is);
		if (len && !text_is_digit(s[len]))
			len = 0;
		if (!len && spaces_too)
			len = space_len(s, end, &is);
		if (!len && is_underscore_of_number(begin, s, end)) {
			len = 1;
			is = ',';
		}
		*to++ = len ? is : *s;
		s += len ? len : 1;
	}
	return to;
}

const char *tool_count_rest(const char *number, const char *end, uint64_t *count)
{
	bool first = end - number <= GROUP_DIGITS;

	if (*number == '0' && end - number > 1)
		return end;
	while (first && *end == ' ' && strspn(end + 1, "0123456789") == GROUP_DIGITS &&
	       *count < UINT64_MAX / 1000 - 1) {
		const char *p = end + 1;

		*count = *count * 1000 + text_decimal(&p);
		end = p;
	}
	return end;
}
