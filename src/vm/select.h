/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which VMs a user means by PID, NAME, UUID or a glob of names: of this host or of a trace. */
#ifndef HOSTRACE_VM_SELECT_H
#define HOSTRACE_VM_SELECT_H

#include "base/options.h"
#include "vm/vm.h"

/* Does the item select this VM? A name is matched as it is, then as a glob. name and uuid may be NULL. */
bool vm_item_matches(const char *item, int64_t pid, const char *name, const char *uuid);

/* Is it a glob, which may match several VMs? */
bool vm_item_is_glob(const char *item);

/*
 * Calls fn for an argument of --vm, which may be several items separated by commas. A name may contain a comma: the
 * whole argument is tried first, and its parts only if fn fails for it. 0, the first error of fn, or -EINVAL with the
 * error message set: an item is too long.
 */
int vm_items_each(const char *argument, int (*fn)(void *arg, const char *item), void *arg);

enum { VM_LABEL_TEXT = 128 };

/* "web (pid 12)", or, if it is not the caller's, "web (pid 12, user ann)". Returns buf of VM_LABEL_TEXT bytes. */
const char *vm_label(const struct vm *vm, char *buf, size_t size);

/* "web (pid 12), db (pid 13)", and how many more there are. */
void vm_list_print(const struct vm *vms, unsigned int nr, char *buf, size_t size);

/*
 * The VM that a user means by a pid, a name or a UUID. A pid is that process; a name and a UUID, which are a process's
 * own words, only select VMs of the scope, of users of vm_is_of_user(), and before others those that use KVM. -ESRCH:
 * no such process or no VM of that name; -EACCES: it is not visible, or a process has the name but is not selected by
 * it; -EINVAL: the process is not a VM; -EEXIST: the name fits two VMs (the error message lists them).
 */
int vm_find(const char *pid_or_name, const struct vm_scope *scope, struct vm *ret);

/*
 * The running VMs that the items select, each once, in the order of the items; an item may be several, separated by
 * commas, and a glob may match several. *ret is allocated; free with vm_list_free(). Errors are those of vm_find().
 */
int vm_select(const struct text_list *items, const struct vm_scope *scope, struct vm **ret,
	      unsigned int *ret_nr);

#endif
