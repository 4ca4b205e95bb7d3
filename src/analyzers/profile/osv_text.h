/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Fast text: a line is put together in one buffer, without printf, and handed on in large pieces.
 * Whoever writes a line first asks for its room (osv_text_room); the puts do not check again. They may write up to
 * OSV_TEXT_SHORT bytes beyond the end that they return.
 */
#ifndef HOSTRACE_OSV_TEXT_H
#define HOSTRACE_OSV_TEXT_H

#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum {
	OSV_TEXT_LINE_MAX = 1 << 19,
	OSV_TEXT_PIECE = 1 << 16, /* handed on when so much is there: it stays in the cache */
	OSV_TEXT_ROOM = OSV_TEXT_LINE_MAX + OSV_TEXT_PIECE,
};

struct osv_text {
	FILE *out;
	char *pos, *buf; /* buf has OSV_TEXT_ROOM bytes */
};

int osv_text_open(struct osv_text *t, FILE *out);
/* Writes what is left and frees the buffer. 0 or -EIO. */
int osv_text_close(struct osv_text *t);
void osv_text_flush(struct osv_text *t);

/* Room for a line of at most OSV_TEXT_LINE_MAX bytes. */
static inline void osv_text_room(struct osv_text *t)
{
	if (t->pos - t->buf > OSV_TEXT_PIECE)
		osv_text_flush(t);
}

static inline char *put_bytes(char *p, const char *text, size_t len)
{
	memcpy(p, text, len);
	return p + len;
}

enum { OSV_TEXT_SHORT = 32 };

/* For text that is nearly always short; OSV_TEXT_SHORT bytes can be read at its pointer, whatever its length. */
static inline char *put_short(char *p, const char *text, size_t len)
{
	memcpy(p, text, OSV_TEXT_SHORT);
	if (__builtin_expect(len > OSV_TEXT_SHORT, 0))
		memcpy(p + OSV_TEXT_SHORT, text + OSV_TEXT_SHORT, len - OSV_TEXT_SHORT);
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

/* 16 hexadecimal digits. */
char *put_hex16(char *p, uint64_t v);
/* As %x, %u; right-justified in `width` columns. */
char *put_hex(char *p, uint64_t v);
char *put_dec(char *p, uint64_t v);
char *put_dec_right(char *p, uint64_t v, unsigned int width);
/* Seconds with nine decimals, right-justified. */
char *put_stamp(char *p, uint64_t ns, unsigned int width);

#endif
