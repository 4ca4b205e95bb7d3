/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The years of a log whose dates have none (log_head.h). */
#ifndef HOSTRACE_LOG_YEARS_H
#define HOSTRACE_LOG_YEARS_H

#include "readers/text/log_head.h"

struct log_years {
	bool any;	     /* there is such a date */
	uint64_t first, now; /* the first is assumed */
	uint8_t month;	     /* of the newest line; 0: none yet */
};

/* The lines of a first pass, after which log_years_rewind() goes back to the first line. */
void log_years_learn(struct log_years *y, const struct log_time *t);
void log_years_rewind(struct log_years *y);

/* The time of the next line; ns if its date has a year. */
uint64_t log_years_time(struct log_years *y, const struct log_time *t, uint64_t ns);

#endif
