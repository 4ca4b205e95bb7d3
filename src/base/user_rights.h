/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A program with file capabilities (setcap) may read what its caller may not, to look at VMs and at the kernel. What
 * the caller names is opened with the caller's own rights. Where the caller has the capabilities itself, as root has,
 * they are the caller's rights, and nothing here has an effect.
 */
#ifndef HOSTRACE_USER_RIGHTS_H
#define HOSTRACE_USER_RIGHTS_H

#include <stdbool.h>
#include <stdint.h>

/* Until user_rights_end(): without the capabilities to any file. Returns what user_rights_end() needs. */
uint64_t user_rights_begin(void);
void user_rights_end(uint64_t begun);

/* open(2) in between; no O_CREAT. */
int open_as_user(const char *path, int flags);

/* For good, and all capabilities: for commands that need none. */
void user_rights_only(void);

/* Do the user IDs differ? Then the environment of the caller reaches a program with another user's rights. */
bool user_is_another(void);

#endif
