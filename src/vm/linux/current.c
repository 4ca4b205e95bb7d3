// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/error.h"
#include "vm/linux/current.h"
#include "vm/linux/percpu.h"

/* Without CONFIG_RANDOMIZE_MEMORY, with 4 levels of page tables (Documentation/arch/x86/x86_64/mm.rst). */
#define DIRECT_MAP UINT64_C(0xffff888000000000)

struct find {
	struct linux_guest *g;
	uint64_t offsets;  /* __per_cpu_offset[] */
	uint64_t apic_ids; /* per-CPU variable */
	int apic_bytes;	   /* of it */
	uint64_t current;  /* per-CPU variable */
};

/* From 6.2 to 6.14 it was a member of another per-CPU variable. */
static uint64_t current_symbol(const struct linux_guest *g, const struct btf_types *types)
{
	uint64_t hot = linux_symbol(g, "pcpu_hot");
	int at = hot ? btf_offset(types, "pcpu_hot", "current_task") : -ENOENT;

	return at >= 0 ? hot + (uint64_t)at : linux_symbol(g, "current_task");
}

static int find_begin(struct find *f, const struct btf_types *types)
{
	f->offsets = linux_symbol(f->g, "__per_cpu_offset");
	f->apic_ids = linux_symbol(f->g, "x86_cpu_to_apicid");
	f->apic_bytes = btf_variable_size(types, "x86_cpu_to_apicid"); /* u32 since 6.7 */
	f->current = current_symbol(f->g, types);
	if (!f->offsets || !f->apic_ids || !f->current)
		return fail(-ENOENT, "the guest's kernel has no symbol %s",
			    !f->offsets	   ? "__per_cpu_offset (CONFIG_SMP is not set)"
			    : !f->apic_ids ? "x86_cpu_to_apicid"
					   : "current_task");
	if (f->apic_bytes != 2 && f->apic_bytes != 4)
		return fail(-ENOENT, "the guest kernel's BTF has no type of x86_cpu_to_apicid");
	return 0;
}

static bool cpu_read(struct find *f, uint32_t cpu, struct linux_cpu *ret)
{
	uint64_t offset, slot = 0, task;

	*ret = (struct linux_cpu){.cpu = cpu};
	if (!linux_percpu_offset(f->g, f->offsets, cpu, &offset) ||
	    linux_read(f->g, f->apic_ids + offset, &ret->apic_id, (size_t)f->apic_bytes) ||
	    linux_read_u64(f->g, f->current + offset, &task) || !task)
		return false;
	slot = f->current + offset;
	ret->slot = guest_address(&f->g->memory, &f->g->ram.at, &f->g->space, slot);
	return ret->slot && slot % 8 == 0;
}

static int cpus_read(struct find *f, struct linux_current *ret)
{
	uint32_t nr = linux_cpus_possible(f->g);

	for (uint32_t i = 0; i < nr; i++) {
		struct linux_cpu cpu;

		if (!cpu_read(f, i, &cpu))
			continue;
		if (array_room(ret->cpu, ret->nr))
			return -ENOMEM;
		ret->cpu[ret->nr++] = cpu;
	}
	return ret->nr ? 0 : fail(-ENOENT, "no CPU of the guest has a current task");
}

static bool is_offset(int at)
{
	return at >= 0 && at < LINUX_TASK_BYTES_MAX;
}

static int layout_read(const struct btf_types *types, struct linux_current *ret)
{
	ret->tid_at = btf_offset(types, "task_struct", "pid");
	ret->pid_at = btf_offset(types, "task_struct", "tgid");
	ret->comm_at = btf_offset(types, "task_struct", "comm");
	ret->cpu_at = btf_offset(types, "task_struct", "thread_info.cpu");
	if (ret->cpu_at < 0)
		ret->cpu_at = btf_offset(types, "task_struct", "cpu");
	if (!is_offset(ret->cpu_at))
		ret->cpu_at = -1;
	return is_offset(ret->tid_at) && is_offset(ret->pid_at) && is_offset(ret->comm_at)
		       ? 0
		       : fail(-ENOENT, "the guest kernel's BTF has no usable struct task_struct");
}

int linux_current_find(struct linux_guest *g, const struct btf_types *types,
		       struct linux_current *ret)
{
	struct find f = {.g = g};
	uint64_t base = linux_symbol(g, "page_offset_base");
	int err;

	*ret = (struct linux_current){.direct = DIRECT_MAP};
	linux_reads_begin(g);
	if (base && linux_read_u64(g, base, &ret->direct))
		return fail(-ENOENT, "page_offset_base of the guest's kernel cannot be read");
	err = layout_read(types, ret);
	if (!err)
		err = find_begin(&f, types);
	return linux_reads_end(g, err ? err : cpus_read(&f, ret));
}

void linux_current_deinit(struct linux_current *c)
{
	free(c->cpu);
	*c = (struct linux_current){0};
}
