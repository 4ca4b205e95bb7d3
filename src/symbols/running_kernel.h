/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The code of the kernel that runs here, and its build id: whether /proc/kallsyms has the addresses of a recording. */
#ifndef HOSTRACE_RUNNING_KERNEL_H
#define HOSTRACE_RUNNING_KERNEL_H

#include <stddef.h>
#include <stdint.h>

enum { BUILD_ID_TEXT = 2 * 64 + 1 };

/* As hexadecimal text; what does not fit is cut. */
void build_id_print(const uint8_t *id, size_t len, char text[BUILD_ID_TEXT]);

/* "": unknown. */
void running_kernel_id(char text[BUILD_ID_TEXT]);

/*
 * Its code from an address on, from /proc/kcore, which is open (0: it is not), by the program headers. Returns the
 * bytes; 0: they cannot be read.
 */
size_t running_kernel_code(int kcore, uint64_t address, uint8_t *ret, size_t size);

#endif
