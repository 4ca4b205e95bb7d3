/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Numbers and words as text where millions of them are written: printf() spends more on reading its format than on
 * the digits. And digits that are read.
 */
#ifndef HOSTRACE_DIGITS_H
#define HOSTRACE_DIGITS_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { DIGITS_MAX = 20 }; /* of 64 bits, decimal */

/* 16 hexadecimal digits; as %x; as %u; the same, right-justified in `width` columns. */
char *put_hex16(char *p, uint64_t v);
char *put_hex(char *p, uint64_t v);
char *put_dec(char *p, uint64_t v);
char *put_dec_right(char *p, uint64_t v, unsigned int width);

/* Seconds with nine decimals, right-justified in `width` columns. */
char *put_timestamp(char *p, uint64_t ns, unsigned int width);

/* The value of a hexadecimal digit of either case; -1: c is none. */
static inline int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 'a' ^ 'A';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
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

/* As "%.Nf". decimals: 0 to 6. buf has at least 32 bytes. Returns the text, which is somewhere in buf. */
const char *decimal_print(double v, unsigned int decimals, char *buf, size_t size);

/* As "%g"; at most 16 bytes, without a terminating NUL. Returns the end. */
char *decimal_put_general(char *p, double v);

#endif
