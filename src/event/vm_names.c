// SPDX-License-Identifier: GPL-2.0-or-later
/* The list of VMs from the metadata, and the text that names one, its pid where it has no name. */
#include <inttypes.h>

#include "base/hash.h"
#include "event/vm_names.h"

struct vm {
	uint32_t pid;
	bool shared; /* another VM has the same name */
	char name[VM_NAME_BYTES];
	char label[VM_NAME_BYTES + 16]; /* the name, and the pid if the name is shared */
};

struct pid_entry {
	uint64_t pid;
	struct vm *vm;
};

struct name_entry {
	const char *name; /* that of the VM */
	struct vm *vm;	  /* the first one with this name */
};

/* A vCPU's, of a recorded VM, or any of a neighbour. */
struct thread_entry {
	uint64_t tid;
	uint32_t pid;
	bool is_recorded;
};

struct vm_names {
	struct vm *vm[VM_NAMES_MAX];
	unsigned int nr;
	struct hash_table pids, names;
	struct vm_names *neighbours; /* NULL: there are none */
	struct hash_table threads;
};

struct vm_names *vm_names_new(void)
{
	struct vm_names *names = calloc(1, sizeof(*names));

	if (!names)
		return NULL;
	names->pids = HASH_TABLE(struct pid_entry, 1, VM_NAMES_MAX);
	names->names = HASH_TABLE_OF_TEXTS(struct name_entry, VM_NAMES_MAX);
	names->threads = HASH_TABLE(struct thread_entry, 1, VM_THREADS_MAX);
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
	hash_deinit(&names->threads);
	vm_names_free(names->neighbours);
	free(names);
}

static const struct vm *vm_of(const struct vm_names *names, uint32_t pid)
{
	const struct pid_entry *e = names ? hash_find_u64(&names->pids, pid) : NULL;

	return e ? e->vm : NULL;
}

static void label_print(struct vm *vm)
{
	char pid[16] = "";

	if (vm->shared)
		snprintf(pid, sizeof(pid), " (%" PRIu32 ")", vm->pid);
	snprintf(vm->label, sizeof(vm->label), "%s%s", vm->name, pid);
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
	if (n && n->vm) {
		n->vm->shared = new->shared = true;
		label_print(n->vm);
	} else if (n) {
		n->vm = new;
	}
	label_print(new);
	names->vm[names->nr++] = new;
}

static void thread_learn(struct vm_names *names, json_int_t tid, uint32_t pid, bool is_recorded)
{
	bool is_new = false;
	struct thread_entry *e = tid > 0 && tid <= UINT32_MAX
					 ? hash_add_u64(&names->threads, (uint64_t)tid, &is_new)
					 : NULL;

	if (!e || !is_new)
		return;
	e->pid = pid;
	e->is_recorded = is_recorded;
}

/* Into `of`, which may be the neighbours of `names`. */
static void vms_learn(struct vm_names *names, struct vm_names *of, const json_t *vms)
{
	json_t *vm, *vcpu, *tid;
	size_t i, k;

	json_array_foreach (vms, i, vm) {
		json_int_t pid = json_integer_value(json_object_get(vm, "pid"));
		const char *name = json_string_value(json_object_get(vm, "name"));

		if (pid < 0 || pid > UINT32_MAX)
			continue;
		if (!vm_of(of, (uint32_t)pid))
			vm_add(of, (uint32_t)pid, name ? name : "");
		json_array_foreach (json_object_get(vm, "vcpus"), k, vcpu)
			thread_learn(names, json_integer_value(json_object_get(vcpu, "tid")),
				     (uint32_t)pid, of == names);
		json_array_foreach (json_object_get(vm, "tids"), k, tid)
			thread_learn(names, json_integer_value(tid), (uint32_t)pid, of == names);
	}
}

void vm_names_meta(struct vm_names *names, const json_t *meta)
{
	const json_t *neighbours = json_object_get(meta, "neighbours");

	vms_learn(names, names, json_object_get(meta, "vms"));
	if (json_array_size(neighbours) && !names->neighbours)
		names->neighbours = vm_names_new();
	if (names->neighbours)
		vms_learn(names, names->neighbours, neighbours);
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

	if (vm && *vm->name)
		snprintf(buf, size, "%s", vm->label);
	else if (pid)
		snprintf(buf, size, "pid %" PRIu32, pid);
	else
		snprintf(buf, size, "-");
	return buf;
}

const char *vm_of_other(const struct vm_names *names, uint32_t tid, uint32_t pid)
{
	const struct thread_entry *e = names ? hash_find_u64(&names->threads, tid) : NULL;
	const struct vm_names *of = e && !e->is_recorded ? names->neighbours : names;
	const struct vm *vm = e ? vm_of(of, e->pid) : NULL;

	if (!vm || !*vm->name || e->pid == pid || (!pid && e->is_recorded))
		return NULL;
	return vm->label;
}
