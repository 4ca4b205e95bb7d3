/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reading that neither a signal nor a short read ends. */
#ifndef HOSTRACE_READ_FULL_H
#define HOSTRACE_READ_FULL_H

#include <stdint.h>
#include <sys/types.h>

/* Reads `len` bytes, fewer only at the end of the file. Their number, or -errno without an error message. */
ssize_t read_full(int fd, void *to, size_t len);
ssize_t pread_full(int fd, void *to, size_t len, uint64_t offset);

#endif
