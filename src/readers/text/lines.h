/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Text files line by line, fast, and numbers in them. A line is in the buffer of `struct text_lines`, ends with a
 * newline whatever the file has ("\r\n", "\r" alone, or no newline at its end), and at least TEXT_LINE_SLACK bytes
 * after it may be read: parsers need no bounds check as long as they stop at a newline.
 */
#ifndef HOSTRACE_TEXT_LINES_H
#define HOSTRACE_TEXT_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "readers/text/log_head.h"

enum {
	TEXT_LINE_MAX = 1 << 16, /* bytes; what is beyond is another line, which no format recognizes */
	TEXT_LINE_SLACK = 16,
};

struct open_files;
struct paste;
struct text_source; /* text_source.h */

struct text_lines {
	struct text_source *source; /* owned; NULL: fd is read */
	struct paste *paste; /* paste.h; owned; NULL: lines are as they are in the file */
	enum text_encoding {
		ENCODING_BYTES,
		ENCODING_UTF16_LE,
		ENCODING_UTF16_BE,
		ENCODING_UTF32_LE,
		ENCODING_UTF32_BE,
	} encoding;
	bool babeltrace; /* lines are rewritten: babeltrace.h */
	int fd;
	uint64_t offset; /* what is read next of it, whose own position others share */
	char *buffer, *at, *end;
	uint64_t number; /* of the current line, the first is 1 */
	uint64_t record; /* the same, but lines of several records count as several */
	bool ended;
	bool signature;	    /* the current line is below "-- ", in the signature of a mail */
	bool in_log;	    /* the current line has a log's date in front, as the events have; of a paste */
	struct text_log {
		bool has_time, is_coarse; /* without fractions of a second, or from the line before */
		struct log_time time;
		uint32_t tid; /* that printed the line, as the kernel's log has it; 0: unknown */
	} log;		    /* in front of an event without a time of its own; of a paste */
	bool after_drop;    /* a record between this line and the one before was dropped; of a paste */
	bool is_fence;	    /* the current line was "```" or another that encloses a text, and is blank; of a paste */
	bool in_signature;  /* ... or would be one with as many quote marks as it has: */
	size_t quote_depth;
	char cut;      /* the byte at which a line that is too long was cut; 0: it was not */
	bool unended;  /* there is no newline at the end */
	uint64_t open_from; /* lines from this one on may be cut, as one without a newline; 0: none */
	bool open_end; /* the current record may lack its end, and what is missing may change its last value */
	int err; /* -errno of the read that failed */
};

/*
 * Opens the file, which is kept in `files` (base/open_files.h) unless that is NULL. 0 or -errno with the error message
 * set; text_lines_close() in any case.
 */
int text_lines_open(struct text_lines *t, const char *path, struct open_files *files);

/* The same for what a source makes; it is open. */
int text_lines_from(struct text_lines *t, struct text_source *source);
void text_lines_close(struct text_lines *t);

/* Again from the beginning. */
int text_lines_rewind(struct text_lines *t);

/*
 * UTF-16, of Windows, and UTF-32 to bytes: NBSP becomes a blank, and other characters beyond ASCII '?'. The head
 * decides by its byte order mark or, of iconv -t UTF-16LE, by zeros between characters of ASCII; *len is in bytes,
 * before and after.
 */
enum { TEXT_MARK_BYTES = 16 };
enum text_encoding text_encoding_of(const uint8_t *head, size_t len);
void text_decode(enum text_encoding encoding, uint8_t *bytes, size_t *len);

/*
 * A carriage return alone ends a line, too, unless it begins one (LF CR). In place, of whole lines but for the last;
 * returns the carriage returns at the end, of which only what follows shows what they are; NULL: there are none.
 */
char *text_returns_replace(char *s, char *end);

/* A copy, each of whose lines ends with a newline, with TEXT_LINE_SLACK zeros after them; NULL: out of memory. */
char *text_copy(const char *text, size_t len);

/* The next line as it is in the file; for paste.c. */
char *text_line_plain(struct text_lines *t, char **ret_end);

/*
 * The line that text_line_plain() returned last goes on at `at`: this is the next line. `end` is its newline. Of a line
 * that is too long, more than before may be returned.
 */
void text_line_unread(struct text_lines *t, char *at, char *end);

/* The next line and the newline that ends it, valid until the next call; NULL at the end or on an error (t->err). */
char *text_line_next(struct text_lines *t, char **ret_end);

/*
 * Skips what a paste may have put before a line: blanks, and the '>' of quoted mail.
 */
static inline const char *text_skip_quote(const char *s)
{
	while (*s == ' ' || *s == '\t' || *s == '>')
		s++;
	return s;
}

