// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Which VM a vCPU thread belongs to, in recordings that name threads but not processes (trace.dat, tracefs text).
 *
 * Two VMs both have vCPU 0, so a vCPU number alone is ambiguous. Three sources, the first that has the thread is used:
 *
 *   1. the option GUEST of a trace.dat (trace-cmd record -A): a guest's name, its trace id, the thread of each vCPU
 *   2. the thread group that tracefs prints with the option record-tgid
 *   3. one VM for all other threads, unless two of them ran a vCPU of the same number: then nothing says which threads
 *      belong together, and each is a VM of its own
 *
 * A VM's pid is its thread group where that is known, otherwise the thread of its lowest vCPU: never the pid of another
 * VM; a VM without a name is called "pid N" or "tid N". With a single VM of which nothing else is known the pid
 * stays 0.
 */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>

#include "base/array.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/order.h"
#include "readers/ftrace/vm_threads.h"

enum { NO_VM = UINT32_MAX };

struct vm_thread {
	uint64_t tid;
	uint32_t vm; /* index, NO_VM: not assigned yet */
	uint32_t tgid, pid;
	uint16_t vcpu;
	bool ran; /* it did run the vCPU, and is not only named by the file */
	bool guessed; /* the vCPU is that of the thread's name */
};

struct vm {
	char *name; /* owned; NULL: unknown */
	uint64_t trace_id;
	uint32_t tgid, pid, lowest_vcpu;
};

struct vm_group {
	uint64_t tgid;
	uint32_t vm;
};

struct vm_threads {
	struct hash_table threads, groups;
	struct vm *vm;
	unsigned int nr_vms;
	uint64_t dropped; /* VMs beyond the limit */
	bool ambiguous;	  /* a thread ran two vCPUs */
};

struct vm_threads *vm_threads_new(void)
{
	struct vm_threads *x = calloc(1, sizeof(*x));

	if (!x) {
		fail(-ENOMEM, "out of memory");
		return NULL;
	}
	x->threads = HASH_TABLE(struct vm_thread, 1, VM_THREADS_MAX);
	x->groups = HASH_TABLE(struct vm_group, 1, VM_THREADS_VMS_MAX);
	return x;
}

void vm_threads_free(struct vm_threads *x)
{
	if (!x)
		return;
	for (unsigned int i = 0; i < x->nr_vms; i++)
		free(x->vm[i].name);
	free(x->vm);
	hash_deinit(&x->threads);
	hash_deinit(&x->groups);
	free(x);
}

/* A new VM's index, NO_VM if there is no capacity. */
static uint32_t vm_add(struct vm_threads *x, uint32_t tgid)
{
	if (x->nr_vms == VM_THREADS_VMS_MAX || array_room(x->vm, x->nr_vms)) {
		x->dropped++;
		return NO_VM;
	}
	x->vm[x->nr_vms] = (struct vm){.tgid = tgid, .lowest_vcpu = UINT32_MAX};
	return x->nr_vms++;
}

static struct vm_thread *thread_add(struct vm_threads *x, uint32_t tid, uint16_t vcpu)
{
	bool is_new = false;
	struct vm_thread *t = hash_add_u64(&x->threads, tid, &is_new);

	if (is_new) {
		t->vm = NO_VM;
		t->vcpu = vcpu;
	}
	x->ambiguous |= t && t->vcpu != vcpu;
	return t;
}

int vm_threads_guest(struct vm_threads *x, const char *name, uint64_t trace_id)
{
	uint32_t i = vm_add(x, 0);

	if (i == NO_VM)
		return -1;
	x->vm[i].trace_id = trace_id;
	x->vm[i].name = strdup(name);
	if (x->vm[i].name)
		text_sanitize(x->vm[i].name);
	return (int)i;
}

