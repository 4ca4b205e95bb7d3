/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOSTRACE_UTF8_H
#define HOSTRACE_UTF8_H

#include <stddef.h>
#include <stdint.h>

/* Number of characters in UTF-8 text: every byte but the continuation bytes (RFC 3629, section 3). */
static inline size_t utf8_length(const char *text, size_t len)
{
	size_t nr = 0;

	for (size_t i = 0; i < len; i++)
		nr += ((uint8_t)text[i] & 0xc0) != 0x80;
	return nr;
}

#endif
