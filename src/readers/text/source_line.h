/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The line that a text_source makes, until it is read. */
#ifndef HOSTRACE_SOURCE_LINE_H
#define HOSTRACE_SOURCE_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum {
	SOURCE_LINE_MAX = 32768,  /* of an event, without its newline; < TEXT_LINE_MAX */
	SOURCE_LINE_LOSSES = 512, /* for the lines of losses before and after it */
};

struct source_line {
	char text[SOURCE_LINE_MAX + 1 + SOURCE_LINE_LOSSES];
	size_t len, read;
};

/* Appends; what is too long is cut. */
void source_line_print(struct source_line *l, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* The same of one word, which takes less time. */
void source_line_word(struct source_line *l, const char *word);

/* " [003] 46931.123456789: " */
void source_line_place(struct source_line *l, uint32_t cpu, uint64_t time_ns);

/* Up to its NUL, at most `max` bytes; what would end the line or change its columns becomes '?'. */
void source_line_text(struct source_line *l, const void *text, size_t len, size_t max);

/* Numbers of events that are ours have 0x: parsers of some words take decimal digits for hexadecimal ones. */
void source_line_number(struct source_line *l, uint64_t number, bool is_signed, bool hex);

/* The newline of an event. */
void source_line_end(struct source_line *l);

/* The line of events that a CPU lost, see text_source.h; count 0: it is unknown how many. */
void source_line_lost(struct source_line *l, uint32_t cpu, uint64_t count, uint64_t from_ns,
		      uint64_t until_ns);

/* For text_source's read(): what was printed, then what `print` prints until it returns false. */
ssize_t source_line_read(struct source_line *l, char *to, size_t len, bool (*print)(void *arg),
			 void *arg);

#endif