void vm_threads_guest_cpu(struct vm_threads *x, int guest, uint32_t vcpu, uint32_t tid)
{
	struct vm_thread *t;

	if (guest < 0 || !tid || vcpu >= RECORD_NO_VCPU)
		return;
	t = thread_add(x, tid, (uint16_t)vcpu);
	if (t && t->vm == NO_VM)
		t->vm = (uint32_t)guest;
}

void vm_threads_seen(struct vm_threads *x, uint16_t vcpu, uint32_t tid, uint32_t tgid)
{
	struct vm_thread *t = hash_find_u64(&x->threads, tid);

	if (t && t->guessed && vcpu != RECORD_NO_VCPU) {
		t->vcpu = vcpu;
		t->guessed = false;
	}
	t = tid && vcpu != RECORD_NO_VCPU ? thread_add(x, tid, vcpu) : NULL;
	if (!t)
		return;
	t->ran = true;
	t->tgid = tgid ? tgid : t->tgid;
}

/* "CPU 4/KVM" of QEMU, "fc_vcpu 4" of Firecracker. */
uint16_t vm_threads_vcpu_of_name(const char *name, size_t len)
{
	static const char *const names[] = {"CPU ", "fc_vcpu ", "vcpu"};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		size_t at = strlen(names[i]);
		uint32_t vcpu = 0;

		if (len <= at || memcmp(name, names[i], at) != 0)
			continue;
		while (at + 1 < len && name[at] == ' ') /* column -t */
			at++;
		if (!isdigit((unsigned char)name[at]))
			continue;
		for (; at < len && isdigit((unsigned char)name[at]) && vcpu < RECORD_NO_VCPU; at++)
			vcpu = 10 * vcpu + (uint32_t)(name[at] - '0');
		return vcpu < RECORD_NO_VCPU ? (uint16_t)vcpu : RECORD_NO_VCPU;
	}
	return RECORD_NO_VCPU;
}

void vm_threads_named(struct vm_threads *x, uint16_t vcpu, uint32_t tid, uint32_t tgid)
{
	struct vm_thread *t;

	if (!tid || vcpu == RECORD_NO_VCPU || hash_find_u64(&x->threads, tid))
		return;
	t = thread_add(x, tid, vcpu);
	if (!t)
		return;
	t->guessed = true;
	t->tgid = tgid;
}

bool vm_threads_are_plain(const struct vm_threads *x)
{
	return !x->ambiguous && !x->threads.refused;
}

void vm_threads_get(const struct vm_threads *x, uint32_t tid, uint32_t *ret_pid, uint16_t *ret_vcpu)
{
	const struct vm_thread *t = hash_find_u64(&x->threads, tid);

	*ret_pid = t ? t->pid : 0;
	*ret_vcpu = t ? t->vcpu : RECORD_NO_VCPU;
}

/* ---- deciding ---- */

static uint32_t vm_of_group(struct vm_threads *x, uint32_t tgid)
{
	struct vm_group *known = hash_find_u64(&x->groups, tgid);
	uint32_t vm = known ? known->vm : vm_add(x, tgid);

	if (!known && vm != NO_VM && (known = hash_add_u64(&x->groups, tgid, NULL)))
		known->vm = vm;
	return vm;
}

/* Did two threads that nothing assigns run a vCPU of the same number? */
static bool is_ambiguous(const struct vm_threads *x)
{
	_cleanup_free_ uint8_t *taken = calloc(1, RECORD_NO_VCPU + 1u);
	struct vm_thread *t;

	for (uint32_t at = 0; taken && (t = hash_next(&x->threads, &at));)
		if (t->vm == NO_VM && taken[t->vcpu]++)
			return true;
	return !taken; /* assume the worst */
}

static void assign(struct vm_threads *x, struct vm_thread **list, unsigned int *ret_alone)
{
	uint32_t rest = NO_VM;
	bool each;

	for (uint32_t i = 0; i < x->threads.nr; i++)
		if (list[i]->vm == NO_VM && list[i]->tgid)
			list[i]->vm = vm_of_group(x, list[i]->tgid);
	each = is_ambiguous(x);
	for (uint32_t i = 0; i < x->threads.nr; i++) {
		if (list[i]->vm != NO_VM)
			continue;
		if (each || rest == NO_VM)
			rest = vm_add(x, 0);
		list[i]->vm = rest;
		*ret_alone += each;
	}
}

