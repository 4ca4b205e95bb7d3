/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The tables of a vCPU (statmap.h): where a key is counted, and in which bucket of a histogram a time. A slot is taken
 * by the first key that needs it, and kept; keys that find none share the last entry.
 */
#ifndef HOSTRACE_STAT_SLOTS_BPF_H
#define HOSTRACE_STAT_SLOTS_BPF_H

#include "compat.bpf.h"
#include "statmap.h"

/* Keeps the compiler from removing a range check that the verifier of 6.1 needs. */
#define unknown(x) asm volatile("" : "+r"(x))

/* The port's entry, or the last one; index. */
static __always_inline hr_u64 stat_port_find(struct stat_vcpu *v, hr_u32 key)
{
	hr_u64 at = (key ^ key >> 6) * 0x9e3779b1u >> 16;

#pragma unroll
	for (int i = 0; i < STAT_TRIES; i++, at++) {
		at &= STAT_PORT_SLOTS - 1;
		unknown(at);
		if (at >= STAT_PORT_SLOTS)
			break;
		if (!v->port[at].key)
			v->port[at].key = key;
		if (v->port[at].key == key)
			return at;
	}
	return STAT_PORTS - 1;
}

/* The page's entry, or the last one; index. */
static __always_inline hr_u64 stat_page_find(struct stat_vcpu *v, hr_u64 key)
{
	hr_u64 at = (key >> STAT_PAGE_SHIFT ^ key << 4) * 0x9e3779b97f4a7c15ull >> 32;

#pragma unroll
	for (int i = 0; i < STAT_TRIES; i++, at++) {
		at &= STAT_PAGE_SLOTS - 1;
		unknown(at);
		if (at >= STAT_PAGE_SLOTS)
			break;
		if (!v->page[at].key)
			v->page[at].key = key;
		if (v->page[at].key == key)
			return at;
	}
	return STAT_PAGES - 1;
}

/* The cgroup's entry, or the last one; index. */
static __always_inline hr_u64 stat_steal_find(struct stat_vcpu *v, hr_u64 key)
{
	hr_u64 at = key * 0x9e3779b97f4a7c15ull >> 32;

#pragma unroll
	for (int i = 0; i < STAT_TRIES; i++, at++) {
		at &= STAT_STEAL_SLOTS - 1;
		unknown(at);
		if (at >= STAT_STEAL_SLOTS)
			break;
		if (!v->steal[at].key)
			v->steal[at].key = key;
		if (v->steal[at].key == key)
			return at;
	}
	return STAT_STEALS - 1;
}

static __always_inline hr_u32 log2_of(hr_u64 v)
{
	hr_u32 e = (v >> 32 != 0) << 5, step;

	v >>= e;
	step = (v > 0xffff) << 4;
	v >>= step;
	e |= step;
	step = (v > 0xff) << 3;
	v >>= step;
	e |= step;
	step = (v > 0xf) << 2;
	v >>= step;
	e |= step;
	step = (v > 3) << 1;
	v >>= step;
	return e | step | (hr_u32)(v >> 1);
}

/* The bucket of a time in a cell's histogram. */
static __always_inline hr_u32 stat_bucket(hr_u64 ns)
{
	hr_u32 e;

	if (ns < 2 * STAT_SUB)
		return (hr_u32)ns;
	if (ns >> STAT_BITS_MAX)
		return STAT_BUCKETS - 1;
	e = log2_of(ns);
	return (e - STAT_SUB_BITS + 1) * STAT_SUB + (ns >> (e - STAT_SUB_BITS) & (STAT_SUB - 1));
}

#endif
