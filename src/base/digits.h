/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Numbers and words as text where millions of them are written: printf() spends more on reading its format than on
 * the digits.
 */
#ifndef HOSTRACE_DIGITS_H
#define HOSTRACE_DIGITS_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { DIGITS_MAX = 20 }; /* of 64 bits, decimal */

/* Each writes at `to`, which must be large enough, and returns the end of the text; no NUL. */
static inline char *put_dec(char *to, uint64_t v)
{
	char digit[DIGITS_MAX];
	unsigned int n = 0;

	do
		digit[n++] = (char)('0' + v % 10);
	while (v /= 10);
	while (n)
		*to++ = digit[--n];
	return to;
}

static inline char *put_hex(char *to, uint64_t v)
{
	unsigned int n = v ? (67 - (unsigned int)__builtin_clzll(v)) / 4 : 1;

	for (unsigned int i = n; i--; v >>= 4)
		to[i] = "0123456789abcdef"[v & 15];
	return to + n;
}

static inline char *put_text(char *to, const char *s)
{
	size_t len = strlen(s);

	memcpy(to, s, len);
	return to + len;
}

/* Pads the text from `from` to `to` to at least `width` bytes, aligned right or left. */
static inline char *pad_left(char *from, char *to, unsigned int width)
{
	size_t len = (size_t)(to - from);

	if (len >= width)
		return to;
	memmove(from + width - len, from, len);
	memset(from, ' ', width - len);
	return from + width;
}

static inline char *pad_right(char *from, char *to, unsigned int width)
{
	while (to < from + width)
		*to++ = ' ';
	return to;
}

#endif
