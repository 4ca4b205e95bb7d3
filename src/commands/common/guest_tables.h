/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The tables of an OSv guest's own data, whose rows are in fetch/osv_state.h. */
#ifndef HOSTRACE_GUEST_TABLES_H
#define HOSTRACE_GUEST_TABLES_H

#include "output/table.h"

extern const struct table_def guest_runqueue_table, guest_callouts_table, guest_heap_table,
	guest_mmap_table, guest_zfs_table, guest_syms_table;

/* A row of the last one. */
struct guest_sym {
	uint64_t base;
	const char *path; /* in the guest */
	const char *file; /* of the host; NULL: not known */
};

/* "rwx", "none", as OSv's own commands print them. buf has at least 16 bytes. */
const char *guest_perm_print(uint32_t perm, char *buf, size_t size);

#endif
