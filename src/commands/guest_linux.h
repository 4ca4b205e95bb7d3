/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the actions of `hostrace guest` for Linux guests share. */
#ifndef HOSTRACE_GUEST_LINUX_H
#define HOSTRACE_GUEST_LINUX_H

#include "vm/linux/guest.h"

/*
 * Opens the memory of the VM of --vm, and confines the process. -errno with the error message set; *ret is the
 * caller's, also on failure.
 */
int guest_linux_open(const char *action, struct linux_guest *ret);

#endif
