// SPDX-License-Identifier: GPL-2.0-or-later
/* Fills the buffer from a file or a source, converts UTF-16 and UTF-32, and returns line after line. */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/error.h"
#include "base/open_files.h"
#include "base/progress.h"
#include "readers/text/babeltrace.h"
#include "readers/text/lines.h"
#include "readers/text/paste.h"
#include "readers/text/text_source.h"

enum { BUFFER_BYTES = 4 * TEXT_LINE_MAX, READER_LOOK_BYTES = 4096 };

int text_lines_open(struct text_lines *t, const char *path, struct open_files *files)
{
	uint8_t mark[READER_LOOK_BYTES];
	ssize_t n;

	*t = (struct text_lines){.fd = open_files_get(files, path)};
	if (t->fd < 0)
		return fail(-errno, "%s: %s", path, strerror(errno));
	t->buffer = t->at = t->end = calloc(1, BUFFER_BYTES + TEXT_LINE_SLACK);
	n = pread(t->fd, mark, sizeof(mark), 0);
	t->encoding = n > 0 ? text_encoding_of(mark, (size_t)n) : ENCODING_BYTES;
	t->babeltrace = n > 0 && babeltrace_probe((const char *)mark, (size_t)n);
	return t->buffer ? 0 : fail(-ENOMEM, "%s: out of memory", path);
}

int text_lines_from(struct text_lines *t, struct text_source *source)
{
	*t = (struct text_lines){.fd = -1, .source = source};
	t->buffer = t->at = t->end = calloc(1, BUFFER_BYTES + TEXT_LINE_SLACK);
	return t->buffer ? 0 : fail(-ENOMEM, "out of memory");
}

void text_lines_close(struct text_lines *t)
{
	if (t->source)
		t->source->close(t->source);
	t->source = NULL;
	if (t->fd >= 0)
		close(t->fd);
	free(t->buffer);
	paste_free(t->paste);
	t->paste = NULL;
	t->buffer = NULL;
	t->fd = -1;
}

int text_lines_rewind(struct text_lines *t)
{
	t->at = t->end = t->buffer;
	t->number = 0;
	t->ended = t->unended = t->open_end = t->signature = t->in_signature = false;
	if (t->paste)
		paste_rewind(t->paste);
	if (t->source)
		return t->source->rewind(t->source);
	t->offset = 0;
	return 0;
}

/* Is every byte of its character's width, from the place `first` on, a character of ASCII, and the others 0? */
static bool is_wide_ascii(const uint8_t *head, unsigned int width, unsigned int first)
{
	for (unsigned int i = 0; i < TEXT_MARK_BYTES; i++) {
		bool is_text = isprint(head[i]) || isspace(head[i]);

		if (i % width == first ? !is_text : head[i] != 0)
			return false;
	}
	return true;
}

static bool is_marked(const uint8_t *head, size_t len, const char *mark, size_t size)
{
	return len >= size && !memcmp(head, mark, size);
}

