/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The buckets of all histograms of the exporter: the classic ones, which every scraper gets, and the ones of native
 * histograms, which one gets that reads protobuf.
 *
 * Native buckets end at powers of 2^(1/8) seconds: https://prometheus.io/docs/specs/native_histograms/, schema 3. No
 * such bound is a whole number of nanoseconds below 2 ms, so the kernel's buckets, which are at most 0.8 % wide, lie in
 * two of them now and then; they are counted where their middle is. So a value is counted in a bucket whose bounds it
 * exceeds by at most 0.4 %, and in the right one if it was measured to the nanosecond, as those of devices are.
 */
#ifndef HOSTRACE_EXPORTER_BUCKETS_H
#define HOSTRACE_EXPORTER_BUCKETS_H

#include <stdint.h>

/* Upper bounds of buckets: 2^10 ns (1 us) to 2^30 ns (1.07 s); the last bucket has none. */
enum { EXPORT_BOUND_FIRST = 10, EXPORT_BOUND_LAST = 30 };
enum { EXPORT_BUCKETS = EXPORT_BOUND_LAST - EXPORT_BOUND_FIRST + 2 };

/* The bucket of values whose greatest one is below, or equal to, 2^order. */
static inline unsigned int export_bucket_of(unsigned int order)
{
	if (order <= EXPORT_BOUND_FIRST)
		return 0;
	return order > EXPORT_BOUND_LAST ? EXPORT_BUCKETS - 1 : order - EXPORT_BOUND_FIRST;
}

/* Number 0 is the bucket of zero; then those with the indices FIRST (1 ns) to LAST (18 minutes, and all above). */
enum { EXPORT_NATIVE_SCHEMA = 3, EXPORT_NATIVE_FIRST = -239, EXPORT_NATIVE_LAST = 81 };
enum { EXPORT_NATIVES = EXPORT_NATIVE_LAST - EXPORT_NATIVE_FIRST + 2 };

/* The number of the native bucket. */
unsigned int export_native_of(uint64_t ns);

#endif
