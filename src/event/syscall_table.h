/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names of system calls, their arguments and errors, as of Linux on x86-64. */
#ifndef HOSTRACE_SYSCALL_TABLE_H
#define HOSTRACE_SYSCALL_TABLE_H

#include <stddef.h>
#include <stdint.h>

enum { SYSCALLS_MAX = 1024 /* numbers with a name of their own; x86-64 has about 460 */ };

/* "read"; NULL: unknown, from the header of the building machine. A 32-bit program's calls have other numbers. */
const char *syscall_of_number(uint64_t number);

/* Its arguments' names, separated by commas: "fd,buf,count". NULL: not known. */
const char *syscall_args(const char *name);

/* "EAGAIN" of 11, also those that only the kernel sees ("ERESTARTSYS"). NULL: none. */
const char *syscall_error_name(unsigned int number);

#endif
