// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * osvgen N [SEED] > tracefile: an OSv tracefile (version 3) of N samples with backtraces of about
 * eight frames: threads that wait, wake each other, lock, allocate and do file I/O on four CPUs.
 * The same arguments give the same bytes.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CPUS = 4, THREADS = 24, PATHS = 400, DEPTH_MAX = 10 };

static const struct tracepoint {
	const char *name, *signature, *format;
} tracepoints[] = {
	{"sched_wait", "", ""},
	{"sched_wait_ret", "", ""},
	{"sched_wake", "P", "wake %p"},
	{"sched_switch", "PPd", "to %p vold=%p vnew=%g"},
	{"sched_load", "Q", "load=%d"},
	{"mutex_lock_wait", "P", "%p"},
	{"mutex_lock_wake", "P", "%p"},
	{"memory_malloc_mempool", "PQQQ", "buf=%p, req_len=%d alloc_len=%d align=%d"},
	{"vfs_pwritev", "iPqq", "%d %p 0x%x 0x%x"},
	{"vfs_pwritev_ret", "Q", "0x%x"},
};
enum { NR_TRACEPOINTS = sizeof(tracepoints) / sizeof(tracepoints[0]) };

static uint64_t state;

static uint64_t rnd(uint64_t below)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state % below;
}

static void put(uint64_t v, size_t len)
{
	fwrite(&v, 1, len, stdout);
}

static void put_string(const char *s)
{
	put(strlen(s), 2);
	fwrite(s, 1, strlen(s), stdout);
}

static void put_args(const char *signature, uint64_t thread)
{
	size_t at = 0;

	for (const char *s = signature; *s; s++) {
		size_t size = *s == 'i' ? 4 : 8;
		double d = (double)rnd(1000) / 7;
		uint64_t v = *s == 'P' ? 0xffff800000000040 + ((thread + rnd(5)) % THREADS << 12)
				       : 8 + rnd(512) * 8;

		for (; at % size; at++)
			put(0, 1);
		if (*s == 'd')
			memcpy(&v, &d, 8);
		put(v, size);
		at += size;
	}
}

int main(int argc, char **argv)
{
	uint64_t n = argc > 1 ? strtoull(argv[1], NULL, 10) : 300000, time_ns = 1000000000;
	static uint64_t path[PATHS][DEPTH_MAX], open[THREADS]; /* open: tracepoint + 1 */
	static unsigned int depth[PATHS];

	state = argc > 2 ? strtoull(argv[2], NULL, 10) | 1 : 88172645463325252ull;
	put(3, 4);
	put(NR_TRACEPOINTS, 8);
	for (unsigned int i = 0; i < NR_TRACEPOINTS; i++) {
		put(0x40c00000 + 0x98 * i, 8);
		put_string(tracepoints[i].name);
		put_string(tracepoints[i].signature);
		put_string(tracepoints[i].format);
	}
	for (unsigned int i = 0; i < PATHS; i++) {
		depth[i] = 6 + (unsigned int)rnd(5);
		for (unsigned int j = 0; j < depth[i]; j++)
			path[i][j] = 0x40200010 + 0x31 * rnd(j < 3 ? 6 : 120);
	}
	for (uint64_t i = 0; i < n; i++) {
		uint64_t thread = rnd(THREADS), tp = rnd(NR_TRACEPOINTS), p = rnd(PATHS);
		char name[16] = "";

		/* Pairs do not nest: an open one is ended first. */
		if (open[thread])
			tp = open[thread], open[thread] = 0;
		else if (tp == 0 || tp == 5 || tp == 8)
			open[thread] = tp + 1;
		snprintf(name, sizeof(name), "worker%u", (unsigned int)thread);
		put(0x40c00000 + 0x98 * tp, 8);
		put(0xffff800000000040 + (thread << 12), 8);
		fwrite(name, 1, sizeof(name), stdout);
		put(time_ns += 100 + rnd(3000), 8);
		put(thread % CPUS, 4);
		for (unsigned int j = 0; j < depth[p]; j++)
			put(path[p][j], 8);
		put(0, 8);
		put_args(tracepoints[tp].signature, thread);
	}
	return ferror(stdout) || fflush(stdout) ? 1 : 0;
}
