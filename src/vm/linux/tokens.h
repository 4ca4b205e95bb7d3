/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The token table of a Linux kernel's kallsyms (scripts/kallsyms.c), by which all of its symbol tables are found.
 *
 * Names are compressed: each byte of a compressed name stands for one of 256 tokens. kallsyms_token_table has the
 * tokens as C strings, kallsyms_token_index, directly after it, the u16 offset of each. Digits always are tokens of
 * their own, 48 to 57, so the bytes "0\0" "1\0" ... "9\0" are in each table; what makes a hit certain is that all 256
 * offsets of the index are those of the strings.
 */
#ifndef HOSTRACE_LINUX_TOKENS_H
#define HOSTRACE_LINUX_TOKENS_H

#include "vm/linux/ram.h"

enum {
	TOKENS = 256,
	TOKENS_BYTES_MAX = 12 << 10, /* of the strings; 1 KiB is usual */
};

struct kallsyms_tokens {
	uint64_t table; /* offset of the strings */
	uint64_t end;	/* offset of the index's end */
	uint16_t start[TOKENS + 1];
	char text[TOKENS_BYTES_MAX];
};

/*
 * The next table whose digits are in data, which was read at this offset, from *pos on; *pos is then at their end.
 * False: there is none.
 */
bool kallsyms_tokens_next(const struct linux_ram *r, uint64_t offset, const uint8_t *data,
			  size_t size, size_t *pos, struct kallsyms_tokens *ret);

#endif
