/* SPDX-License-Identifier: GPL-2.0-or-later */
/* An executable as probes need it. */
#ifndef HOSTRACE_ELF_H
#define HOSTRACE_ELF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"

struct elf_file;

struct elf_symbol {
	uint64_t address; /* as linked; a position-independent program adds its load bias */
	uint64_t size;	  /* 0: unknown */
};

/* 0; -ENOENT, ...; -EINVAL: no ELF file for x86-64. The error message is set. */
int elf_file_open(const char *path, struct elf_file **ret);
void elf_file_close(struct elf_file *e);
DEFINE_CLEANUP(elf_file, struct elf_file *, elf_file_close);
#define _cleanup_elf_file_ _cleanup_(elf_file_cleanup_)

/* A defined function or variable of exactly this name. Copies that the compiler made ("x.part.0") do not count. */
bool elf_file_symbol(const struct elf_file *e, const char *name, struct elf_symbol *ret);

/* Does the file (or its debug file) have any symbols of functions? A stripped program that exports nothing has none. */
bool elf_file_has_symbols(const struct elf_file *e);

/* Offset in the file of what is loaded at this address; false if nothing of the file is. */
bool elf_file_offset(const struct elf_file *e, uint64_t address, uint64_t *ret);

/* The bytes loaded at this address, and how many follow in its segment; NULL if there are none. */
const uint8_t *elf_file_bytes(const struct elf_file *e, uint64_t address, size_t *ret_len);

/* Is the address in a segment that the program may write: initialized data or .bss? */
bool elf_file_writable(const struct elf_file *e, uint64_t address);

/* Where the program begins, as linked: a position-independent one adds its load bias. */
uint64_t elf_file_entry(const struct elf_file *e);

/* The contents and the address of a section; NULL if there is none of this name. */
const uint8_t *elf_file_section(const struct elf_file *e, const char *name, size_t *ret_len,
				uint64_t *ret_address);

struct usdt_mark {
	const char *provider, *name, *args; /* args: "8@%rdi -4@8(%rsp)"; point into the file */
	uint64_t address;		    /* of the nop, as linked */
	uint64_t semaphore;		    /* address of its counter; 0: none */
};

struct usdt_marks {
	struct usdt_mark *mark;
	unsigned int nr;
	unsigned int broken; /* notes that could not be read */
};

/* All marks of a file; none is not an error. Valid while the file is open. -ENOMEM. */
int usdt_read(const struct elf_file *e, struct usdt_marks *ret);
void usdt_free(struct usdt_marks *marks);

/*
 * Can libbpf read the first nr arguments of a mark? It supports registers, memory at a register with
 * an offset, and constants; not "8@(%r8,%rdx,8)" and not "8@symbol(%rip)".
 */
bool usdt_args_readable(const char *args, unsigned int nr);

#endif
