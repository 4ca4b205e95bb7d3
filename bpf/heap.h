/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * record --for heap: the VMM's allocations, followed in the kernel. Included by both compilers.
 *
 * The C library's functions are probed at entry and return; glib's and QEMU's, which call them, only at entry, to know
 * what the program called. A block that was allocated is in a hash table of BPF (heap_live) until it is freed: its site
 * counts both. Sites, and what cannot be followed, are in memory that the collector has mapped and reads once a second;
 * a confined recorder may not call bpf().
 *
 *	HEAP_FUNCTION(name, role, family)
 *
 * Families must not be mixed: what g_malloc() gave is for g_free(). So is what g_vasprintf() has the C library
 * allocate, which is most of glib's texts.
 */
#ifndef HOSTRACE_HEAP_H
#define HOSTRACE_HEAP_H

#include "ring.h"

/* clang-format off */
#define HEAP_FUNCTIONS(HEAP_FUNCTION) \
	HEAP_FUNCTION(malloc,             PRIMITIVE, C) \
	HEAP_FUNCTION(calloc,             PRIMITIVE, C) \
	HEAP_FUNCTION(realloc,            PRIMITIVE, C) \
	HEAP_FUNCTION(reallocarray,       PRIMITIVE, C) \
	HEAP_FUNCTION(memalign,           PRIMITIVE, C) \
	HEAP_FUNCTION(aligned_alloc,      PRIMITIVE, C) \
	HEAP_FUNCTION(posix_memalign,     PRIMITIVE, C) \
	HEAP_FUNCTION(free,               ENTRY,     C) \
	HEAP_FUNCTION(mmap,               PRIMITIVE, MAP) \
	HEAP_FUNCTION(mremap,             PRIMITIVE, MAP) \
	HEAP_FUNCTION(munmap,             ENTRY,     MAP) \
	HEAP_FUNCTION(g_malloc,           ENTRY,     GLIB) \
	HEAP_FUNCTION(g_malloc0,          ENTRY,     GLIB) \
	HEAP_FUNCTION(g_try_malloc,       ENTRY,     GLIB) \
	HEAP_FUNCTION(g_try_malloc0,      ENTRY,     GLIB) \
	HEAP_FUNCTION(g_malloc_n,         ENTRY,     GLIB) \
	HEAP_FUNCTION(g_malloc0_n,        ENTRY,     GLIB) \
	HEAP_FUNCTION(g_try_malloc_n,     ENTRY,     GLIB) \
	HEAP_FUNCTION(g_try_malloc0_n,    ENTRY,     GLIB) \
	HEAP_FUNCTION(g_realloc,          ENTRY,     GLIB) \
	HEAP_FUNCTION(g_try_realloc,      ENTRY,     GLIB) \
	HEAP_FUNCTION(g_realloc_n,        ENTRY,     GLIB) \
	HEAP_FUNCTION(g_try_realloc_n,    ENTRY,     GLIB) \
	HEAP_FUNCTION(g_free,             ENTRY,     GLIB) \
	HEAP_FUNCTION(g_vasprintf,        PRIMITIVE, GLIB) \
	HEAP_FUNCTION(qemu_memalign,      ENTRY,     QEMU) \
	HEAP_FUNCTION(qemu_try_memalign,  ENTRY,     QEMU) \
	HEAP_FUNCTION(qemu_vfree,         ENTRY,     QEMU)
/* clang-format on */

enum heap_function {
	HEAP_none,
#define HEAP_FUNCTION(name, role, family) HEAP_##name,
	HEAP_FUNCTIONS(HEAP_FUNCTION)
#undef HEAP_FUNCTION
	HEAP_NR
};

enum {
	HEAP_BLOCKS = 1 << 18,	  /* followed at once; 24 MB of kernel memory */
	HEAP_SITES = 1 << 14,	  /* of all VMs */
	HEAP_MISMATCHES = 1 << 9, /* of all VMs */
	HEAP_PROBE = 8,		  /* slots of these tables that are tried */
	HEAP_STACK_BYTES = 2048,  /* by which stacks are told apart; what is beyond is not recorded */
	HEAP_LIBRARIES = 62,	  /* whose code counts; others' frames are shown, but do not tell stacks apart */
};

struct heap_site {
	hr_u64 key; /* 0: free */
	hr_u32 pid;
	hr_u16 function; /* enum heap_function */
	hr_u16 told;	 /* its stack was recorded */
	hr_u64 allocs, bytes, frees, freed_bytes;
	hr_u64 first_ns, pad;
};

struct heap_mismatch {
	hr_u64 key; /* 0: free */
	hr_u32 pid;
	hr_u16 allocated, freed; /* enum heap_function */
	hr_u64 site, free_site;
	hr_u64 count, bytes;
	hr_u64 told, pad;
};

struct heap_vm {
	hr_u64 allocs, bytes, frees, freed_bytes;
	hr_u64 unknown, not_followed, not_sited, unfinished, replaced, failed, mismatches;
	hr_u64 pad[5];
};

/* Where the code of a VMM is. */
struct heap_code {
	hr_u64 exe, exe_bytes;
	hr_u64 libraries, libraries_bytes; /* from the first to the last */
	hr_u64 nr;
	struct {
		hr_u64 from, bytes;
	} library[HEAP_LIBRARIES];
};

/* What is in the ring for an alloc_stack: the collector unwinds it, and makes the event of it. */
struct heap_stack_copy {
	struct stack_copy copy;
	hr_u64 site;
};

_Static_assert(sizeof(struct heap_stack_copy) + RING_MARK_BYTES <= RING_SPILL_BYTES,
	       "a copied stack fits the spill");

#endif
