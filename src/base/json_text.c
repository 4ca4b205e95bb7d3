// SPDX-License-Identifier: GPL-2.0-or-later
/* Loading JSON with a bound on memory, and printing it with jansson's digits of reals replaced by the shortest ones. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/json_text.h"

enum {
	DIGITS_ENOUGH = 15, /* a text of so many digits survives being read and printed */
	DIGITS_EXACT = 17,  /* and so many tell any two numbers apart */
	REAL_BYTES = 64,
	DEL = 0x7f,
};

/* What jansson 2.14 and malloc() need for each, without texts. */
enum {
	OBJECT_BYTES = 224,
	MEMBER_BYTES = 112,
	ARRAY_BYTES = 128,
	STRING_BYTES = 48,
	OTHER_BYTES = 32,
};

json_t *json_u64(uint64_t v)
{
	return v <= INT64_MAX ? json_integer((json_int_t)v) : json_sprintf("%" PRIu64, v);
}

uint64_t json_u64_value(const json_t *json)
{
	json_int_t v = json_integer_value(json);

	if (json_is_string(json))
		return strtoull(json_string_value(json), NULL, 10);
	return v > 0 ? (uint64_t)v : 0;
}

/* The end of the string that begins at p. */
static const char *string_end(const char *p, const char *end)
{
	for (p++; p < end && *p != '"'; p++)
		p += *p == '\\' && p + 1 < end;
	return p < end ? p + 1 : p;
}

size_t json_text_bytes(const char *text, size_t len)
{
	size_t bytes = 0;

	for (const char *p = text, *from = p, *end = text + len; p < end; from = p)
		switch (*p++) {
		case '{':
			bytes += OBJECT_BYTES;
			break;
		case '[':
			bytes += ARRAY_BYTES;
			break;
		case ':':
			bytes += MEMBER_BYTES - STRING_BYTES; /* the key was counted as a string */
			break;
		case ',':
			bytes += OTHER_BYTES;
			break;
		case '"':
			p = string_end(from, end);
			bytes += STRING_BYTES + (size_t)(p - from);
			break;
		}
	return bytes;
}

json_t *json_text_load(const char *text, size_t len, size_t flags, json_error_t *why)
{
	if (json_text_bytes(text, len) <= JSON_LOADED_MAX)
		return json_loadb(text, len, flags, why);
	*why = (json_error_t){.line = 1};
	snprintf(why->text, sizeof(why->text), "its values need more than %d MiB of memory",
		 JSON_LOADED_MAX >> 20);
	return NULL;
}

/* ---- an object, member by member ---- */

/* The ',' or '}' after the member that begins at p; NULL: there is none. */
static char *member_end(char *p, const char *end)
{
	unsigned int depth = 0;

	for (; p < end; p++) {
		if (*p == '"')
			p = (char *)string_end(p, end) - 1;
		else if (*p == '{' || *p == '[')
			depth++;
		else if (!depth && (*p == '}' || *p == ','))
			return p;
		else if (*p == '}' || *p == ']')
			depth -= depth > 0;
	}
	return NULL;
}

/* Loads the member between the two characters, in whose places it gets braces. */
static int member_load(char *before, char *after, json_t *into, json_error_t *why)
{
	char was = *after;
	json_t *json;
	int err;

	*before = '{';
	*after = '}';
	json = json_loadb(before, (size_t)(after - before) + 1, 0, why);
	*after = was;
	err = json ? json_object_update(into, json) : -1;
	json_decref(json);
	return err;
}

static bool is_wanted(const char *p, const char *end, json_member_wanted *wanted, void *arg)
{
	const char *key = memchr(p, '"', (size_t)(end - p));
	size_t len = key ? (size_t)(string_end(key, end) - key) : 0;

	return wanted(arg, len > 2 ? key + 1 : "", len > 2 ? len - 2 : 0,
		      json_text_bytes(p, (size_t)(end - p)));
}

static int members_cut(json_error_t *why)
{
	*why = (json_error_t){.line = 1, .text = "it is cut"};
	return -1;
}

