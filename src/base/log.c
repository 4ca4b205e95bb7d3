// SPDX-License-Identifier: GPL-2.0-or-later
/* Whether HOSTRACE_DEBUG names a domain, and the lines that are printed for it. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"

bool debug_on(const char *domain)
{
	const char *list = getenv("HOSTRACE_DEBUG");
	size_t len = strlen(domain);

	if (!list)
		return false;
	for (const char *p = list; *p; p += strcspn(p, ","), p += *p == ',') {
		size_t n = strcspn(p, ",");

		if ((n == len && !strncmp(p, domain, n)) || (n == 3 && !strncmp(p, "all", 3)))
			return true;
	}
	return false;
}

void debug_line(const char *domain, const char *fmt, ...)
{
	va_list ap;

	fprintf(stderr, "debug: %s: ", domain);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
}
