// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/digits.h"

/* Sixteen digits at once: two nibbles of each byte side by side, then '0' or, above nine, 'a' - 10. */
char *put_hex16(char *p, uint64_t v)
{
	typedef uint8_t vector __attribute__((vector_size(16)));
	vector digits = {0};

	v = __builtin_bswap64(v);
	memcpy(&digits, &v, 8);
	digits = __builtin_shufflevector(digits >> 4, digits & 15, 0, 16, 1, 17, 2, 18, 3, 19, 4,
					 20, 5, 21, 6, 22, 7, 23);
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
