// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What a mail client or a browser makes of the lines of a table: quoted-printable (paste_printable.h), whose long lines
 * go on in the next after a '=', and tags of HTML around a text.
 *
 *	           MSR_WRITE      12874    61.20%     1.23%      0.51us     93.12us=
 *	      1.12us ( +-   0.93% )
 */
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "readers/text/lines.h"
#include "readers/text/paste_printable.h"
#include "readers/text/tool_line.h"

enum { SOFT_WIDTH_MIN = 70 }; /* without a header that says so, lines are broken at 76 bytes at most */

/* The end of a tag of HTML at s, which may enclose a text; s: there is none, as with "<not counted>". */
static const char *tag_skip(const char *s)
{
	static const char *const tags[] = {"html", "head", "body", "pre", "code", "div", "p",
					   "span", "tt", "br", "li", "td", "blockquote"};
	const char *name = s + 1 + (s[0] && s[1] == '/'),
		   *close = *s == '<' ? strchr(s, '>') : NULL;
	size_t len = close ? strcspn(name, " />") : 0;

	return len && array_any(sizeof(tags) / sizeof(*tags), i,
				strlen(tags[i]) == len && !strncasecmp(name, tags[i], len))
		       ? close + 1
		       : s;
}

char *tool_mail_tags_cut(char *s)
{
	const char *next;
	char *last;

	while ((next = tag_skip(s + strspn(s, " "))) > s + strspn(s, " "))
		s += next - s;
	while ((last = strrchr(s, '<')) && !*(next = tag_skip(last)) && next > last)
		*last = '\0';
	return s;
}

/* The '=' at the end of a line that goes on; NULL: it does not. A rule of '=' is none. */
static char *soft_find(struct tool_lines *l, char *s, char *end)
{
	static const char header[] = "Content-Transfer-Encoding: quoted-printable";
	char *soft = printable_soft(s, end);

	if ((size_t)(end - s) >= sizeof(header) - 1 && !strncasecmp(s, header, sizeof(header) - 1))
		l->printable = true;
	if (!soft || (soft > s && soft[-1] == '=') || (!l->printable && soft - s < SOFT_WIDTH_MIN))
		return NULL;
	return soft;
}

/* Appends to what is held; false: it is too long. */
static bool soft_append(struct tool_lines *l, const char *s, const char *end)
{
	size_t len = (size_t)(end - s);

	if (l->soft_len + len + 1 + TEXT_LINE_SLACK > sizeof(l->soft))
		return false;
	memcpy(l->soft + l->soft_len, s, len);
	l->soft_len += len;
	l->soft[l->soft_len] = '\n';
	return true;
}

enum tool_mail_line tool_mail_take(struct tool_lines *l, char **s, char **end)
{
	char *soft = soft_find(l, *s, *end), *from = *s;

	if (l->soft_len)
		from = printable_quote_skip(l->soft, l->soft + l->soft_len, *s, *end);
	if (!soft && !l->soft_len)
		return TOOL_MAIL_WHOLE;
	if (!soft_append(l, from, soft ? soft : *end)) {
		l->soft_len = 0;
		tool_missing_row(l, "a line of quoted-printable that is too long");
		return TOOL_MAIL_HELD;
	}
	l->printable = true;
	if (soft)
		return TOOL_MAIL_HELD;
	*s = l->soft;
	*end = l->soft + l->soft_len;
	l->soft_len = 0;
	return TOOL_MAIL_WHOLE;
}

bool tool_mail_flush(struct tool_lines *l, char **s, char **end)
{
	*s = l->soft;
	*end = l->soft + l->soft_len;
	l->soft_len = 0;
	return *end > *s;
}
