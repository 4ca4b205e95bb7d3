/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the actions of `hostrace guest` for Linux guests share. */
#ifndef HOSTRACE_GUEST_LINUX_H
#define HOSTRACE_GUEST_LINUX_H

#include <jansson.h>

#include "vm/linux/btf.h"
#include "vm/linux/guest.h"

/* For finding the kernel. All RAM takes 1 to 4 minutes for 512 GiB; what is in it may be made to cost time. */
#define GUEST_LINUX_FIND_NS (600ull * 1000000000)

/*
 * Opens the memory of the VM of --vm, and confines the process. -errno with the error message set; *ret is the
 * caller's, also on failure.
 */
int guest_linux_open(const char *action, struct linux_guest *ret);

struct linux_list {
	const char *action;
	struct linux_guest *g;
	const struct btf_types *types;
	FILE *out;
	json_t *rows; /* NULL: text */
};

/*
 * An action that prints a list that it reads by the guest's BTF; argv: what follows the action. What print() wrote is
 * kept also if it returns an error. Returns the exit status.
 */
int guest_linux_list(const char *action, int argc, char **argv, int (*print)(struct linux_list *l));

#endif
