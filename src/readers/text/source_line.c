// SPDX-License-Identifier: GPL-2.0-or-later
/* Appends words, texts and numbers to a line up to its bound, with control characters replaced. */
#include "readers/text/source_line.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/digits.h"

/* Of an event's line, besides its newline; what remains is for the lines of losses before and after it. */
static size_t source_left(const struct source_line *l)
{
	return l->len < SOURCE_LINE_MAX ? SOURCE_LINE_MAX - l->len : 0;
}

void source_line_print(struct source_line *l, const char *fmt, ...)
{
	size_t most = source_left(l);
	va_list args;
	int n;

	va_start(args, fmt);
	n = vsnprintf(l->text + l->len, most + 1, fmt, args);
	va_end(args);
	if (n > 0) /* the end may be cut */
		l->len += (size_t)n < most ? (size_t)n : most;
}

static void bytes_put(struct source_line *l, const char *from, size_t len)
{
	len = len < source_left(l) ? len : source_left(l);
	memcpy(l->text + l->len, from, len);
	l->len += len;
}

void source_line_word(struct source_line *l, const char *word)
{
	bytes_put(l, word, strlen(word));
}

void source_line_text(struct source_line *l, const void *text, size_t len, size_t max)
{
	const uint8_t *p = text;

	len = len < max ? len : max;
	len = len < source_left(l) ? len : source_left(l);
	for (size_t i = 0; i < len && p[i]; i++)
		l->text[l->len++] = p[i] < ' ' || p[i] == 0x7f ? '?' : (char)p[i];
}

void source_line_number(struct source_line *l, uint64_t number, bool is_signed, bool hex)
{
	char digits[DIGITS_MAX + 2], *end = digits;

	if (is_signed && (int64_t)number < 0) {
		*end++ = '-';
		end = put_dec(end, -number);
	} else if (hex && number > 9) {
		*end++ = '0';
		*end++ = 'x';
		end = put_hex(end, number);
	} else {
		end = put_dec(end, number);
	}
	bytes_put(l, digits, (size_t)(end - digits));
}

void source_line_place(struct source_line *l, uint32_t cpu, uint64_t time_ns)
{
	char text[64], *end = put_text(text, cpu < 10 ? " [00" : cpu < 100 ? " [0" : " [");

	end = put_dec(end, cpu);
	end = put_text(end, "] ");
	end = put_timestamp(end, time_ns, 0);
	end = put_text(end, ": ");
	bytes_put(l, text, (size_t)(end - text));
}

void source_line_end(struct source_line *l)
{
	l->text[l->len++] = '\n';
}

void source_line_lost(struct source_line *l, uint32_t cpu, uint64_t count, uint64_t from_ns,
		      uint64_t until_ns)
{
	char number[24] = "";
	size_t most = sizeof(l->text) - l->len;
	int n;

	if (count)
		snprintf(number, sizeof(number), "%" PRIu64 " ", count);
	n = snprintf(l->text + l->len, most,
		     "CPU:%u [LOST %sEVENTS] from %" PRIu64 " until %" PRIu64 "\n", cpu, number,
		     from_ns, until_ns);
	if (n > 0 && (size_t)n < most)
		l->len += (size_t)n;
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
