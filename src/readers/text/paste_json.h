/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A line that is an object of JSON, as logs are exported: the member that is the line, and the host. */
#ifndef HOSTRACE_PASTE_JSON_H
#define HOSTRACE_PASTE_JSON_H

#include <stdbool.h>

#include "readers/text/text_line.h"

struct paste_json {
	struct text_slice text; /* "MESSAGE": the line, as it is escaped */
	struct text_slice host; /* of length 0: no member names it */
};

/* The object at s, after blanks and "[" or ","; a newline follows `end`. False: none, or without such a member. */
bool paste_json_parse(const char *s, const char *end, struct paste_json *ret);

#endif
