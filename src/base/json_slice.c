// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Finds where values end, by their brackets and quotes. jansson's parser has no function for a part of a text, and
 * rejects integers above 2^63 - 1.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_slice.h"

enum { DIGITS_SAFE = 18 }; /* so many digits are below 2^63 */

static const char *blanks_skip(const char *p, const char *end)
{
	while (p < end && strchr(" \t\r\n", *p) && *p)
		p++;
	return p;
}

/* After the closing quote, or the end. */
static const char *string_end(const char *p, const char *end)
{
	for (p++; p < end && *p != '"'; p++)
		p += *p == '\\';
	return p < end ? p + 1 : end;
}

static const char *value_end(const char *p, const char *end)
{
	const char *begin = p;
	size_t depth = 0;

	for (; p < end; p++) {
		if (*p == '"')
			p = string_end(p, end) - 1;
		else if (*p == '{' || *p == '[')
			depth++;
		else if (depth && (*p == '}' || *p == ']'))
			depth--;
		else if (!depth && strchr(",:]} \t\r\n", *p))
			return p;
		if (!depth && strchr("\"}]", *p) && (p > begin || *begin != '"'))
			return p + 1;
	}
	return end;
}

struct json_slice json_slice_of(const char *text, size_t len)
{
	const char *at = blanks_skip(text, text + len);
	size_t rest = len - (size_t)(at - text);

	while (rest && strchr(" \t\r\n", at[rest - 1]))
		rest--;
	return (struct json_slice){at, rest};
}

bool json_slice_next(struct json_slice of, size_t *offset, struct json_slice *key,
		     struct json_slice *ret)
{
	const char *end = of.at + of.len, *p;
	struct json_slice name = {0};

	if (of.len < 2 || (*of.at != '{' && *of.at != '['))
		return false;
	p = blanks_skip(of.at + (*offset ? *offset : 1), end);
	if (p < end && *p == ',')
		p = blanks_skip(p + 1, end);
	if (p >= end || *p == '}' || *p == ']')
		return false;
	if (*of.at == '{') {
		name = (struct json_slice){p, (size_t)(value_end(p, end) - p)};
		p = blanks_skip(p + name.len, end);
		p = blanks_skip(p + (p < end && *p == ':'), end);
	}
	*ret = (struct json_slice){p, (size_t)(value_end(p, end) - p)};
	if (key)
		*key = name;
	*offset = (size_t)(p - of.at) + ret->len;
	return ret->len > 0;
}

size_t json_slice_compact(char *text, size_t len)
{
	const char *end = text + len;
	char *to = text;

	for (const char *p = blanks_skip(text, end); p < end; p = blanks_skip(p, end)) {
		const char *next = *p == '"' ? string_end(p, end) : p + 1;

		memmove(to, p, (size_t)(next - p));
		to += next - p;
		p = next;
	}
	*to = '\0';
	return (size_t)(to - text);
}

struct json_slice json_slice_member(struct json_slice object, const char *key)
{
	struct json_slice name, value;
	size_t offset = 0, len = strlen(key);

	while (object.at && *object.at == '{' && json_slice_next(object, &offset, &name, &value))
		if (name.len == len + 2 && !memcmp(name.at + 1, key, len))
			return value;
	return (struct json_slice){0};
}

/* ---- values ---- */

/* A run of digits: is it an integer above 2^63 - 1? */
static bool digits_exceed(const char *p, size_t len, char before, char after)
{
	static const char max[] = "9223372036854775807";

	if (len <= DIGITS_SAFE || strchr(".eE+", before) || strchr(".eE", after))
		return false;
	return before != '-' && (len > strlen(max) || memcmp(p, max, len) > 0);
}

/* The text with such integers in quotes. */
static size_t digits_quote(struct json_slice of, char *to)
{
	const char *end = of.at + of.len;
	size_t n = 0;

	for (const char *p = of.at; p < end;) {
		const char *next = *p == '"' ? string_end(p, end) : p + 1;
		bool quote = false;

		if (isdigit((unsigned char)*p)) {
			while (next < end && isdigit((unsigned char)*next))
				next++;
			quote = digits_exceed(p, (size_t)(next - p), p > of.at ? p[-1] : ' ',
					      next < end ? *next : ' ');
		}
		if (quote)
			to[n++] = '"';
		memcpy(to + n, p, (size_t)(next - p));
		n += (size_t)(next - p);
		if (quote)
			to[n++] = '"';
		p = next;
	}
	return n;
}

json_t *json_slice_load(struct json_slice of)
{
	json_t *value = json_loadb(of.at, of.len, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
	char *quoted;

	if (value)
		return value;
	quoted = malloc(of.len + 2 * (of.len / DIGITS_SAFE + 1));
	if (!quoted)
		return NULL;
	value = json_loadb(quoted, digits_quote(of, quoted), JSON_DECODE_ANY | JSON_ALLOW_NUL,
			   NULL);
	free(quoted);
	return value;
}
