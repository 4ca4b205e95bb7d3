/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Events that were counted by their texts: "90112 kvm_exit: reason HLT" of sort | uniq -c. */
#ifndef HOSTRACE_TEXT_COUNTED_H
#define HOSTRACE_TEXT_COUNTED_H

#include "readers/text/lines.h"
#include "readers/text/text_line.h"

enum { COUNTED_LINE_MAX = 512 };

struct text_counted {
	uint64_t count;
	struct text_line event; /* in `line` */
	char line[COUNTED_LINE_MAX + 1 + TEXT_LINE_SLACK];
};

/* A line, which needs nothing after `end`; false: it is no such count. */
bool text_counted_parse(const char *s, const char *end, struct text_counted *ret);

#endif
