/* SPDX-License-Identifier: GPL-2.0-or-later */
/* --vm-user and --tcg of the commands that look at running VMs. */
#ifndef HOSTRACE_COMMON_VM_OPTIONS_H
#define HOSTRACE_COMMON_VM_OPTIONS_H

#include "base/options.h"
#include "vm/vm.h"

/* Of commands that need KVM, the first only. */
extern const struct option_row vm_user_options[], vm_tcg_options[];

/* Is one of them given? */
bool vm_options_given(void);

/* The scope that they give. -EPERM, -EINVAL with the error message set: there is no such user, or we are not root. */
int vm_scope_given(struct vm_scope *ret);

/* vm_find(), vm_select() and vm_list() with this scope; and their errors. -EINVAL: --tcg, and only PIDs. */
int vm_find_given(const char *pid_or_name, struct vm *ret);
int vm_select_given(const struct text_list *items, struct vm **ret, unsigned int *ret_nr);
int vm_list_given(struct vm **ret, unsigned int *ret_nr);

/* Prints the number of VMs that vm_list() left out, if there are any. */
void vm_left_note(unsigned int left);

/*
 * Those among which a command chooses that no VM is given to: not another user's (vm_is_of_user()), which its owner may
 * have made to be found. -EACCES with the error message set: there are only such.
 */
int vm_list_own_given(struct vm **ret, unsigned int *ret_nr);

#endif
