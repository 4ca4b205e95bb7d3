// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Text of a recording in markup, JSON and CSV: untrusted, so everything that could end a value or be taken for markup
 * is escaped, and control bytes and broken UTF-8 are replaced.
 */
#include <string.h>

#include "base/cleanup.h"
#include "event/event.h"
#include "output/escape.h"

void put_markup(FILE *f, const char *raw)
{
	_cleanup_free_ char *safe = strdup(raw);

	if (safe)
		text_sanitize(safe);
	for (const char *text = safe ? safe : ""; *text; text++, raw++)
		switch (*raw == '\n' || *raw == '\t' ? *raw : *text) {
		case '<':
			fputs("&lt;", f);
			break;
		case '>':
			fputs("&gt;", f);
			break;
		case '&':
			fputs("&amp;", f);
			break;
		case '"':
			fputs("&quot;", f);
			break;
		case '\n':
		case '\t':
			fputc(*raw, f);
			break;
		default:
			fputc(*text, f);
		}
}

static char *json_escape(char *to, const char *text, size_t len)
{
	for (size_t i = 0, bytes; i < len; i += bytes) {
		unsigned char c = (unsigned char)text[i];

		bytes = c < 0x80 ? 1 : utf8_sequence(text + i);
		if (c == '"' || c == '\\')
			*to++ = '\\';
		if (c < 0x20 || c == 0x7f)
			to += sprintf(to, "\\u%04x", c);
		else if (bytes)
			to = mempcpy(to, text + i, bytes);
		else
			*to++ = '?', bytes = 1;
	}
	return to;
}

char *put_json_text(char *to, const char *text)
{
	*to++ = '"';
	to = json_escape(to, text, strlen(text));
	*to++ = '"';
	return to;
}

/* As much as is escaped at once: characters stay whole. */
static size_t part_length(const char *text)
{
	size_t len = strnlen(text, 64);

	while (len > 60 && ((unsigned char)text[len] & 0xc0) == 0x80)
		len--;
	return len;
}

void put_json(FILE *f, const char *text)
{
	char part[6 * 64];
	size_t len;

	fputc('"', f);
	for (; (len = part_length(text)); text += len)
		fwrite(part, 1, (size_t)(json_escape(part, text, len) - part), f);
	fputc('"', f);
}

static bool is_number(const char *text)
{
	text += *text == '-';
	return *text >= '0' && *text <= '9' && !text[strspn(text, "0123456789.")];
}

static bool is_formula(const char *text)
{
	return *text && strchr("=+-@\t\r", *text) && !is_number(text);
}

char *put_csv_text(char *to, const char *text)
{
	bool quoted = text[strcspn(text, ",\"\r\n")];

	if (quoted)
		*to++ = '"';
	if (is_formula(text))
		*to++ = '\'';
	for (; *text; text++) {
		if (*text == '"')
			*to++ = '"';
		*to++ = *text;
	}
	if (quoted)
		*to++ = '"';
	return to;
}

void put_csv(FILE *f, const char *text)
{
	_cleanup_free_ char *cell = malloc(2 * strlen(text) + PUT_CSV_MORE);

	if (cell)
		fwrite(cell, 1, (size_t)(put_csv_text(cell, text) - cell), f);
}
