// SPDX-License-Identifier: GPL-2.0-or-later
/* Numbers with decimals as printf() writes them, digit for digit, at a tenth of its cost. */
#include <stdio.h>

#include "base/digits.h"

/*
 * Each writes at its first argument, which has the capacity, and returns the end of what it wrote; no NUL. The
 * hexadecimal ones always write HEX_DIGITS bytes, also beyond the end that they return.
 */
enum { HEX_DIGITS = 16 };

/*
 * printf rounds the exact binary value. Scaling by a power of ten errs by less than 2^-50 of the value, so wherever the
 * scaled value is further than that from the middle between two integers, the nearest one is the right one.
 */
const char *decimal_print(double v, unsigned int decimals, char *buf, size_t size)
{
	static const double scales[] = {1, 10, 100, 1000, 10000, 100000, 1000000};
	double scaled = v * scales[decimals], down, rest;
	char *p = buf + 31;
	uint64_t n;

	if (!(scaled >= 0 && scaled < 1e12) || size < 32)
		goto rare;
	n = (uint64_t)scaled;
	down = (double)n;
	rest = scaled - down;
	if (rest > 0.499 && rest < 0.501)
		goto rare;
	n += rest > 0.5;
	*p = '\0';
	for (unsigned int i = 0; i < decimals; i++, n /= 10)
		*--p = (char)('0' + n % 10);
	if (decimals)
		*--p = '.';
	do
		*--p = (char)('0' + n % 10);
	while (n /= 10);
	return p;
rare:
	snprintf(buf, size, "%.*f", (int)decimals, v);
	return buf;
}

/* The `digits` lowest digits of n. */
static char *put_digits(char *p, uint32_t n, unsigned int digits)
{
	for (unsigned int i = digits; i-- > 0; n /= 10)
		p[i] = (char)('0' + n % 10);
	return p + digits;
}

/*
 * Six digits of a number from 0.0001 to a million, exactly: the value is an integer of 53 bits by a power of two, so
 * that its product with a power of ten fits into 128 bits, and the dropped bits decide how to round. *ret_decimals
 * of them follow the decimal point.
 */
static uint32_t six_digits(double v, unsigned int *ret_decimals)
{
	static const double limits[] = {1e5, 1e4, 1e3, 1e2, 1e1, 1, 1e-1, 1e-2, 1e-3};
	static const uint32_t powers[] = {1, 10, 100, 1000, 10000, 100000,
					  1000000, 10000000, 100000000, 1000000000};
	unsigned int decimals = 0, shift;
	uint64_t bits;

	while (decimals < 9 && v < limits[decimals])
		decimals++;
	memcpy(&bits, &v, sizeof(bits));
	shift = 1075 - (unsigned int)(bits >> 52);
	unsigned __int128 exact =
		(unsigned __int128)((bits & ~0ull >> 12) | 1ull << 52) * powers[decimals];
	unsigned __int128 half = (unsigned __int128)1 << (shift - 1),
			  dropped = exact & (half | (half - 1));
	uint32_t n = (uint32_t)(exact >> shift);

	*ret_decimals = decimals;
	return n + (dropped > half || (dropped == half && n % 2));
}

char *decimal_put_general(char *p, double v)
{
	unsigned int decimals;
	uint32_t n, scale = 1, whole;

	if (!(v >= 1e-4 && v < 999999))
		return v == 0 && 1 / v > 0 ? (*p = '0', p + 1) : p + sprintf(p, "%g", v);
	n = six_digits(v, &decimals);
	for (; decimals && n % 10 == 0; decimals--)
		n /= 10;
	for (unsigned int i = 0; i < decimals && i < 6; i++)
		scale *= 10;
	whole = decimals > 6 ? 0 : n / scale;
	for (scale = 1; scale <= whole / 10; scale *= 10)
		;
	for (; scale; scale /= 10)
		*p++ = (char)('0' + whole / scale % 10);
	if (!decimals)
		return p;
	*p++ = '.';
	return put_digits(p, n, decimals);
}

