/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The kernel log of a Linux guest, 5.10 and later (kernel/printk/printk_ringbuffer.c), by the offsets in its BTF. */
#ifndef HOSTRACE_LINUX_DMESG_H
#define HOSTRACE_LINUX_DMESG_H

#include "vm/linux/btf.h"
#include "vm/linux/guest.h"

enum {
	LINUX_LOG_RECORDS_BITS = 20, /* at most 1 << */
	LINUX_LOG_BYTES_BITS = 26,   /* of all texts: at most 1 << */
	LINUX_LOG_TABLE_MAX = 128 << 20, /* bytes of all descriptors; of all infos */
};

struct linux_log_record {
	uint64_t time_ns; /* since the guest booted */
	unsigned int level, facility; /* as syslog(3) */
	size_t text; /* in struct linux_log */
};

struct linux_log {
	struct linux_log_record *record; /* oldest first */
	size_t nr;
	char *text; /* C strings, as the guest wrote them; not sanitized */
	size_t text_bytes;
};

/*
 * -ENOENT: the kernel lacks a symbol or a type; -EFAULT: its ring buffer cannot be read or is inconsistent; -ENOMEM;
 * with the error message set. Records that were overwritten while they were read are counted in g->torn. *ret is the
 * caller's, also on failure.
 */
int linux_log_read(struct linux_guest *g, const struct btf_types *types, struct linux_log *ret);
void linux_log_deinit(struct linux_log *l);

#endif
