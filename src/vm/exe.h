/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Facts about an executable without running it: its build id and, if it is a QEMU, its version. */
#ifndef HOSTRACE_VM_EXE_H
#define HOSTRACE_VM_EXE_H

#include <stdbool.h>

struct vm_exe {
	char build_id[64 + 1]; /* hex of .note.gnu.build-id, "" if none */
	char version[32];      /* "7.2.22"; "" if it is not a QEMU or not asked for */
};

/*
 * Reads a bounded part of the file, whatever its size: 64 KiB of notes and, if the version is asked for, 64 MiB. 0 or
 * -errno with the error message set; an ELF file without these facts is not an error.
 */
int vm_exe_read(const char *path, bool version, struct vm_exe *ret);

#endif
