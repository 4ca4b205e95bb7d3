// SPDX-License-Identifier: GPL-2.0-or-later
/* Streams into memory that end with an error, and not with all memory, if the answer is too large. */
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "output/capture.h"
#include "output/report.h"

enum { CAPTURE_BYTES_MIN = 1 << 14 };

static bool capture_grow(struct capture *c, size_t bytes)
{
	size_t capacity = c->capacity ? c->capacity : CAPTURE_BYTES_MIN;
	char *text;

	while (capacity <= bytes)
		capacity *= 2;
	text = capacity == c->capacity ? c->text : realloc(c->text, capacity);
	if (!text)
		return false;
	c->text = text;
	c->capacity = capacity;
	return true;
}

static ssize_t capture_write(void *arg, const char *text, size_t len)
{
	struct capture *c = arg;

	c->too_large |= c->bytes + len > CAPTURE_BYTES_MAX;
	if (c->too_large || !capture_grow(c, c->bytes + len)) {
		errno = c->too_large ? EFBIG : ENOMEM;
		return 0;
	}
	memcpy(c->text + c->bytes, text, len);
	c->bytes += len;
	c->text[c->bytes] = '\0';
	return (ssize_t)len;
}

int capture_open(struct capture *c, FILE **ret)
{
	c->bytes = 0;
	*ret = fopencookie(c, "w", (cookie_io_functions_t){.write = capture_write});
	return *ret ? 0 : fail(-ENOMEM, "out of memory");
}

static bool capture_close(FILE *f)
{
	bool failed = ferror(f);

	return fclose(f) || failed;
}

int capture_end(struct capture *c, FILE *f)
{
	bool failed = capture_close(f);

	if (c->too_large)
		return fail_hint(fail(-EFBIG, "the answer has more than %d MiB",
				      CAPTURE_BYTES_MAX >> 20),
				 "select less with --since, --where or --limit");
	if (failed)
		return fail(-ENOMEM, "out of memory");
	c->complete = true;
	return 0;
}

void capture_cancel(struct capture *c, FILE *f)
{
	capture_close(f);
	c->bytes = 0;
}

void capture_note(struct capture *c, const char *text)
{
	if (!c->notes)
		c->notes = json_array();
	json_array_append_new(c->notes, json_text(text));
}

void capture_error(struct capture *c, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(c->error, sizeof(c->error), fmt, args);
	va_end(args);
}

void capture_free(struct capture *c)
{
	free(c->text);
	json_decref(c->notes);
}
