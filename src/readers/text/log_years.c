// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Syslog prints no year. It is assumed; what counts is how much time there is between two lines: a year that has a
 * February 29 is a leap year, and a date far before that of the line above is of the next year.
 */
#include "readers/text/log_years.h"

enum { MONTHS_BACK = 6, YEAR_ASSUMED = 1970, YEAR_LEAP = 1972 };

static void years_add(struct log_years *y, const struct log_time *t)
{
	y->now += t->month + MONTHS_BACK < y->month;
	y->month = t->month;
}

void log_years_learn(struct log_years *y, const struct log_time *t)
{
	if (!t->no_year)
		return;
	if (!y->any)
		y->first = y->now = YEAR_ASSUMED;
	y->any = true;
	years_add(y, t);
	if (t->month == 2 && t->day == 29 && y->first == YEAR_ASSUMED &&
	    y->now - YEAR_ASSUMED <= YEAR_LEAP - YEAR_ASSUMED)
		y->first = YEAR_LEAP - (y->now - YEAR_ASSUMED);
}

void log_years_rewind(struct log_years *y)
{
	y->now = y->first;
	y->month = 0;
}

uint64_t log_years_time(struct log_years *y, const struct log_time *t, uint64_t ns)
{
	if (!t->no_year || !y->any)
		return ns;
	years_add(y, t);
	return log_time_in_year(t, y->now);
}