typedef uint8_t vector __attribute__((vector_size(16)));

/* a[0], b[0], a[1], b[1], ... */
#if __has_builtin(__builtin_shufflevector)
#define SIDE_BY_SIDE(a, b)                                                                         \
	__builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23)
#else /* gcc 11 */
#define SIDE_BY_SIDE(a, b)                                                                         \
	__builtin_shuffle(                                                                         \
		a, b, (vector){0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23})
#endif

/* Sixteen digits at once: two nibbles of each byte side by side, then '0' or, above nine, 'a' - 10. */
char *put_hex16(char *p, uint64_t v)
{
	vector digits = {0};

	v = __builtin_bswap64(v);
	memcpy(&digits, &v, 8);
	digits = SIDE_BY_SIDE(digits >> 4, digits & 15);
	digits += '0' + ((vector)(digits > 9) & ('a' - '0' - 10));
	memcpy(p, &digits, 16);
	return p + 16;
}

/* All of them, the leading zeros moved out at the left. */
char *put_hex(char *p, uint64_t v)
{
	unsigned int digits = v ? (67u - (unsigned int)__builtin_clzll(v)) / 4 : 1;

	put_hex16(p, v << (64 - 4 * digits));
	return p + digits;
}

static const char pairs[] = "0001020304050607080910111213141516171819"
			    "2021222324252627282930313233343536373839"
			    "4041424344454647484950515253545556575859"
			    "6061626364656667686970717273747576777879"
			    "8081828384858687888990919293949596979899";

/* Digits up to `end`; what is left of them is not touched. */
static void digits_before(char *end, uint64_t v)
{
	for (; v > UINT32_MAX; v /= 100)
		memcpy(end -= 2, pairs + 2 * (v % 100), 2);
	uint32_t rest = (uint32_t)v;

	for (; rest >= 100; rest /= 100)
		memcpy(end -= 2, pairs + 2 * (rest % 100), 2);
	if (rest >= 10)
		memcpy(end - 2, pairs + 2 * rest, 2);
	else
		end[-1] = (char)('0' + rest);
}

/* 1233 / 4096 is a little less than log10(2): the digits, or one too few. */
static unsigned int digits_of(uint64_t v)
{
	static const uint64_t powers[] = {1, 10, 100, 1000, 10000, 100000, 1000000, 10000000,
					  100000000, 1000000000, 10000000000, 100000000000,
					  1000000000000, 10000000000000, 100000000000000,
					  1000000000000000, 10000000000000000, 100000000000000000,
					  1000000000000000000, 10000000000000000000ull};
	unsigned int n = (64u - (unsigned int)__builtin_clzll(v | 1)) * 1233 >> 12;

	return n + (v >= powers[n]) + !v;
}

char *put_dec(char *p, uint64_t v)
{
	unsigned int digits;

	if (v < 10) {
		*p = (char)('0' + v);
		return p + 1;
	}
	digits = digits_of(v);
	digits_before(p + digits, v);
	return p + digits;
}

char *put_dec_right(char *p, uint64_t v, unsigned int width)
{
	unsigned int digits = digits_of(v);

	for (; digits < width; width--)
		*p++ = ' ';
	digits_before(p + digits, v);
	return p + digits;
}

static void put_digits4(char *p, uint32_t v)
{
	memcpy(p, pairs + 2 * (v / 100), 2);
	memcpy(p + 2, pairs + 2 * (v % 100), 2);
}

char *put_timestamp(char *p, uint64_t ns, unsigned int width)
{
	uint32_t fraction = (uint32_t)(ns % 1000000000), high = fraction / 10000;

	p = put_dec_right(p, ns / 1000000000, width > 10 ? width - 10 : 0);
	p[0] = '.';
	p[1] = (char)('0' + high / 10000);
	put_digits4(p + 2, high % 10000);
	put_digits4(p + 6, fraction % 10000);
	return p + 10;
}
