// SPDX-License-Identifier: GPL-2.0-or-later
/* The last error message and its code, per thread as errno is. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"

struct error {
	char text[1024];
	char line[256]; /* "": none */
	unsigned int column;
	bool is_usage;
	int code;
};

/* As errno, it belongs to the thread. */
static struct error *error_now(void)
{
	static _Thread_local struct error error;

	return &error;
}

static void error_set(int code, bool is_usage, const char *fmt, va_list ap)
{
	struct error *e = error_now(), next = {.is_usage = is_usage, .code = code};

	vsnprintf(next.text, sizeof(next.text), fmt, ap); /* the arguments may point into the old text */
	*e = next;
}

int fail(int err, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	error_set(err, false, fmt, ap);
	va_end(ap);
	return err;
}

int fail_usage(int err, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	error_set(err, true, fmt, ap);
	va_end(ap);
	return err;
}

bool error_is_usage(void)
{
	return error_now()->is_usage;
}

int error_code(void)
{
	return error_now()->code;
}

int fail_hint(int err, const char *fmt, ...)
{
	struct error *e = error_now();
	size_t len = strlen(e->text);
	va_list ap;

	len += (size_t)snprintf(e->text + len, sizeof(e->text) - len, "; ");
	if (len >= sizeof(e->text))
		return err;
	va_start(ap, fmt);
	vsnprintf(e->text + len, sizeof(e->text) - len, fmt, ap);
	va_end(ap);
	return err;
}

int fail_at_column(int err, const char *line, unsigned int column)
{
	struct error *e = error_now();

	snprintf(e->line, sizeof(e->line), "%s", line);
	e->column = column;
	return err;
}

const char *error_line(unsigned int *ret_column)
{
	struct error *e = error_now();

	*ret_column = e->column;
	return *e->line ? e->line : NULL;
}

const char *error_text(void)
{
	return error_now()->text;
}
