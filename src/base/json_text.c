// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdbool.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json_text.h"

enum {
	DIGITS_ENOUGH = 15, /* a text of so many digits survives being read and printed */
	DIGITS_EXACT = 17,  /* and so many tell any two numbers apart */
	REAL_BYTES = 64,
};

json_t *json_u64(uint64_t v)
{
	return v <= INT64_MAX ? json_integer((json_int_t)v) : json_real((double)v);
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
	for (size_t i = 0; i < len; i++)
		if (strchr(".eE", p[i]))
			return true;
	return false;
}

/* The end of the string that begins at p. */
static const char *string_end(const char *p)
{
	for (p++; *p && *p != '"'; p++)
		p += *p == '\\' && p[1];
	return *p ? p + 1 : p;
}

char *json_text_shorten(char *text)
{
	const char *p = text;
	char *to = text;

	while (*p) {
		size_t len = *p == '"' ? (size_t)(string_end(p) - p) : strspn(p, "+-.0123456789eE");

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

int json_text_put(const json_t *json, FILE *f, size_t flags)
{
	_cleanup_free_ char *text = json_text_make(json, flags);

	return text && fputs(text, f) >= 0 ? 0 : -1;
}