enum text_encoding text_encoding_of(const uint8_t *head, size_t len)
{
	static const struct {
		const char *mark;
		uint8_t width, first; /* of a character; its lowest byte */
		enum text_encoding encoding;
	} known[] = {
		{"\xff\xfe\0\0", 4, 0, ENCODING_UTF32_LE},
		{"\0\0\xfe\xff", 4, 3, ENCODING_UTF32_BE},
		{"\xff\xfe", 2, 0, ENCODING_UTF16_LE},
		{"\xfe\xff", 2, 1, ENCODING_UTF16_BE},
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (is_marked(head, len, known[i].mark, known[i].width) ||
		    (len >= TEXT_MARK_BYTES &&
		     is_wide_ascii(head, known[i].width, known[i].first)))
			return known[i].encoding;
	return ENCODING_BYTES;
}

static size_t encoding_width(enum text_encoding encoding)
{
	return encoding >= ENCODING_UTF32_LE ? 4 : encoding >= ENCODING_UTF16_LE ? 2 : 1;
}

void text_decode(enum text_encoding encoding, uint8_t *bytes, size_t *len)
{
	bool big = encoding == ENCODING_UTF16_BE || encoding == ENCODING_UTF32_BE;
	size_t width = encoding_width(encoding);
	uint8_t *to = bytes;

	if (encoding == ENCODING_BYTES)
		return;
	for (size_t i = 0; i + width <= *len; i += width) {
		uint32_t c = 0;

		for (size_t k = 0; k < width; k++)
			c |= (uint32_t)bytes[i + k] << 8 * (big ? width - 1 - k : k);
		if (c != 0xfeff)
			*to++ = (uint8_t)(c < 0x80 ? c : c == 0xa0 ? ' ' : '?');
	}
	*len = (size_t)(to - bytes);
}

/* Decodes what was read to t->end; a part of a character at its end is read again. */
static size_t wide_read(struct text_lines *t, size_t len)
{
	size_t width = encoding_width(t->encoding), part = len % width;

	if (len >= width)
		t->offset -= part;
	len -= part;
	text_decode(t->encoding, (uint8_t *)t->end, &len);
	return len;
}

static ssize_t bytes_read(struct text_lines *t, size_t len)
{
	ssize_t n;

	if (t->source)
		return t->source->read(t->source, t->end, len);
	do {
		n = pread(t->fd, t->end, len, (off_t)t->offset);
	} while (n < 0 && errno == EINTR);
	t->offset += n > 0 ? (uint64_t)n : 0;
	return n < 0 ? -errno : n;
}

char *text_returns_replace(char *s, char *end)
{
	char *p = s, *after;

	for (; (p = memchr(p, '\r', (size_t)(end - p))); p = after) {
		for (after = p; after < end && *after == '\r';)
			after++;
		if (after == end)
			return p;
		if (*after != '\n' && p > s && p[-1] != '\n')
			memset(p, '\n', (size_t)(after - p));
	}
	return NULL;
}

char *text_copy(const char *text, size_t len)
{
	char *copy = calloc(1, len + 1 + TEXT_LINE_SLACK);

	if (!copy)
		return NULL;
	memcpy(copy, text, len);
	text_returns_replace(copy, copy + len);
	copy[len] = '\n';
	return copy;
}

/* Moves what is left to the buffer's start and reads on. The file's last line gets its newline. */
static void lines_refill(struct text_lines *t)
{
	size_t left = (size_t)(t->end - t->at);
	ssize_t n;

	memmove(t->buffer, t->at, left);
	t->at = t->buffer;
	t->end = t->buffer + left;
	n = bytes_read(t, BUFFER_BYTES - left);
	if (n > 0) {
		size_t len = (size_t)n;

		progress_read(len);
		if (t->encoding)
			len = wide_read(t, len);
		t->end += len;
		text_returns_replace(t->at, t->end);
	} else {
		t->err = n < 0 ? (int)n : 0;
		t->ended = true;
		if (t->end > t->at && t->end[-1] == '\r')
			t->end[-1] = '\n';
		t->unended = t->end > t->at && t->end[-1] != '\n';
		if (t->unended)
			*t->end++ = '\n';
	}
	memset(t->end, 0, TEXT_LINE_SLACK);
}

char *text_line_next(struct text_lines *t, char **ret_end)
{
	return t->paste ? paste_next(t, ret_end) : text_line_plain(t, ret_end);
}

/*
 * Is the line of a mail's signature (RFC 3676, 4.3)? That ends where a reply has more or fewer quote marks. "--" is
 * what grep prints between groups of lines.
 */
static bool is_signature(struct text_lines *t, const char *s, const char *end)
{
	bool is_mark = end - s >= 3 && !memcmp(end - 3, "-- ", 3);
	size_t depth = 0;

	if (!is_mark && !t->in_signature)
		return false;
	for (; s < end && (*s == '>' || (*s == ' ' && s[1] == '>') || (*s == ' ' && depth)); s++)
		depth += *s == '>';
	t->in_signature &= depth == t->quote_depth;
	if (t->in_signature || !is_mark || end - s != 3)
		return t->in_signature;
	t->in_signature = true;
	t->quote_depth = depth;
	return false;
}

char *text_line_plain(struct text_lines *t, char **ret_end)
{
	char *line, *newline;

	t->cut = 0;
	while (!(newline = memchr(t->at, '\n', (size_t)(t->end - t->at)))) {
		if (t->end - t->at >= TEXT_LINE_MAX) {
			newline = t->at + TEXT_LINE_MAX - 1; /* one byte is lost: the line is cut anyway */
			t->cut = *newline ? *newline : ' ';
			*newline = '\n';
			break;
		}
		if (t->ended)
			return NULL;
		lines_refill(t);
	}
	line = t->at;
	t->at = newline + 1;
	t->record = ++t->number;
	while (newline > line && newline[-1] == '\r')
		*--newline = '\n';
	t->signature = is_signature(t, line, newline);
	*ret_end = t->babeltrace ? babeltrace_line(line, newline) : newline;
	return line;
}

void text_line_unread(struct text_lines *t, char *at, char *end)
{
	memset(end, '\r', (size_t)(t->at - 1 - end)); /* that were removed before the newline */
	if (t->cut)
		t->at[-1] = t->cut;
	t->at = at;
	t->number--;
}

bool text_number_is_masked(const char *p, const char *end)
{
	p += *p == '-';
	if (!strncmp(p, "(nil)", 5) || !strncmp(p, "(null)", 6))
		return false;
	if (!text_is_digit(*p))
		return true;
	text_number(&p);
	return p < end && (!text_number_ends(p) || strchr("<[", *p));
}

uint64_t text_hex(const char **p)
{
	const char *s = *p;
	uint64_t value = 0, word;

	for (;;) { /* most values are padded */
		memcpy(&word, s, sizeof(word));
		if (word != 0x3030303030303030ull)
			break;
		s += sizeof(word);
	}
	for (;; s++) {
		unsigned char c = (unsigned char)*s, digit = (unsigned char)(c - '0');

		if (digit > 9) {
			digit = (unsigned char)((c | 0x20) - 'a' + 10);
			if (digit < 10 || digit > 15)
				break;
		}
		value = value << 4 | digit;
	}
	*p = s;
	return value;
}

/*
 * `trace-cmd report` of several files, or of one with several buffers: the lines of all in order of time. It begins
 * with a line "cpus=2" for each. In front of a line is the name of the file or buffer, right-aligned to the longest:
 *
 *    host.dat: cpus=2
 *   guest.dat: cpus=1
 *    host.dat:  qemu-system-x86-145   [001] 22949.020073: kvm_entry: vcpu 0
 *
 * Buffers are of one machine, and the main buffer's lines have blanks in place of a name. Files are traces of their
 * own, with CPUs and threads of their own: one of them is read (tracetext.c). A line without a name belongs to the name
 * above: the event after "CPU:0 [LOST 3 EVENTS]", the functions of a backtrace. Source: print_handle_file() of
 * trace-cmd's trace-read.c.
 */

enum { SEPARATOR = 2 }; /* ": ", or two blanks after an empty name */

static bool is_blank(const char *s, const char *end)
{
	return text_skip_blanks(s) >= end;
}

/* Where the "cpus=2" at the end of a line begins; NULL: it ends otherwise. */
static const char *cpus_find(const char *s, const char *end)
{
	static const char cpus[] = "cpus=";
	const char *at = memmem(s, (size_t)(end - s), cpus, sizeof(cpus) - 1), *p;

	for (p = at ? at + sizeof(cpus) - 1 : s; text_is_digit(*p);)
		p++;
	return at && p == end ? at : NULL;
}

/* "guest.dat: cpus=2": one more part. False: another line. An event's line has ": " twice. */
static bool header_learn(struct text_parts *p, const char *s, const char *end)
{
	const char *at = cpus_find(s, end), *name = text_skip_blanks(s);
	size_t width, len;

	if (!at || at < s + SEPARATOR || p->nr == TEXT_PARTS_MAX)
		return false;
	width = (size_t)(at - s) - SEPARATOR;
	len = name < s + width ? (size_t)(s + width - name) : 0;
	if (memcmp(s + width, len ? ": " : "  ", SEPARATOR) || memmem(name, len, ": ", 2) ||
	    len >= TEXT_PART_NAME_MAX || (p->nr && p->width != width))
		return false;
	p->width = width;
	memcpy(p->name[p->nr], name, len);
	p->name[p->nr++][len] = '\0';
	return true;
}

/* Is this name, right-aligned and with its separator, in front of the line? */
static bool name_matches(const struct text_parts *p, const char *name, const char *s)
{
	size_t len = strlen(name);
	const char *at = s + p->width - len;

	return is_blank(s, at) && !memcmp(at, name, len) &&
	       !memcmp(at + len, len ? ": " : "  ", SEPARATOR);
}

char *text_parts_find(struct text_parts *p, char *s, const char *end)
{
	if (!p->known && !header_learn(p, s, end)) {
		p->known = true;
		p->nr = p->nr > 1 ? p->nr : 0;
	}
	if (!p->nr || (size_t)(end - s) < p->width + SEPARATOR)
		return s;
	for (unsigned int i = 0; i < p->nr; i++)
		if (name_matches(p, p->name[i], s)) {
			p->now = i;
			return s + p->width + SEPARATOR;
		}
	return s;
}
