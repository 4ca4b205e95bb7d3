/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The CPU's counter, of which the kernel makes its clocks and KVM the guest's: the TSC, or arm64's CNTVCT_EL0. */
#ifndef HOSTRACE_COUNTER_H
#define HOSTRACE_COUNTER_H

#include <stdint.h>

#if defined(__x86_64__)
#include <x86intrin.h>

/* Not before earlier instructions nor after later ones. */
static inline uint64_t counter_read(void)
{
	unsigned int aux;
	uint64_t value = __rdtscp(&aux); /* waits for what is before it */

	_mm_lfence(); /* also delays later instructions */
	return value;
}
#elif defined(__aarch64__)
static inline uint64_t counter_read(void)
{
	uint64_t value;

	__asm__ volatile("isb; mrs %0, cntvct_el0; isb" : "=r"(value) : : "memory");
	return value;
}
#else
#error "counter_read() is not written for this architecture"
#endif

#endif
