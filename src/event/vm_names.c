// SPDX-License-Identifier: GPL-2.0-or-later
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "event/vm_names.h"

struct vm {
	uint32_t pid;
	bool shared; /* another VM has the same name */
	char name[VM_NAME_BYTES];
};

struct vm_names {
	struct vm *vm[VM_NAMES_MAX];
	unsigned int nr;
};

struct vm_names *vm_names_new(void)
{
	return calloc(1, sizeof(struct vm_names));
}

void vm_names_free(struct vm_names *names)
{
	for (unsigned int i = 0; names && i < names->nr; i++)
		free(names->vm[i]);
	free(names);
}

static const struct vm *vm_of(const struct vm_names *names, uint32_t pid)
{
	for (unsigned int i = 0; names && i < names->nr; i++)
		if (names->vm[i]->pid == pid)
			return names->vm[i];
	return NULL;
}

static void vm_add(struct vm_names *names, uint32_t pid, const char *name)
{
	struct vm *new = names->nr < VM_NAMES_MAX ? calloc(1, sizeof(*new)) : NULL;

	if (!new)
		return;
	new->pid = pid;
	snprintf(new->name, sizeof(new->name), "%s", name);
	text_neutralise(new->name);
	for (unsigned int i = 0; i < names->nr; i++)
		if (!strcmp(names->vm[i]->name, new->name))
			names->vm[i]->shared = new->shared = true;
	names->vm[names->nr++] = new;
}

void vm_names_meta(struct vm_names *names, const json_t *meta)
{
	json_t *vm;
	size_t i;

	json_array_foreach (json_object_get(meta, "vms"), i, vm) {
		json_int_t pid = json_integer_value(json_object_get(vm, "pid"));
		const char *name = json_string_value(json_object_get(vm, "name"));

		if (pid >= 0 && pid <= UINT32_MAX && !vm_of(names, (uint32_t)pid))
			vm_add(names, (uint32_t)pid, name ? name : "");
	}
}

unsigned int vm_names_nr(const struct vm_names *names)
{
	return names ? names->nr : 0;
}

bool vm_is_known(const struct vm_names *names, uint32_t pid)
{
	return vm_of(names, pid) != NULL;
}

int vm_names_width(const struct vm_names *names)
{
	char name[VM_NAME_BYTES];
	size_t width = 1;

	for (unsigned int i = 0; names && i < names->nr; i++) {
		size_t len = strlen(vm_name(names, names->vm[i]->pid, name, sizeof(name)));

		width = len > width ? len : width;
	}
	return (int)width;
}

const char *vm_name(const struct vm_names *names, uint32_t pid, char *buf, size_t size)
{
	const struct vm *vm = vm_of(names, pid);

	if (vm && *vm->name && !vm->shared)
		snprintf(buf, size, "%s", vm->name);
	else if (vm && *vm->name)
		snprintf(buf, size, "%s (%" PRIu32 ")", vm->name, pid);
	else if (pid)
		snprintf(buf, size, "pid %" PRIu32, pid);
	else
		snprintf(buf, size, "-");
	return buf;
}
