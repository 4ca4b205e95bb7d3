// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The prefixes in front of each other that a line has (paste_prefix.c), and the line without some. A prefix that
 * is an object of JSON encloses the line: its text is unescaped, and ends where the string does.
 */
#include <stdio.h>
#include <string.h>

#include "readers/text/lines.h"
#include "readers/text/paste_clean.h"
#include "readers/text/paste_json.h"

static void line_end(char *end)
{
	*end = '\n';
	memset(end + 1, 0, TEXT_LINE_SLACK);
}

/* What the escape sequence at s stands for, and its length; 0: it stays, as that of a quote, which ends the string. */
static unsigned int escape_parse(const char *s, const char *end, char *ret)
{
	unsigned int code;

	if (*s != '\\' || end - s < 2)
		return 0;
	*ret = s[1] == 't' ? ' ' : s[1];
	if (s[1] == 't' || s[1] == '/')
		return 2;
	if (s[1] != 'u' || end - s < 6 || sscanf(s + 2, "%4x", &code) != 1 || code < ' ' ||
	    code > '~' || code == '"' || code == '\\')
		return 0;
	*ret = (char)code;
	return 6;
}

/* "\u003cidle\u003e-0 ...\n" in an object of JSON at `line`, as Docker writes it, is "<idle>-0 ..." */
static char *json_unescape(char *line, char *end)
{
	struct paste_json json;
	char *to, *text_end;

	if (*line != '{' || !paste_json_parse(line, end, &json))
		return end;
	to = line + (json.text.at - line);
	text_end = to + json.text.len;
	for (const char *s = to; s < text_end; to++) {
		char c = *s;
		unsigned int len = escape_parse(s, text_end, &c);

		*to = len ? c : *s;
		s += len ? len : 1;
	}
	while (to - json.text.at >= 2 && to[-2] == '\\' && strchr("nr", to[-1]))
		to -= 2;
	if (to == json.text.at) { /* an empty line */
		line_end(line);
		return line;
	}
	memmove(to, text_end, (size_t)(end - text_end));
	end -= text_end - to;
	line_end(end);
	return end;
}

/* The end of the line at s, without what follows the text of an object of JSON at `line`. */
static char *json_cut(char *s, char *end, const char *line)
{
	struct paste_json json;

	if (*line != '{' || !paste_json_parse(line, end, &json) || s < json.text.at ||
	    s > json.text.at + json.text.len)
		return end;
	end = s + (json.text.at + json.text.len - s);
	line_end(end);
	return end;
}

unsigned int paste_layers_find(const char *layer[static PASTE_LAYERS_MAX + 1], char *s, char **end,
			       bool has_parts)
{
	unsigned int nr = 0;

	*layer = s;
	while (nr < PASTE_LAYERS_MAX) {
		char *at = s + (layer[nr] - s);
		const char *next;

		at += strspn(at, " \t");
		*end = json_unescape(at, *end);
		next = at < *end ? paste_prefix_skip(at, has_parts) : NULL;
		if (!next || next >= *end)
			break;
		layer[++nr] = next;
	}
	return nr;
}

char *paste_layers_strip(const char *const *layer, unsigned int nr, char *s, char **end)
{
	char *at = s + (layer[nr] - s);

	for (unsigned int i = 0; i < nr; i++)
		*end = json_cut(at, *end, layer[i] + strspn(layer[i], " \t"));
	return at;
}
