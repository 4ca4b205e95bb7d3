/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Dates in words, as programs print them in the language of the user. */
#ifndef HOSTRACE_DATE_WORDS_H
#define HOSTRACE_DATE_WORDS_H

#include <stdbool.h>
#include <stdint.h>

struct date_words {
	const char *clock;	   /* where the time of day begins */
	const char *clock_end;	   /* behind its fraction */
	uint32_t year, month, day; /* 0: not given, or the month is not known */
	bool pm, has_half;	   /* the clock has 12 hours */
	bool has_seconds;
};

/*
 * "Mar 12 10:11:12", "Do 12. Mär 2026 10:11:12", "3月 12 10:11:12", "12.03.2026, 10:11 PM" at s: the end, behind a year
 * that follows. NULL: there is none. A clock without a date is one in 12 hours, "10:12 AM".
 */
const char *date_words_parse(const char *s, struct date_words *ret);

/* " CET", " UTC", " +0100", "+01" at s, with one blank before it or more: its end; NULL: there is none. */
const char *date_zone_skip(const char *s);

/* Is it the name of a time zone that is in wide use, and no other word in capitals? */
bool date_zone_is_known(const char *s, const char *end);

#endif
