// SPDX-License-Identifier: GPL-2.0-or-later
#include <string.h>

#include "base/cleanup.h"
#include "vm/linux/tokens.h"

enum {
	BEFORE = 4096, /* so much may be before the digits */
	WINDOW = TOKENS_BYTES_MAX + 1024,
	INDEX_BYTES = 2 * TOKENS,
};

/* The terminating zeros of the array are part of the digits, too. */
static const char digits[20] = "0\0001\0002\0003\0004\0005\0006\0007\0008\0009";

/* Where the strings begin in the window, if `at` is that of "0"; but not the first one: nothing separates it. */
static bool starts_find(const uint8_t *w, size_t size, size_t at, size_t start[TOKENS + 1])
{
	size_t p = at;

	for (int i = '0' - 1; i > 0; i--) {
		if (p < 2)
			return false;
		for (p--; p && w[p - 1];)
			p--;
		if (!p)
			return false;
		start[i] = p;
	}
	p = at;
	for (int i = '0'; i <= TOKENS; i++) {
		const uint8_t *end = memchr(w + p, 0, size - p);

		start[i] = p;
		if (!end)
			return false;
		p = (size_t)(end + 1 - w);
		if (p == size)
			return false;
	}
	return true;
}

/* Does the index at `at` agree with the strings? It says where the first one begins. */
static bool index_agrees(const uint8_t *w, size_t size, size_t at, size_t start[TOKENS + 1])
{
	uint16_t index[TOKENS];

	if (at > size || size - at < sizeof(index))
		return false;
	memcpy(index, w + at, sizeof(index));
	if (index[0] || !index[1] || index[1] > start[1])
		return false;
	start[0] = start[1] - index[1];
	for (int i = 1; i < TOKENS; i++)
		if (start[i] - start[0] != index[i])
			return false;
	return start[TOKENS] - start[0] <= TOKENS_BYTES_MAX;
}

/* `offset` is that of the digits. */
static bool table_read(const struct linux_ram *r, uint64_t offset, struct kallsyms_tokens *ret)
{
	uint64_t from = offset > BEFORE ? offset - BEFORE : 0;
	size_t start[TOKENS + 1], left = r->at.size - from;
	size_t size = left < WINDOW ? left : WINDOW;
	uint8_t w[WINDOW];

	if (linux_ram_read(r, from, w, size) || !starts_find(w, size, offset - from, start))
		return false;
	for (size_t align = 8; align >= 4; align /= 2) {
		size_t at = ((from + start[TOKENS] + align - 1) & ~(align - 1)) - from;

		if (!index_agrees(w, size, at, start))
			continue;
		ret->table = from + start[0];
		ret->end = from + at + INDEX_BYTES;
		for (int i = 0; i <= TOKENS; i++)
			ret->start[i] = (uint16_t)(start[i] - start[0]);
		memcpy(ret->text, w + start[0], start[TOKENS] - start[0]);
		return true;
	}
	return false;
}

bool kallsyms_tokens_next(const struct linux_ram *r, uint64_t offset, const uint8_t *data,
			  size_t size, size_t *pos, struct kallsyms_tokens *ret)
{
	while (*pos < size) {
		const uint8_t *hit = memmem(data + *pos, size - *pos, digits, sizeof(digits));

		if (!hit)
			break;
		*pos = (size_t)(hit - data) + sizeof(digits);
		if (table_read(r, offset + (uint64_t)(hit - data), ret))
			return true;
	}
	return false;
}
