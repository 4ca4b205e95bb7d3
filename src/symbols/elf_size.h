/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What ELF files unpack to: to be checked before libdw reads one. */
#ifndef HOSTRACE_ELF_SIZE_H
#define HOSTRACE_ELF_SIZE_H

#include <elfutils/libdwfl.h>

/* 0 if it is an ELF file that unpacks to a size in proportion to it; -EINVAL, -E2BIG with the error message set. */
int elf_size_check(int fd, const char *path);
int elf_path_check(const char *path);

/* As dwfl_standard_find_debuginfo(); a file that elf_size_check() rejects is not found. */
int elf_find_debuginfo(Dwfl_Module *mod, void **userdata, const char *name, Dwarf_Addr base,
		       const char *file, const char *debuglink, GElf_Word crc, char **ret);

#endif
