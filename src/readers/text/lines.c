// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/error.h"
#include "base/progress.h"
#include "readers/text/lines.h"

enum { BUFFER_BYTES = 4 * TEXT_LINE_MAX };

int text_lines_open(struct text_lines *t, const char *path)
{
	*t = (struct text_lines){.fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY)};
	if (t->fd < 0)
		return fail(-errno, "%s: %s", path, strerror(errno));
	t->buffer = t->at = t->end = calloc(1, BUFFER_BYTES + TEXT_LINE_SLACK);
	return t->buffer ? 0 : fail(-ENOMEM, "%s: out of memory", path);
}

void text_lines_close(struct text_lines *t)
{
	if (t->fd >= 0)
		close(t->fd);
	free(t->buffer);
	t->buffer = NULL;
	t->fd = -1;
}

int text_lines_rewind(struct text_lines *t)
{
	t->at = t->end = t->buffer;
	t->number = 0;
	t->ended = false;
	return lseek(t->fd, 0, SEEK_SET) < 0 ? fail(-errno, "seek: %s", strerror(errno)) : 0;
}

/* Moves what is left to the buffer's start and reads on. The file's last line gets its newline. */
static void refill(struct text_lines *t)
{
	size_t left = (size_t)(t->end - t->at);
	ssize_t n;

	memmove(t->buffer, t->at, left);
	t->at = t->buffer;
	t->end = t->buffer + left;
	do {
		n = read(t->fd, t->end, BUFFER_BYTES - left);
	} while (n < 0 && errno == EINTR);
	if (n > 0) {
		progress_read((size_t)n);
		t->end += n;
	} else {
		t->err = n < 0 ? -errno : 0;
		t->ended = true;
		if (t->end > t->at)
			*t->end++ = '\n';
	}
	memset(t->end, 0, TEXT_LINE_SLACK);
}

char *text_line_next(struct text_lines *t, char **ret_end)
{
	char *line, *newline;

	while (!(newline = memchr(t->at, '\n', (size_t)(t->end - t->at)))) {
		if (t->end - t->at >= TEXT_LINE_MAX) {
			newline = t->at + TEXT_LINE_MAX - 1; /* one byte is lost: the line is cut anyway */
			*newline = '\n';
			break;
		}
		if (t->ended)
			return NULL;
		refill(t);
	}
	line = t->at;
	t->at = newline + 1;
	t->number++;
	while (newline > line && newline[-1] == '\r')
		*--newline = '\n';
	*ret_end = newline;
	return line;
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