json_t *json_text_load_members(char *text, size_t len, json_member_wanted *wanted, void *arg,
			       json_error_t *why)
{
	char *before = memchr(text, '{', len), *end = text + len, *after;
	json_t *all = json_object();
	int err = before ? 0 : members_cut(why);

	for (; !err && before; before = !err && *after == ',' ? after : NULL) {
		after = member_end(before + 1, end);
		if (!after)
			err = members_cut(why);
		else if (is_wanted(before + 1, after, wanted, arg))
			err = member_load(before, after, all, why);
	}
	if (!err)
		return all;
	json_decref(all);
	return NULL;
}

size_t json_bytes(const json_t *value)
{
	size_t bytes = OTHER_BYTES, i;
	const char *key;
	json_t *one;

	if (json_is_string(value))
		bytes = STRING_BYTES + json_string_length(value);
	if (json_is_array(value))
		bytes = ARRAY_BYTES;
	if (json_is_object(value))
		bytes = OBJECT_BYTES;
	json_array_foreach (value, i, one)
		bytes += sizeof(one) + json_bytes(one);
	json_object_foreach ((json_t *)value, key, one)
		bytes += MEMBER_BYTES + strlen(key) + json_bytes(one);
	return value ? bytes : 0;
}

/* Significant digits, without leading zeros and the exponent. */
static unsigned int digits_of(const char *p, size_t len)
{
	unsigned int nr = 0;

	for (size_t i = 0; i < len && p[i] != 'e' && p[i] != 'E'; i++)
		nr += p[i] >= (nr ? '0' : '1') && p[i] <= '9';
	return nr;
}

/* The real of `len` bytes at p, shortened, to `to`, which is not after p. Returns the end there. */
static char *real_put(char *to, const char *p, size_t len)
{
	char text[REAL_BYTES], form[REAL_BYTES];

	if (len < sizeof(text) && digits_of(p, len) >= DIGITS_EXACT) {
		memcpy(text, p, len);
		text[len] = '\0';
		double v = strtod(text, NULL);

		for (int digits = DIGITS_ENOUGH; digits < DIGITS_EXACT; digits++) {
			int n = snprintf(form, sizeof(form), "%.*g", digits, v);

			if (!strpbrk(form, ".e"))
				n += snprintf(form + n, sizeof(form) - (size_t)n, ".0");
			if (strtod(form, NULL) == v && (size_t)n <= len)
				return mempcpy(to, form, (size_t)n);
		}
	}
	memmove(to, p, len);
	return to + len;
}

/* Is the number of `len` bytes at p a real? */
static bool is_real(const char *p, size_t len)
{
	return array_any(len, i, strchr(".eE", p[i]));
}

char *json_text_shorten(char *text)
{
	const char *p = text, *end = p + strlen(p);
	char *to = text;

	while (*p) {
		size_t len = *p == '"' ? (size_t)(string_end(p, end) - p)
				       : strspn(p, "+-.0123456789eE");

		if (*p != '"' && is_real(p, len)) {
			to = real_put(to, p, len);
		} else {
			len = len ? len : 1;
			memmove(to, p, len);
			to += len;
		}
		p += len;
	}
	*to = '\0';
	return text;
}

char *json_text_make(const json_t *json, size_t flags)
{
	char *text = json_dumps(json, flags);

	return text ? json_text_shorten(text) : NULL;
}

/* A text is NULL without memory. */
static int text_put(const char *text, FILE *f)
{
	for (const char *del; text && (del = strchr(text, DEL)); text = del + 1)
		fprintf(f, "%.*s\\u007f", (int)(del - text), text);
	return text && fputs(text, f) >= 0 ? 0 : -1;
}

int json_text_put(const json_t *json, FILE *f, size_t flags)
{
	_cleanup_free_ char *text = json_text_make(json, flags | JSON_ENSURE_ASCII);

	return text_put(text, f);
}

int json_text_put_exact(const json_t *json, FILE *f, size_t flags)
{
	_cleanup_free_ char *text = json_dumps(json, flags | JSON_ENSURE_ASCII);

	return text_put(text, f);
}
