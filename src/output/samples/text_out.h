/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Fast text: lines are assembled in one buffer, without printf, and written in large pieces. Before a line,
 * text_out_reserve() makes space for it; the put functions do not check. They may write up to TEXT_OUT_SHORT bytes
 * after the end that they return.
 */
#ifndef HOSTRACE_TEXT_OUT_H
#define HOSTRACE_TEXT_OUT_H

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/digits.h"

enum {
	TEXT_OUT_LINE_MAX = 1 << 19,
	TEXT_OUT_PIECE = 1 << 16, /* written when so much is there: it stays in the cache */
	TEXT_OUT_SIZE = TEXT_OUT_LINE_MAX + TEXT_OUT_PIECE,
};

struct text_out {
	FILE *out;
	char *pos, *buf; /* buf has TEXT_OUT_SIZE bytes */
};

int text_out_open(struct text_out *t, FILE *out);
/* Writes what is left and frees the buffer. 0 or -EIO. */
int text_out_close(struct text_out *t);
void text_out_flush(struct text_out *t);

/* Makes space for a line of at most TEXT_OUT_LINE_MAX bytes. */
static inline void text_out_reserve(struct text_out *t)
{
	if (t->pos - t->buf > TEXT_OUT_PIECE)
		text_out_flush(t);
}

static inline char *put_bytes(char *p, const char *text, size_t len)
{
	memcpy(p, text, len);
	return p + len;
}

enum { TEXT_OUT_SHORT = 32 };

/* For text that is nearly always short; TEXT_OUT_SHORT bytes can be read at its pointer, whatever its length. */
static inline char *put_short(char *p, const char *text, size_t len)
{
	memcpy(p, text, TEXT_OUT_SHORT);
	if (__builtin_expect(len > TEXT_OUT_SHORT, 0))
		memcpy(p + TEXT_OUT_SHORT, text + TEXT_OUT_SHORT, len - TEXT_OUT_SHORT);
	return p + len;
}

/* As %-*s: `len` bytes that show as `columns`, filled with blanks up to `width`. */
static inline char *put_left(char *p, const char *text, size_t len, size_t columns, size_t width)
{
	p = put_bytes(p, text, len);
	for (; columns < width; columns++)
		*p++ = ' ';
	return p;
}

/* As %*s. */
static inline char *put_right(char *p, const char *text, size_t width)
{
	size_t len = strlen(text);

	for (; width > len; width--)
		*p++ = ' ';
	return put_bytes(p, text, len);
}

#endif
