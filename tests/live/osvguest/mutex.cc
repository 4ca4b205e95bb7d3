// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A function that has no frame pointer and other values in %rbp, as in applications: only .eh_frame leads out of it.
 * The file's name is one of those that the location of a thread skips. Compiled with -fomit-frame-pointer.
 */
#include "sched.hh"

__attribute__((noinline)) void mutex_lock(volatile u64 *owner)
{
	asm volatile("mov $0x5678, %%ebp" : : : "rbp");
	sched::wait_until([=] { return *owner == 0; });
	asm volatile("nop");
}
