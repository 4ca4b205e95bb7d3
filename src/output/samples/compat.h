/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where the text of --compat differs from ours: what OSv's trace.py prints, its mistakes included. Differences in what
 * is counted are in the analyses (option `compat` of each).
 */
#ifndef HOSTRACE_COMPAT_H
#define HOSTRACE_COMPAT_H

#include <stddef.h>
#include <stdint.h>
#include <sys/time.h>

/* The length of a thread's name in a tracefile: zeros within it are printed, too. */
size_t compat_name_length(const char *name, size_t size);

/* A packet's time is computed as a double, rounded to microseconds, which may then be a whole second. */
struct timeval compat_packet_time(uint64_t ns);

/* As Python prints bytes: b'..', or b".." if there is a single quote and no double one within. size > 16. */
void compat_bytes_repr(const char *line, char *buf, size_t size);

/*
 * TCP states by name: the last 6 characters before `end` are replaced, whatever the digits; `from` is by the last digit
 * alone. NULL: unknown. Returns the new end.
 */
char *compat_tcp_states(const char *from, const char *to, char *end);

#endif
