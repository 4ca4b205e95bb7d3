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

/*
 * The running VMs that the items select, each once, in the order of the items; an item may be several, separated by
 * commas. *ret is allocated; free with vm_list_free(). -ESRCH: an item selects none; -EEXIST: a name that is no glob
 * fits two VMs; both with the error message set, which lists the VMs. Otherwise as vm_find().
 */
int vm_select(const struct text_list *items, struct vm **ret, unsigned int *ret_nr);

#endif
