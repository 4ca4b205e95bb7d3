// SPDX-License-Identifier: GPL-2.0-or-later
#include "readers/text/source_line.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void source_line_print(struct source_line *l, const char *fmt, ...)
{
	size_t most = sizeof(l->text) - 2 - l->len; /* a newline and NUL may follow */
	va_list args;
	int n;

	va_start(args, fmt);
	n = vsnprintf(l->text + l->len, most + 1, fmt, args);
	va_end(args);
	if (n > 0) /* the end may be cut */
		l->len += (size_t)n < most ? (size_t)n : most;
}

void source_line_text(struct source_line *l, const void *text, size_t len, size_t max)
{
	const uint8_t *p = text;

	for (size_t i = 0; i < len && i < max && p[i]; i++)
		source_line_print(l, "%c", p[i] < ' ' || p[i] == 0x7f ? '?' : p[i]);
}

void source_line_number(struct source_line *l, uint64_t number, bool is_signed, bool hex)
{
	if (is_signed && (int64_t)number < 0)
		source_line_print(l, "%" PRId64, (int64_t)number);
	else if (hex && number > 9)
		source_line_print(l, "0x%" PRIx64, number);
	else
		source_line_print(l, "%" PRIu64, number);
}

void source_line_lost(struct source_line *l, uint32_t cpu, uint64_t count, uint64_t from_ns,
		      uint64_t until_ns)
{
	source_line_print(l, "CPU:%u [LOST ", cpu);
	if (count)
		source_line_print(l, "%" PRIu64 " ", count);
	source_line_print(l, "EVENTS] from %" PRIu64 " until %" PRIu64, from_ns, until_ns);
	l->text[l->len++] = '\n';
}

ssize_t source_line_read(struct source_line *l, char *to, size_t len, bool (*print)(void *arg),
			 void *arg)
{
	size_t done = 0;

	while (done < len) {
		size_t n = l->len - l->read;

		n = n < len - done ? n : len - done;
		memcpy(to + done, l->text + l->read, n);
		done += n;
		l->read += n;
		if (l->read < l->len)
			break;
		l->read = l->len = 0;
		if (!print(arg))
			break;
	}
	return (ssize_t)done;
}
