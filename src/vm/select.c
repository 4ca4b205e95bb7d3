// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/error.h"
#include "vm/select.h"

enum { ITEM_MAX = 256 };

struct selected {
	struct vm *vm;
	unsigned int nr;
};

bool vm_item_is_glob(const char *item)
{
	return item[strcspn(item, "*?[")];
}

bool vm_item_matches(const char *item, int64_t pid, const char *name, const char *uuid)
{
	char text[32];

	snprintf(text, sizeof(text), "%" PRId64, pid);
	if (!strcmp(item, text) || (uuid && *uuid && !strcasecmp(item, uuid)))
		return true;
	return name && (!strcmp(item, name) || !fnmatch(item, name, 0));
}

int vm_items_each(const char *argument, int (*fn)(void *arg, const char *item), void *arg)
{
	const char *rest = argument;
	char item[ITEM_MAX];
	int err = fn(arg, argument);

	if (!strchr(argument, ',') || !err)
		return err;
	for (err = 0; !err && *rest;) {
		size_t len = strcspn(rest, ",");

		if (len >= sizeof(item))
			return fail(-EINVAL, "--vm: '%.32s...' is too long", rest);
		memcpy(item, rest, len);
		item[len] = '\0';
		err = len ? fn(arg, item) : 0;
		rest += len + (rest[len] == ',');
	}
	return err;
}

/* Takes *vm over, also if it is selected already. */
static int selected_add(struct selected *s, struct vm *vm)
{
	struct vm *more = NULL;
	bool known = false;

	for (unsigned int i = 0; i < s->nr; i++)
		known |= s->vm[i].pid == vm->pid;
	if (!known)
		more = realloc(s->vm, (s->nr + 1) * sizeof(*more));
	if (!more) {
		vm_free(vm);
		return known ? 0 : fail(-ENOMEM, "out of memory");
	}
	s->vm = more;
	s->vm[s->nr++] = *vm;
	*vm = (struct vm){0};
	return 0;
}

static int glob_add(struct selected *s, const char *item)
{
	struct vm *vms;
	unsigned int nr, hits = 0;
	char list[VM_NAMES_TEXT];
	int err = vm_list(&vms, &nr);

	if (err)
		return err;
	vm_list_print(vms, nr, list, sizeof(list));
	for (unsigned int i = 0; !err && i < nr; i++)
		if (vm_item_matches(item, vms[i].pid, vms[i].name, vms[i].uuid)) {
			err = selected_add(s, &vms[i]);
			hits++;
		}
	vm_list_free(vms, nr);
	if (!err && !hits)
		err = nr ? fail(-ESRCH, "no VM matches '%s'; running VMs: %s", item, list)
			 : fail(-ESRCH, "no VM matches '%s'; no running VM is visible to this user",
				item);
	return err;
}

static int item_add(void *arg, const char *item)
{
	struct selected *s = arg;
	struct vm vm = {0};
	int err;

	if (vm_item_is_glob(item))
		return glob_add(s, item);
	err = vm_find(item, &vm);
	return err ? err : selected_add(s, &vm);
}

int vm_select(const struct text_list *items, struct vm **ret, unsigned int *ret_nr)
{
	struct selected s = {0};
	int err = 0;

	for (unsigned int i = 0; !err && i < items->nr; i++)
		err = vm_items_each(items->item[i], item_add, &s);
	if (!err && !s.nr)
		err = fail(-ESRCH, "the name of a VM must not be empty");
	if (err) {
		vm_list_free(s.vm, s.nr);
		return err;
	}
	*ret = s.vm;
	*ret_nr = s.nr;
	return 0;
}
