// SPDX-License-Identifier: GPL-2.0-or-later
/* Error messages about a file's bytes, with the file's name and the offset. */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/buffer.h"
#include "base/error.h"

int buffer_ok(const struct buffer *b, const char *what)
{
	if (!b->cut)
		return 0;
	return buffer_fail(b, "%s is truncated", what);
}

int buffer_fail(const struct buffer *b, const char *fmt, ...)
{
	char text[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	return fail(-EBADMSG, "%s: offset %" PRIu64 ": %s", b->file, buffer_tell(b), text);
}
