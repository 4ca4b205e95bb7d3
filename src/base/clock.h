/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The system's clocks as one number. Header-only: the guest agent uses it too. */
#ifndef HOSTRACE_BASE_CLOCK_H
#define HOSTRACE_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

#define NS_PER_S  UINT64_C(1000000000)
#define NS_PER_MS UINT64_C(1000000)

static inline uint64_t timespec_ns(const struct timespec *ts)
{
	return (uint64_t)ts->tv_sec * NS_PER_S + (uint64_t)ts->tv_nsec;
}

static inline uint64_t clock_read_ns(clockid_t clock)
{
	struct timespec ts = {0};

	clock_gettime(clock, &ts);
	return timespec_ns(&ts);
}

/* CLOCK_MONOTONIC: for time limits and intervals; also the time base of recordings. */
static inline uint64_t monotonic_ns(void)
{
	return clock_read_ns(CLOCK_MONOTONIC);
}

static inline uint64_t monotonic_ms(void)
{
	return monotonic_ns() / NS_PER_MS;
}

#endif
