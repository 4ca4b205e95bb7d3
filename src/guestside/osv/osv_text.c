// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdlib.h>

#include "base/error.h"
#include "guestside/osv/osv_text.h"

int osv_text_open(struct osv_text *t, FILE *out)
{
	*t = (struct osv_text){.out = out, .buf = malloc(OSV_TEXT_ROOM)};
	t->pos = t->buf;
	return t->buf ? 0 : fail(-ENOMEM, "out of memory");
}

void osv_text_flush(struct osv_text *t)
{
	fwrite(t->buf, 1, (size_t)(t->pos - t->buf), t->out);
	t->pos = t->buf;
}

int osv_text_close(struct osv_text *t)
{
	if (!t->buf)
		return 0;
	osv_text_flush(t);
	free(t->buf);
	t->buf = NULL;
	return ferror(t->out) ? -EIO : 0;
}

static const char hex_digits[] = "0123456789abcdef";

/* Eight digits at once: a nibble to each byte, then '0', and 'a' - '0' - 10 more above nine. */
static void put_hex8(char *p, uint32_t v)
{
	uint64_t x = __builtin_bswap32(v), above;

	x = (x | x << 16) & 0x0000ffff0000ffffull;
	x = (x | x << 8) & 0x00ff00ff00ff00ffull;
	x = (x >> 4 & 0x000f000f000f000full) | (x & 0x000f000f000f000full) << 8;
	above = (x + 0x0606060606060606ull) >> 4 & 0x0101010101010101ull;
	x += 0x3030303030303030ull + above * ('a' - '0' - 10);
	memcpy(p, &x, 8);
}

char *put_hex16(char *p, uint64_t v)
{
	put_hex8(p, (uint32_t)(v >> 32));
	put_hex8(p + 8, (uint32_t)v);
	return p + 16;
}

char *put_hex(char *p, uint64_t v)
{
	unsigned int digits = v ? (67u - (unsigned int)__builtin_clzll(v)) / 4 : 1;

	for (unsigned int i = digits; i-- > 0; v >>= 4)
		p[i] = hex_digits[v & 15];
	return p + digits;
}

static const char pairs[] = "0001020304050607080910111213141516171819"
			    "2021222324252627282930313233343536373839"
			    "4041424344454647484950515253545556575859"
			    "6061626364656667686970717273747576777879"
			    "8081828384858687888990919293949596979899";

static char *digits_before32(char *end, uint32_t v)
{
	for (; v >= 100; v /= 100)
		memcpy(end -= 2, pairs + 2 * (v % 100), 2);
	if (v >= 10)
		memcpy(end -= 2, pairs + 2 * v, 2);
	else
		*--end = (char)('0' + v);
	return end;
}

/* Digits from the right end of a buffer; returns where they begin. */
static char *digits_before(char *end, uint64_t v)
{
	for (; v > UINT32_MAX; v /= 100)
		memcpy(end -= 2, pairs + 2 * (v % 100), 2);
	return digits_before32(end, (uint32_t)v);
}

char *put_dec(char *p, uint64_t v)
{
	return put_dec_right(p, v, 0);
}

char *put_dec_right(char *p, uint64_t v, unsigned int width)
{
	char text[24], *end = text + sizeof(text), *from;

	if (v < 10 && width <= 1) {
		*p = (char)('0' + v);
		return p + 1;
	}
	from = digits_before(end, v);
	size_t len = (size_t)(end - from);

	for (; len < width; width--)
		*p++ = ' ';
	return put_bytes(p, from, len);
}

char *put_stamp(char *p, uint64_t ns, unsigned int width)
{
	uint32_t fraction = (uint32_t)(ns % 1000000000);

	p = put_dec_right(p, ns / 1000000000, width > 10 ? width - 10 : 0);
	*p++ = '.';
	p[0] = (char)('0' + fraction / 100000000);
	for (char *end = p + 9; end > p + 1; fraction /= 100)
		memcpy(end -= 2, pairs + 2 * (fraction % 100), 2);
	return p + 9;
}
