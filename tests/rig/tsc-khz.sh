#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Prints the frequency of this machine's TSC in kHz, which is that of a machine emulated by TCG; nothing if it is unknown.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cat >"$work/tsc.c" <<'END'
#include <stdint.h>
#include <stdio.h>
#include <time.h>
#include <x86intrin.h>

/* The TSC at the time that it returns: of many attempts the one that was interrupted least. */
static int64_t now_ns(uint64_t *tsc)
{
	uint64_t shortest = UINT64_MAX;
	struct timespec t, best = {0};

	for (int i = 0; i < 1000; i++) {
		uint64_t before = __rdtsc(), after;

		clock_gettime(CLOCK_MONOTONIC, &t);
		after = __rdtsc();
		if (after - before < shortest) {
			shortest = after - before;
			*tsc = before + shortest / 2;
			best = t;
		}
	}
	return (int64_t)best.tv_sec * 1000000000 + best.tv_nsec;
}

int main(void)
{
	struct timespec delay = {.tv_nsec = 200000000};
	uint64_t tsc[2];
	int64_t ns = now_ns(&tsc[0]);

	nanosleep(&delay, NULL);
	ns = now_ns(&tsc[1]) - ns;
	printf("%.0f\n", (double)(tsc[1] - tsc[0]) * 1e6 / (double)ns);
	return 0;
}
END
${CC:-cc} -O -o "$work/tsc" "$work/tsc.c" 2>/dev/null && "$work/tsc"
