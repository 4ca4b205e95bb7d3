/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOSTRACE_VM_GDB_STUB_H
#define HOSTRACE_VM_GDB_STUB_H

#include <sys/types.h>

/*
 * The process whose gdb stub this UNIX socket is (QEMU's -gdb unix:PATH, -gdb chardev:ID); 0: it is none, or one that
 * was added while the VM ran, or its process is not ours to see. Connects to nothing.
 */
pid_t gdb_stub_owner(const char *path);

#endif
