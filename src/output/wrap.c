// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A stream that breaks long lines between words, so that reports need not count columns. A line that fits passes
 * unchanged. The rest of a longer one follows indented, under the line's second column if it has one near its start; of
 * a note ("# ...") as a note. A word is never broken: a path that is longer than a line stays whole.
 */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "base/progress.h"
#include "output/output.h"

enum {
	LINE_MAX_BYTES = 1 << 20, /* a longer line is not broken */
	INDENT = 4,
	COLUMN_AT_MOST = 32, /* the rest of a line is not indented further */
};

struct wrap {
	FILE *to;
	const struct wrap_options *options;
	char *line; /* not ended yet */
	size_t len, size;
};

/* Length of the escape sequence here, or 0. */
static size_t escape_length(const char *text, size_t len)
{
	size_t n = 2;

	if (len < 3 || text[0] != '\033' || text[1] != '[')
		return 0;
	while (n < len && !isalpha((unsigned char)text[n]))
		n++;
	return n < len ? n + 1 : 0;
}

/* Bytes of the next character or escape sequence, and its columns. */
static size_t step(const char *text, size_t len, int *columns)
{
	size_t n;

	if (*text != '\033' && (len == 1 || ((unsigned char)text[1] & 0xc0) != 0x80)) {
		++*columns;
		return 1;
	}
	n = escape_length(text, len);
	if (n)
		return n;
	n = 1;
	while (n < len && ((unsigned char)text[n] & 0xc0) == 0x80)
		n++;
	++*columns;
	return n;
}

static bool is_of_name(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '.' || c == '-' || c == ':';
}

/* Does "name=" begin here? */
static bool is_field(const char *text, size_t len)
{
	size_t n = 0;

	while (n < len && is_of_name(text[n]))
		n++;
	return n && n < len && text[n] == '=';
}

/* Where the second column of a line such as "kernel    6.1" begins; 0: it has none near its start. */
static int second_column(const char *line, size_t len, size_t start)
{
	for (size_t i = start; i + 2 < len && i < COLUMN_AT_MOST; i++)
		if (line[i] == ' ' && line[i + 1] == ' ') {
			while (i < len && line[i] == ' ')
				i++;
			return i <= COLUMN_AT_MOST ? (int)i : 0;
		}
	return 0;
}

static int indent_of(const struct wrap *w, const char *line, size_t len)
{
	size_t blanks = 0;
	int column;

	if (w->options->fields)
		return w->options->fields;
	while (blanks < len && line[blanks] == ' ')
		blanks++;
	column = second_column(line, len, blanks);
	return column ? column : (int)blanks + INDENT;
}

/* The last blank before which the text fits, if possible one before a field; else the first one; len: none. */
static size_t break_find(const struct wrap *w, const char *text, size_t len, int width)
{
	size_t last = 0, last_blank = 0;
	int columns = 0;
	bool begun = false;

	if (width > 0 && len <= (size_t)width) /* an indent may be wider than the line */
		return len;
	for (size_t i = 0; i < len;) {
		bool blank = text[i] == ' ' && begun;
		bool field = blank && (!w->options->fields || is_field(text + i + 1, len - i - 1));

		if (columns > width && (last || last_blank))
			return last ? last : last_blank;
		if (field && columns > width)
			return i;
		if (field)
			last = i;
		if (blank)
			last_blank = i;
		begun |= text[i] != ' ';
		i += step(text + i, len - i, &columns);
	}
	return columns <= width ? len : last ? last : last_blank ? last_blank : len;
}

/* `line` without its newline; it is broken at `at` first. */
static void line_break(struct wrap *w, const char *line, size_t len, size_t at)
{
	bool note = len && line[0] == '#';
	int indent = note ? INDENT : indent_of(w, line, len);

	for (;;) {
		fwrite(line, 1, at, w->to);
		while (at < len && line[at] == ' ')
			at++;
		fputc('\n', w->to);
		line += at;
		len -= at;
		if (!len)
			return;
		fprintf(w->to, "%-*s", indent, note ? "#" : "");
		at = break_find(w, line, len, w->options->width - indent);
	}
}

static void line_put(struct wrap *w, const char *line, size_t len)
{
	size_t text = len && line[len - 1] == '\n' ? len - 1 : len, at = text;

	if (len <= LINE_MAX_BYTES)
		at = break_find(w, line, text, w->options->width);
	if (at == text)
		fwrite_unlocked(line, 1, len, w->to);
	else
		line_break(w, line, text, at);
}

static bool line_keep(struct wrap *w, const char *text, size_t len)
{
	if (array_reserve(w->line, w->len + len, w->size))
		return false;
	memcpy(w->line + w->len, text, len);
	w->len += len;
	return true;
}

static ssize_t wrap_write(void *cookie, const char *text, size_t size)
{
	struct wrap *w = cookie;

	if (w->options->ends_progress)
		progress_end();
	for (size_t at = 0; at < size;) {
		const char *end = memchr(text + at, '\n', size - at);
		size_t len = end ? (size_t)(end + 1 - (text + at)) : size - at;

		if (end && !w->len) {
			line_put(w, text + at, len);
		} else if (!line_keep(w, text + at, len)) {
			return 0;
		} else if (end) {
			line_put(w, w->line, w->len);
			w->len = 0;
		}
		at += len;
	}
	return ferror(w->to) ? 0 : (ssize_t)size;
}

static int wrap_close(void *cookie)
{
	struct wrap *w = cookie;

	if (w->len)
		line_put(w, w->line, w->len);
	free(w->line);
	free(w);
	return 0;
}

static FILE *wrap_open(FILE *to, const struct wrap_options *options)
{
	static const cookie_io_functions_t functions = {.write = wrap_write, .close = wrap_close};
	struct wrap *w = calloc(1, sizeof(*w));
	FILE *f;

	if (!w)
		return NULL;
	w->to = to;
	w->options = options;
	f = fopencookie(w, "w", functions);
	if (!f)
		free(w);
	return f;
}

/* ---- of an output ---- */

int wrap_begin(struct output *out)
{
	FILE *f;

	out->wrap = calloc(1, sizeof(*out->wrap));
	if (out->wrap)
		out->wrap->width = out->width;
	f = out->wrap ? wrap_open(out->file, out->wrap) : NULL;
	if (!f) {
		free(out->wrap);
		out->wrap = NULL;
		return fail(-ENOMEM, "out of memory");
	}
	out->wrapped = out->file;
	out->file = f;
	return 0;
}

bool wrap_end(struct output *out)
{
	bool good = true;

	if (!out->wrapped)
		return true;
	good = !ferror(out->file);
	good &= !fclose(out->file);
	out->file = out->wrapped;
	out->wrapped = NULL;
	free(out->wrap);
	out->wrap = NULL;
	return good;
}

void output_unwrap(struct output *out)
{
	if (out->wrap && out->wrap->ends_progress)
		progress_end();
	wrap_end(out);
}

void output_flush(struct output *out)
{
	fflush(out->file);
	if (out->wrapped)
		fflush(out->wrapped);
}

void output_fields(struct output *out, int indent)
{
	if (!out->wrapped)
		return;
	fflush(out->file);
	out->wrap->fields = indent;
}
