// SPDX-License-Identifier: GPL-2.0-or-later
/* Where --compat prints what trace.py prints, and not what is right. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "output/samples/compat.h"

size_t compat_name_length(const char *name, size_t size)
{
	while (size && !name[size - 1])
		size--;
	return size;
}

struct timeval compat_packet_time(uint64_t ns)
{
	char text[32];
	double seconds = (double)ns / 1e9;

	snprintf(text, sizeof(text), "%.6f", fmod(seconds, 1));
	return (struct timeval){(time_t)seconds, (suseconds_t)(strtod(text, NULL) * 1e6)};
}

void compat_bytes_repr(const char *line, char *buf, size_t size)
{
	char quote = strchr(line, '\'') && !strchr(line, '"') ? '"' : '\'';
	char *p = buf, *end = buf + size - 6;

	p += sprintf(p, "b%c", quote);
	for (; *line && p < end; line++) {
		if (*line == quote || *line == '\\')
			p += sprintf(p, "\\%c", *line);
		else if (*line == '\t')
			p += sprintf(p, "\\t");
		else if (*line < ' ' || *line > '~')
			p += sprintf(p, "\\x%02x", (uint8_t)*line);
		else
			*p++ = *line;
	}
	*p++ = quote;
	*p = '\0';
}

char *compat_tcp_states(const char *from, const char *to, char *end)
{
	return from && to ? end - 6 + sprintf(end - 6, "%s -> %s", from, to) : end;
}
