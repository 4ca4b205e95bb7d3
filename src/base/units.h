/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Durations, times, sizes and numbers as text, in both directions. */
#ifndef HOSTRACE_UNITS_H
#define HOSTRACE_UNITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The whole text must be the number. -EINVAL with the error message set. */
int parse_u64(const char *text, uint64_t *ret); /* decimal, 0x or 0 */
int parse_size(const char *text, uint64_t *ret_bytes); /* 64K, 16M, 1G; powers of 1024 */
int parse_duration(const char *text, uint64_t *ret_ns); /* 3s, 10ms, 1.5h; a bare number is seconds */

/* The same with a sign; a bare number has this unit (in ns). */
int parse_signed_duration(const char *text, double bare_unit_ns, double *ret_ns);

/* "12.000000345": seconds, up to nine decimals, exact. False, and no error message: it is something else. */
bool parse_seconds(const char *text, uint64_t *ret_ns);

/* Each returns buf, which has at least 16 bytes. */
const char *duration_print(uint64_t ns, char *buf, size_t size); /* "12.3us": three digits and the unit */

/* The same, without a NUL, to where at least PUT_DURATION_MAX bytes are. Returns its end. */
enum { PUT_DURATION_MAX = 32 };
char *put_duration(char *p, uint64_t ns);

/* The same of ticks of an unknown rate: "870t", "12.3kt", "1.50Gt". */
const char *ticks_print(uint64_t ticks, char *buf, size_t size);

/* "12.30 us", "1.50 h": two decimals, a space, the unit; below 1 ns the bare number. buf has at least 32 bytes. */
const char *duration_print_wide(double ns, char *buf, size_t size);

/* "12.000000345". buf has at least 32 bytes. */
const char *seconds_print(uint64_t ns, char *buf, size_t size);

#endif
