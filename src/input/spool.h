/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Traces that come through a pipe. */
#ifndef HOSTRACE_INPUT_SPOOL_H
#define HOSTRACE_INPUT_SPOOL_H

#include <stdint.h>

#define SPOOL_BYTES_MAX (UINT64_C(16) << 30)

/*
 * Makes an input readable more than once, since every trace is read at least twice. "-" becomes "/dev/stdin". If the
 * path names a descriptor that is a pipe or a socket (/dev/stdin, /dev/fd/N, /proc/self/fd/N), everything in it is
 * copied to an unlinked temporary file, which then has that descriptor's number: the path names this file. Other
 * paths remain as they are. 0; -EFBIG: more than max_bytes; -EINVAL: a named pipe; or another -errno; with the error
 * message set.
 */
int input_spool(const char **path, uint64_t max_bytes);

#endif
