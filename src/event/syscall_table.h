/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names of system calls, their arguments and errors: of Linux on x86-64 and arm64. */
#ifndef HOSTRACE_SYSCALL_TABLE_H
#define HOSTRACE_SYSCALL_TABLE_H

#include <stddef.h>
#include <stdint.h>

enum { SYSCALLS_MAX = 1024 /* numbers with a name of their own; x86-64 has about 460 */ };

/*
 * "read"; NULL: unknown to libseccomp. A number as events contain it (bpf/syscalls.h); those of 32-bit programs are
 * others.
 */
const char *syscall_of_number(uint64_t number);

/* The same of a number of the machine that this runs on. */
const char *syscall_of_here(long number);

/* Its arguments' names, separated by commas: "fd,buf,count". NULL: not known. */
const char *syscall_args(const char *name);

/* "EAGAIN" of 11, also those that only the kernel sees ("ERESTARTSYS"). NULL: none. */
const char *syscall_error_name(unsigned int number);

#endif
