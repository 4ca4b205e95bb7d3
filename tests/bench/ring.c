// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What one record of the guest ring costs the guest: ns per record in a tight loop, rdtsc included, beside rdtsc
 * alone and an empty loop, the machine's own limits. The best of several rounds: the others had the scheduler in
 * them. `make bench-ring` builds it twice, with and without -DRING_LOCAL (no lock prefix), and runs both.
 *
 *   bench-ring [--check NS]      exit 1 if a record of two arguments costs more than NS
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "guestside/ring/ring.h"

enum { ROUNDS = 25, PER_ROUND = 400000, SLOTS = 4096 };

static struct ring ring;
static uint64_t sink;

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

#define MEASURE(statement)                                                                         \
	({                                                                                         \
		double best = 1e9;                                                                 \
		for (int round = 0; round < ROUNDS; round++) {                                     \
			uint64_t t0 = now_ns();                                                    \
			for (uint64_t i = 0; i < PER_ROUND; i++) {                                 \
				statement;                                                         \
				__asm__ volatile("" : : : "memory");                               \
			}                                                                          \
			double ns = (double)(now_ns() - t0) / PER_ROUND;                           \
			best = ns < best ? ns : best;                                              \
		}                                                                                  \
		best;                                                                              \
	})

static __attribute__((noinline, optimize("no-omit-frame-pointer"))) double measure_backtrace(void)
{
	uint64_t frames[8], args[2] = {1, 2};
	const void *end = (char *)__builtin_frame_address(0) + 256;

	return MEASURE(
		ring_write_long(&ring, 0, 1, 0, args, 2, frames, ring_backtrace(frames, 8, end)));
}

static double line(const char *what, double ns)
{
#ifdef RING_LOCAL
	printf("ring  local   %-38s %6.1f ns\n", what, ns);
#else
	printf("ring  locked  %-38s %6.1f ns\n", what, ns);
#endif
	return ns;
}

int main(int argc, char **argv)
{
	double limit = argc == 3 && !strcmp(argv[1], "--check") ? atof(argv[2]) : 0, two;
	size_t bytes = ring_bytes(1, SLOTS, 4);
	void *mem;

	if (posix_memalign(&mem, RING_ALIGN, bytes) ||
	    ring_init(&ring, mem, bytes, 1, 4, RING_OVERWRITE, "bench"))
		return 1;
	line("empty loop", MEASURE(sink += i));
	line("rdtsc alone", MEASURE(sink += RING_CLOCK()));
	line("record without arguments", MEASURE(ring_trace(&ring, 0, 1, 0)));
	two = line("record of 2 arguments", MEASURE(ring_trace(&ring, 0, 1, 0, i, sink)));
	line("record of 5 arguments", MEASURE(ring_trace(&ring, 0, 1, 0, i, i, i, i, sink)));
	line("record of 12 arguments (2 slots)",
	     MEASURE(ring_trace(&ring, 0, 1, 0, i, i, i, i, i, i, i, i, i, i, i, sink)));
	line("record of 2 arguments, with backtrace", measure_backtrace());
	if (ring.cpus[0].drops)
		printf("ring  %llu records were dropped\n", (unsigned long long)ring.cpus[0].drops);
	free(mem);
	if (limit && two > limit) {
		printf("ring  a record costs more than %g ns\n", limit);
		return 1;
	}
	return 0;
}
