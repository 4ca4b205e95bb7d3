// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"

static _Thread_local char sentence[1024];
static _Thread_local bool usage;

static void sentence_set(bool is_usage, const char *fmt, va_list ap)
{
	char text[sizeof(sentence)]; /* the arguments may point into the old sentence */

	vsnprintf(text, sizeof(text), fmt, ap);
	memcpy(sentence, text, sizeof(sentence));
	usage = is_usage;
}

int fail(int err, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	sentence_set(false, fmt, ap);
	va_end(ap);
	return err;
}

int fail_usage(int err, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	sentence_set(true, fmt, ap);
	va_end(ap);
	return err;
}

bool error_is_usage(void)
{
	return usage;
}

int fail_hint(int err, const char *fmt, ...)
{
	va_list ap;
	size_t len = strlen(sentence);

	len += (size_t)snprintf(sentence + len, sizeof(sentence) - len, "; ");
	if (len >= sizeof(sentence))
		return err;
	va_start(ap, fmt);
	vsnprintf(sentence + len, sizeof(sentence) - len, fmt, ap);
	va_end(ap);
	return err;
}

const char *error_text(void)
{
	return sentence;
}
