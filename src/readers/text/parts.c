// SPDX-License-Identifier: GPL-2.0-or-later
#include <string.h>

#include "readers/text/lines.h"
#include "readers/text/parts.h"

enum { SEPARATOR = 2 }; /* ": ", or two blanks after an empty name */

static bool is_blank(const char *s, const char *end)
{
	return text_skip_blanks(s) >= end;
}

/* Where the "cpus=2" at the end of a line begins; NULL: it ends otherwise. */
static const char *cpus_find(const char *s, const char *end)
{
	static const char cpus[] = "cpus=";
	const char *at = memmem(s, (size_t)(end - s), cpus, sizeof(cpus) - 1), *p;

	for (p = at ? at + sizeof(cpus) - 1 : s; text_is_digit(*p);)
		p++;
	return at && p == end ? at : NULL;
}

/* "guest.dat: cpus=2": one more part. False: another line. An event's line has ": " twice. */
static bool header_learn(struct text_parts *p, const char *s, const char *end)
{
	const char *at = cpus_find(s, end), *name = text_skip_blanks(s);
	size_t width, len;

	if (!at || at < s + SEPARATOR || p->nr == TEXT_PARTS_MAX)
		return false;
	width = (size_t)(at - s) - SEPARATOR;
	len = name < s + width ? (size_t)(s + width - name) : 0;
	if (memcmp(s + width, len ? ": " : "  ", SEPARATOR) || memmem(name, len, ": ", 2) ||
	    len >= TEXT_PART_NAME_MAX || (p->nr && p->width != width))
		return false;
	p->width = width;
	memcpy(p->name[p->nr], name, len);
	p->name[p->nr++][len] = '\0';
	return true;
}

/* Is this name, right-aligned and with its separator, in front of the line? */
static bool name_matches(const struct text_parts *p, const char *name, const char *s)
{
	size_t len = strlen(name);
	const char *at = s + p->width - len;

	return is_blank(s, at) && !memcmp(at, name, len) &&
	       !memcmp(at + len, len ? ": " : "  ", SEPARATOR);
}

char *text_parts_find(struct text_parts *p, char *s, const char *end)
{
	if (!p->known && !header_learn(p, s, end)) {
		p->known = true;
		p->nr = p->nr > 1 ? p->nr : 0;
	}
	if (!p->nr || (size_t)(end - s) < p->width + SEPARATOR)
		return s;
	for (unsigned int i = 0; i < p->nr; i++)
		if (name_matches(p, p->name[i], s)) {
			p->now = i;
			return s + p->width + SEPARATOR;
		}
	return s;
}
