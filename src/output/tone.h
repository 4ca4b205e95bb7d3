/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Colours of verdicts on a terminal: what is good, what limits a report, what is wrong. */
#ifndef HOSTRACE_TONE_H
#define HOSTRACE_TONE_H

enum tone { TONE_NONE, TONE_GOOD, TONE_WARNING, TONE_BAD };

/* The escape sequence that begins the tone (green, yellow, red), and the one that ends it; "" for TONE_NONE. */
static inline const char *tone_begin(enum tone tone)
{
	static const char *const begin[] = {"", "\033[32m", "\033[33m", "\033[31m"};

	return begin[tone];
}

static inline const char *tone_end(enum tone tone)
{
	return tone == TONE_NONE ? "" : "\033[0m";
}

#endif
