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

void put_json(FILE *f, const char *text)
{
	fputc('"', f);
	for (const unsigned char *p = (const unsigned char *)text; *p; p++)
		if (*p == '"' || *p == '\\')
			fprintf(f, "\\%c", *p);
		else if (*p < 0x20 || *p == 0x7f)
			fprintf(f, "\\u%04x", *p);
		else
			fputc(*p, f);
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
