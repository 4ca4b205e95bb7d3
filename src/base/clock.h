/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The system's clocks as one number. The guest agent uses it too. */
#ifndef HOSTRACE_BASE_CLOCK_H
#define HOSTRACE_BASE_CLOCK_H

#include <stdint.h>
#include <sys/types.h>
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

/*
 * The host's CLOCK_MONOTONIC, in whichever time namespace this process is: for time limits and intervals; also the time
 * base of recordings, since BPF programs have no other clock.
 */
uint64_t monotonic_ns(void);

static inline uint64_t monotonic_ms(void)
{
	return monotonic_ns() / NS_PER_MS;
}

/*
 * How far CLOCK_MONOTONIC of a process (0: of this one) is ahead of the host's. 0; -errno: unknown: -ESTALE: the
 * process and its children are in two time namespaces; -ENODATA: the offsets cannot be read.
 */
int clock_offset(pid_t pid, int64_t *ret_ns);

/* That of this process, read once. monotonic_ns() is the host's clock only if err is 0. */
struct clock_own {
	int64_t offset_ns;
	int err;
};

const struct clock_own *clock_own(void);

#endif
