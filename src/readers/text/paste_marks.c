// SPDX-License-Identifier: GPL-2.0-or-later
/* Marks that screens, editors and people put where a line was cut, or goes on in the next one (paste_clean.h). */
#include <ctype.h>
#include <string.h>

#include "base/array.h"
#include "readers/text/paste_clean.h"

static bool paste_marks_has(const char *s, const char *end, const char *mark)
{
	return memmem(s, (size_t)(end - s), mark, strlen(mark));
}

/*
 * "rip 0xffff[...]6a18", where a person left something out: what is beside it may be half. Not "<...>-2001", a thread
 * whose name the kernel has forgotten, and "(...)" after the first of kvm_pio's values.
 */
static bool has_mark_within(const char *s, const char *end)
{
	const char *dots = memmem(s, (size_t)(end - s), "...", 3);

	if (paste_marks_has(s, end, "\xe2\x80\xa6") || paste_marks_has(s, end, "[snip]"))
		return true;
	for (; dots; dots = memmem(dots + 3, (size_t)(end - dots - 3), "...", 3)) {
		char before = dots > s ? dots[-1] : ' ', after = dots + 3 < end ? dots[3] : ' ';

		if (before == '[' && after == ']')
			return true;
		if (before == '<' && after == '>' && dots - s > 2 && dots[-2] != '=' &&
		    memchr(s, ':', (size_t)(dots - s)))
			return true;
	}
	return false;
}

/* Text of people and programs, which may contain and end with anything. */
static bool is_of_print(const char *s, const char *end)
{
	static const char *const texts[] = {"print: ", "puts: ", "mark_write: "};

	return array_any(sizeof(texts) / sizeof(*texts), i, paste_marks_has(s, end, texts[i]));
}

char *paste_bar_cut(char *s, char *end, size_t *ret_blanks)
{
	char *bar = end, *p;

	while (bar > s && bar[-1] == ' ')
		bar--;
	if (bar == s || bar[-1] != '|' || is_of_print(s, end))
		return end;
	for (p = bar - 1; p > s && p[-1] == ' ';)
		p--;
	*ret_blanks = (size_t)(bar - 1 - p);
	return p;
}

bool paste_ends_at_mark(const char *s, const char *end)
{
	while (end > s && end[-1] == ' ')
		end--;
	return end - s >= 2 &&
	       (strchr("<{-'", end[-1]) || (end[-1] == '>' && strchr("-=", end[-2]))) &&
	       !is_of_print(s, end);
}

bool paste_has_cut_mark(const char *s, const char *end)
{
	const char *open;

	bool within = has_mark_within(s, end) || (end > s && end[-1] == '$');

	if (end - s < 4 || (!within && end[-1] != '>' && memcmp(end - 3, "...", 3) != 0))
		return false;
	if (is_of_print(s, end))
		return false;
	if (within)
		return true;
	open = memrchr(s, '<', (size_t)(end - s)); /* "<stack trace>" */
	if (end[-1] == '>' && open && memchr(open, '>', (size_t)(end - open)) == end - 1)
		return false;
	return end[-1] == '.' || !strchr("-=", end[-2]);
}

bool paste_may_be_cut(const char *s, const char *end)
{
	end = text_trim_end(s, end);
	return end > s && (end[-1] == '|' || (unsigned char)end[-1] >= 0x80 ||
			   paste_ends_at_mark(s, end) || paste_has_cut_mark(s, end));
}

char *paste_end_mark_cut(char *s, char *end)
{
	end -= end > s && end[-1] == '$';
	for (char *tab = s; (tab = memmem(tab, (size_t)(end - tab), "^I", 2));)
		memset(tab, ' ', 2);
	return end - s >= 2 && !memcmp(end - 2, "^M", 2) ? end - 2 : end;
}

static bool is_symbol(char c)
{
	return (unsigned char)c >= 0x80; /* of an arrow */
}

char *paste_mark_before(char *s, char *end)
{
	char *p = end;

	while (p > s && p[-1] == ' ')
		p--;
	if (p > s && is_symbol(p[-1])) {
		while (p > s && is_symbol(p[-1]))
			p--;
		return p;
	}
	return p > s && strchr("\\$+", p[-1]) ? p - 1 : end;
}

char *paste_mark_skip(char *s, char *end)
{
	char *p = s + strspn(s, " "), *mark = p;

	while (p < end && is_symbol(*p))
		p++;
	if (p == mark) {
		while (p < end && strchr("+|>\\-*.:", *p))
			p++;
		if (p == mark || p - mark > 3 || p >= end || *p != ' ' ||
		    (p - mark == 2 && *mark == '-')) /* a signature */
			return s;
	}
	return p < end && *p == ' ' ? p + 1 : p;
}
