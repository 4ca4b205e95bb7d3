/* SPDX-License-Identifier: GPL-2.0-or-later */
/* An OSv guest's memory without its gdb stub: of the process that runs it, or of a dump. */
#ifndef HOSTRACE_OSV_LIVE_H
#define HOSTRACE_OSV_LIVE_H

#include "fetch/osv_guest.h"

/* timeout_ns: for each answer of the monitor, 0: its default. 0, or -errno with the error message set. */
int osv_live_open(const struct osv_guest_options *opt, const struct layout *l,
		  struct osv_live *ret);
void osv_live_close(struct osv_live *m);

/* All or nothing; -EFAULT with the error message set. */
int osv_live_read(struct osv_live *m, uint64_t address, void *ret, size_t len);

/* The same of the guest's physical memory. */
int osv_live_physical(struct osv_live *m, uint64_t address, void *ret, size_t len);

#endif
