// SPDX-License-Identifier: GPL-2.0-or-later
/* The list of VMs from the metadata, and the text that names one, its pid where it has no name. */
#include <inttypes.h>

#include "base/hash.h"
#include "event/vm_names.h"

struct vm {
	uint32_t pid;
	bool shared; /* another VM has the same name */
	char name[VM_NAME_BYTES];
};

struct pid_entry {
	uint64_t pid;
	struct vm *vm;
};

struct name_entry {
	const char *name; /* that of the VM */
	struct vm *vm;	  /* the first one with this name */
};

struct vm_names {
	struct vm *vm[VM_NAMES_MAX];
	unsigned int nr;
	struct hash_table pids, names;
};

struct vm_names *vm_names_new(void)
{
	struct vm_names *names = calloc(1, sizeof(*names));

	if (!names)
		return NULL;
	names->pids = HASH_TABLE(struct pid_entry, 1, VM_NAMES_MAX);
	names->names = HASH_TABLE_OF_TEXTS(struct name_entry, VM_NAMES_MAX);
	return names;
}

void vm_names_free(struct vm_names *names)
{
	if (!names)
		return;
	for (unsigned int i = 0; i < names->nr; i++)
		free(names->vm[i]);
	hash_deinit(&names->pids);
	hash_deinit(&names->names);
	free(names);
}

static const struct vm *vm_of(const struct vm_names *names, uint32_t pid)
{
	const struct pid_entry *e = names ? hash_find_u64(&names->pids, pid) : NULL;

	return e ? e->vm : NULL;
}

static void vm_add(struct vm_names *names, uint32_t pid, const char *name)
{
	struct vm *new = names->nr < VM_NAMES_MAX ? calloc(1, sizeof(*new)) : NULL;
	struct pid_entry *p = new ? hash_add_u64(&names->pids, pid, NULL) : NULL;
	struct name_entry *n;

	if (!p) {
		free(new);
		return;
	}
	p->vm = new;
	new->pid = pid;
	snprintf(new->name, sizeof(new->name), "%s", name);
	text_sanitize(new->name);
	n = hash_add_text(&names->names, new->name, NULL);
	if (n && n->vm)
		n->vm->shared = new->shared = true;
	else if (n)
		n->vm = new;
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
