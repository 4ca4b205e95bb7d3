/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A read of a VM's memory, or of the files that it executes, may never return: a file system, a swap device or a
 * user-space pager does not answer. The work is therefore done in a child process, which this process ends after a
 * time.
 */
#ifndef HOSTRACE_STUCK_GUARD_H
#define HOSTRACE_STUCK_GUARD_H

#include <stdbool.h>
#include <stdint.h>

struct stuck_guard {
	int done; /* in the child: closed when the VM has been read */
};

/*
 * Returns 1 in the child, which continues; 0 in the parent after the child has ended, with the child's exit status in
 * *ret_status; -errno with the error message set: no process, or the VM was not read within timeout_ns.
 */
int stuck_guard_begin(struct stuck_guard *g, uint64_t timeout_ns, int *ret_status);

/* In the child: what follows may take as long as it likes (a pager). */
void stuck_guard_done(struct stuck_guard *g);

#endif
