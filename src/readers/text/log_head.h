/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What logs put before a line: a date, the host and the program, the thread. */
#ifndef HOSTRACE_LOG_HEAD_H
#define HOSTRACE_LOG_HEAD_H

#include <stdbool.h>
#include <stdint.h>

#include "readers/text/text_line.h"

struct log_time {
	uint64_t ns;	  /* since 1970 in UTC, or of a monotonic clock */
	uint8_t decimals; /* of the seconds */
	bool monotonic;
	bool no_year; /* 1970 is assumed */
	uint8_t month, day; /* if there is no year */
	bool of_day;  /* since midnight */
};

/* The time of a date without a year, in this one. */
uint64_t log_time_in_year(const struct log_time *t, uint64_t year);

struct log_head {
	bool has_time;
	struct log_time time;
	uint32_t tid;		  /* 0: unknown */
	struct text_slice source; /* "host qemu-kvm[4217]"; empty: none */
};

/* "2026-03-01T10:20:33.100001Z" and its kin at s: the end, NULL: none. A time zone that is not given is UTC. */
const char *log_date_parse(const char *s, struct log_time *ret);

/* The whole head at s, up to its last blank; s if there is none. The line ends with a newline at `end`. */
const char *log_head_parse(const char *s, const char *end, struct log_head *ret);

#endif