/* Eight bytes at a time: columns are padded. */
static inline const char *text_skip_blanks(const char *s)
{
	uint64_t word;

	if (*s != ' ')
		return s;
	for (;; s += sizeof(word)) {
		memcpy(&word, s, sizeof(word));
		word ^= 0x2020202020202020ull;
		if (word)
			return s + __builtin_ctzll(word) / 8;
	}
}

static inline bool text_is_digit(char c)
{
	return (unsigned char)(c - '0') < 10;
}

/* Without the blanks before `end`. */
static inline const char *text_trim_end(const char *s, const char *end)
{
	while (end > s && (end[-1] == ' ' || end[-1] == '\t'))
		end--;
	return end;
}

static inline struct text_slice text_slice_of(const char *s, const char *end)
{
	return (struct text_slice){.at = s, .len = (uint32_t)(end - s)};
}

/* The digits that end at `end`: where they begin. */
static inline const char *text_digits_before(const char *s, const char *end)
{
	while (end > s && text_is_digit(end[-1]))
		end--;
	return end;
}

/*
 * The decimal digits at p, at most 8: their number and their value. Eight bytes are examined at once: a byte is a
 * digit if it is 0x30 plus at most 9.
 */
static inline unsigned int text_digits8(const char *p, uint64_t *ret)
{
	uint64_t word, other;
	unsigned int nr = 8;

	memcpy(&word, p, sizeof(word));
	word ^= 0x3030303030303030ull;
	other = ((word + 0x0606060606060606ull) | word) & 0xf0f0f0f0f0f0f0f0ull;
	if (other)
		nr = (unsigned int)__builtin_ctzll(other) / 8;
	if (!nr)
		return 0;
	word <<= 64 - 8 * nr; /* missing digits are leading zeros */
	word = (word * 10 + (word >> 8)) & 0x00ff00ff00ff00ffull;
	word = (word * 100 + (word >> 16)) & 0x0000ffff0000ffffull;
	*ret = (word * 10000 + (word >> 32)) & 0xffffffffull;
	return nr;
}

/* A decimal number; p is set to its end, and stays if there is none. Values beyond 64 bits wrap. */
static inline uint64_t text_decimal(const char **p)
{
	static const uint32_t power[] = {1,      10,      100,      1000,     10000,
					 100000, 1000000, 10000000, 100000000};
	uint64_t value = 0, part;
	unsigned int nr;

	do {
		nr = text_digits8(*p, &part);
		if (nr)
			value = value * power[nr] + part;
		*p += nr;
	} while (nr == 8);
	return value;
}

/* Hexadecimal digits without "0x". */
uint64_t text_hex(const char **p);

/* "0x1f", "31" or "-31". */
static inline uint64_t text_number(const char **p)
{
	bool minus = **p == '-';
	uint64_t value;

	if ((*p)[0] == '0' && ((*p)[1] == 'x' || (*p)[1] == 'X')) {
		*p += 2;
		return text_hex(p);
	}
	*p += minus;
	value = text_decimal(p);
	return minus ? -value : value;
}

/*
 * Is the value that begins here no number, but what a person has put in its place, as of "0x55XXXX", "<redacted>",
 * "xx", "***"? NULL as printf() has it is a number.
 */
bool text_number_is_masked(const char *p, const char *end);

/* May a number end here? Not if letters, digits or signs follow that no tool prints after one. */
static inline bool text_number_ends(const char *p)
{
	static const char signs[] = "_#&%$@~^*+!?.\\";
	unsigned char c = (unsigned char)*p;

	if ((c | 0x20) >= 'a' && (c | 0x20) <= 'z')
		return !memcmp(p, "reason ", 7); /* trace-cmd's plugin: "rip fff0reason HLT" */
	return !text_is_digit(*p) && c < 0x80 && (!c || !strchr(signs, *p));
}

enum { TEXT_PARTS_MAX = 8, TEXT_PART_NAME_MAX = 128 };

struct text_parts {
	char name[TEXT_PARTS_MAX][TEXT_PART_NAME_MAX];
	unsigned int nr;  /* 0: the lines have no names */
	unsigned int now; /* of the current line */
	size_t width;	  /* of the name's column */
	bool known;	  /* the lines "cpus=" are over */
};

/* Are the parts traces of their own? */
static inline bool text_parts_are_files(const struct text_parts *p)
{
	return p->nr > 1 && *p->name[0];
}

char *text_parts_find(struct text_parts *p, char *s, const char *end);

/*
 * Where the line from s to its newline at end begins after the name, and p->now. To be called for each line, from the
 * first one on, with a struct that was zeroed before.
 */
static inline char *text_parts_skip(struct text_parts *p, char *s, const char *end)
{
	return p->known && !p->nr ? s : text_parts_find(p, s, end);
}

#endif