static json_t *vm_json(const struct vm *vm)
{
	char made[32];
	json_t *o;

	snprintf(made, sizeof(made), "%s %u", vm->tgid ? "pid" : "tid", vm->pid);
	o = json_pack("{s:I, s:s, s:[]}", "pid", (json_int_t)vm->pid, "name",
		      vm->name ? vm->name : made, "vcpus");
	if (vm->trace_id)
		json_object_set_new(o, "trace_id", json_integer((json_int_t)vm->trace_id));
	return o;
}

static void vm_threads_describe(const struct vm_threads *x, struct vm_thread **list,
				unsigned int alone, struct trace_info *info)
{
	json_t *vms = json_array();

	for (uint32_t i = 0; i < x->nr_vms; i++)
		json_array_append_new(vms, vm_json(&x->vm[i]));
	for (uint32_t i = 0; i < x->threads.nr && i < META_VCPUS_MAX; i++)
		json_array_append_new(json_object_get(json_array_get(vms, list[i]->vm), "vcpus"),
				      json_pack("{s:i, s:i}", "index", (int)list[i]->vcpu, "tid",
						(int)list[i]->tid));
	if (x->threads.nr > META_VCPUS_MAX)
		trace_info_caveat(info, "%s: %u vCPU threads beyond the first %d are not listed",
				  info->file, x->threads.nr - META_VCPUS_MAX, META_VCPUS_MAX);
	json_object_set_new(info->meta, "vms", vms);
	if (alone)
		trace_info_caveat(info,
				  "%s: several VMs, and the file does not show which of %u vCPU "
				  "threads belong together: each is shown as a VM of its own",
				  info->file, alone);
	if (x->dropped || x->threads.refused)
		trace_info_caveat(info,
				  "%s: %" PRIu64 " vCPU threads beyond the limit are not assigned "
				  "to a VM",
				  info->file, x->dropped + x->threads.refused);
}

void vm_threads_settle(struct vm_threads *x, struct trace_info *info)
{
	size_t nr;
	_cleanup_free_ struct vm_thread **list = hash_sorted(&x->threads, NULL, &nr);
	unsigned int alone = 0;

	if (!list)
		return;
	assign(x, list, &alone);
	for (uint32_t i = 0; i < x->threads.nr; i++) {
		struct vm *vm = list[i]->vm == NO_VM ? NULL : &x->vm[list[i]->vm];

		if (vm && list[i]->vcpu < vm->lowest_vcpu) {
			vm->lowest_vcpu = list[i]->vcpu;
			vm->pid = vm->tgid ? vm->tgid : (uint32_t)list[i]->tid;
		}
	}
	if (x->nr_vms == 1 && !x->vm[0].name && !x->vm[0].tgid)
		return; /* pid 0, as of all else in the file */
	for (uint32_t i = 0; i < x->threads.nr; i++)
		list[i]->pid =
			list[i]->vm == NO_VM ? (uint32_t)list[i]->tid : x->vm[list[i]->vm].pid;
	if (x->nr_vms)
		vm_threads_describe(x, list, alone, info);
}

void vm_threads_set(const struct vm_threads *x, uint8_t *record, struct event *ev)
{
	const struct vm_thread *t = hash_find_u64(&x->threads, ev->tid);

	if (!t)
		return;
	ev->pid = t->pid;
	if (ev->vcpu == RECORD_NO_VCPU && ev->type->id)
		ev->vcpu = t->vcpu;
	memcpy(record + offsetof(struct record_hdr, pid), &ev->pid, sizeof(ev->pid));
	memcpy(record + offsetof(struct record_hdr, vcpu), &ev->vcpu, sizeof(ev->vcpu));
}
