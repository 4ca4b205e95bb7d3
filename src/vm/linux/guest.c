// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A Linux guest (x86-64), read from its RAM while it runs: no agent, no file of the guest, KASLR or not. Nothing is
 * written and nothing stopped. All data from the guest is untrusted: counts have limits, lists are checked while they
 * are followed, what changes while it is read is read again a few times and then given up.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>

#include "base/array.h"
#include "base/error.h"
#include "vm/linux/guest.h"
#include "vm/proc.h"
#include "vm/qmp.h"

enum {
	LINUX_TASK_BYTES_MAX = 1 << 20, /* offsets are below */
};

/* Of a VM whose memory the host cannot read: QEMU's objects for SEV, SEV-SNP and TDX. */
static bool is_encrypted(const struct vm *vm)
{
	static const char *const objects[] = {"sev-guest", "sev-snp-guest", "tdx-guest"};

	return array_any(sizeof(objects) / sizeof(*objects), i,
			 vm->cmdline && strstr(vm->cmdline, objects[i]));
}

/* The vCPUs, the page tables of the first one as KVM has them cached, and the slots. */
static int kvm_use(const struct kvm_vm *kvm, struct linux_guest *g)
{
	char text[sizeof(g->unreadable)];

	if (!g->cr3 && kvm->nr_vcpus) {
		g->cr3 = kvm->vcpu[0].space.cr3;
		g->paging = kvm->vcpu[0].space.paging;
	}
	g->vcpu = calloc(kvm->nr_vcpus + 1, sizeof(*kvm->vcpu));
	if (!g->vcpu)
		return fail(-ENOMEM, "out of memory");
	if (kvm->nr_vcpus)
		memcpy(g->vcpu, kvm->vcpu, kvm->nr_vcpus * sizeof(*kvm->vcpu));
	g->nr_vcpus = kvm->nr_vcpus;
	if (!kvm_memory_describe(kvm, &g->memory, text, sizeof(text)))
		memcpy(g->unreadable, text, sizeof(text));
	if (!kvm->nr_slots || kvm->state & KVM_STATE_CHANGED)
		return 0;
	g->slot = calloc(kvm->nr_slots, sizeof(*kvm->slot));
	if (!g->slot)
		return fail(-ENOMEM, "out of memory");
	memcpy(g->slot, kvm->slot, kvm->nr_slots * sizeof(*kvm->slot));
	g->nr_slots = kvm->nr_slots;
	return 0;
}

int linux_guest_open(const struct vm *vm, const struct kvm_vm *kvm, const char *qmp,
		     uint64_t timeout_ns, struct linux_guest *ret)
{
	struct guest_space space = {0};
	char path[64];
	int err = qmp ? qmp_space(qmp, timeout_ns, &space) : 0;

	*ret = (struct linux_guest){.pid = vm->pid,
				    .ram_bytes = vm->memory_bytes,
				    .cr3 = space.cr3,
				    .paging = space.paging,
				    .ram.pagemap = -1};
	if (!err)
		err = memory_open(vm->pid, vm->start, &ret->memory);
	if (!err && is_encrypted(vm))
		snprintf(ret->unreadable, sizeof(ret->unreadable), "encrypted (SEV or TDX)");
	if (!err && kvm)
		err = kvm_use(kvm, ret);
	if (err)
		return err;
	snprintf(path, sizeof(path), "/proc/%d/pagemap", (int)vm->pid);
	ret->ram.pagemap = open(path, O_RDONLY | O_CLOEXEC);
	ret->ram.memory = &ret->memory;
	if (vm->start && proc_start(vm->pid) != vm->start)
		return fail(-ESRCH, "process %d has exited", (int)vm->pid);
	return 0;
}

void linux_guest_close(struct linux_guest *g)
{
	if (g->ram.pagemap >= 0)
		close(g->ram.pagemap);
	memory_close(&g->memory);
	kallsyms_deinit(&g->symbols);
	free(g->slot);
	free(g->vcpu);
	*g = (struct linux_guest){.ram.pagemap = -1};
}

int linux_guest_check(struct linux_guest *g, int err)
{
	if (!g->memory.maps || memory_reread(&g->memory) != -ESRCH)
		return err;
	return fail(-ESRCH, "the VM (process %d) ended while its memory was read", (int)g->pid);
}

/* ---- reading ---- */

void linux_reads_begin(struct linux_guest *g)
{
	g->nr_reads = 0;
}

void linux_reads_begin_alone(struct linux_guest *g)
{
	g->nr_reads = LINUX_READS_MAX - LINUX_READS_ALONE;
}

void linux_reads_allow(struct linux_guest *g, uint32_t nr)
{
	if (g->nr_reads < LINUX_READS_MAX) /* it is not over */
		g->nr_reads -= nr < g->nr_reads ? nr : g->nr_reads;
}

int linux_reads_end(const struct linux_guest *g, int err)
{
	if (g->nr_reads < LINUX_READS_MAX || err == -ENOMEM)
		return err;
	return fail(-E2BIG, "the guest's structures take too many reads for what is in them: they "
			    "are damaged, or made to cost time; the rest was not read");
}

int linux_read(struct linux_guest *g, uint64_t address, void *buf, size_t size)
{
	uint8_t *to = buf;

	while (size) {
		uint64_t page = address & ~(uint64_t)(GUEST_PAGE - 1), within = address - page;
		size_t part = GUEST_PAGE - within < size ? GUEST_PAGE - within : size;

		if (g->nr_reads == LINUX_READS_MAX)
			return -EFAULT;
		g->nr_reads++;
		if (page != g->page || !g->page_at) {
			g->page = page;
			g->page_at = guest_address(&g->memory, &g->ram.at, &g->space, page);
		}
		if (!g->page_at || memory_read(&g->memory, g->page_at + within, to, part))
			return -EFAULT;
		address += part;
		to += part;
		size -= part;
	}
	return 0;
}

int linux_read_u64(struct linux_guest *g, uint64_t address, uint64_t *ret)
{
	*ret = 0;
	return linux_read(g, address, ret, sizeof(*ret));
}

int linux_read_u32(struct linux_guest *g, uint64_t address, uint32_t *ret)
{
	*ret = 0;
	return linux_read(g, address, ret, sizeof(*ret));
}

/* Not beyond the page that the text ends in: the next one may be unmapped. */
int linux_read_text(struct linux_guest *g, uint64_t address, char *ret, size_t size)
{
	size_t len = 0;

	while (len + 1 < size) {
		size_t part = GUEST_PAGE - (address + len) % GUEST_PAGE;

		part = part < size - 1 - len ? part : size - 1 - len;
		if (linux_read(g, address + len, ret + len, part))
			return -EFAULT;
		len += strnlen(ret + len, part);
		if (!ret[len])
			break;
	}
	ret[len] = '\0';
	return 0;
}

uint64_t linux_symbol(const struct linux_guest *g, const char *name)
{
	const struct kallsym *s = kallsyms_find(&g->symbols, name);

	return s ? s->address : 0;
}

/*
 * One walk. Each entry must name the one before it as its `prev`: a list in which all do is no loop, and an entry that
 * was removed, or moved to another list, does not.
 */
static int list_walk(struct linux_guest *g, uint64_t head, unsigned int max, uint64_t **ret,
		     size_t *ret_nr)
{
	uint64_t at = head, link[2]; /* struct list_head: next, prev */

	for (unsigned int nr = 0; nr <= max; nr++) {
		uint64_t before = at;

		if (linux_read_u64(g, before, &at) || linux_read(g, at, link, sizeof(link)) ||
		    link[1] != before)
			return -EAGAIN;
		if (at == head)
			return 0;
		if (array_room(*ret, *ret_nr))
			return -ENOMEM;
		(*ret)[(*ret_nr)++] = at;
	}
	return -EAGAIN;
}

int linux_list_read(struct linux_guest *g, uint64_t head, unsigned int max, uint64_t **ret,
		    size_t *ret_nr)
{
	int err = -EAGAIN;

	*ret = NULL;
	for (int i = 0; i < LINUX_RETRIES && err == -EAGAIN; i++) {
		g->torn += i > 0;
		free(*ret);
		*ret = NULL;
		*ret_nr = 0;
		err = list_walk(g, head, max, ret, ret_nr);
	}
	return err;
}

/* The CPUs of a Linux guest, and where each has its per-CPU variables. */

/* Of all that the kernel was made for, started or not. At least 1. */
static uint32_t linux_cpus_possible(struct linux_guest *g)
{
	uint64_t symbol = linux_symbol(g, "nr_cpu_ids");
	uint32_t nr = 0;

	if (!symbol || linux_read_u32(g, symbol, &nr) || !nr)
		return 1;
	return nr < LINUX_CPUS_MAX ? nr : LINUX_CPUS_MAX;
}

/* A CPU that was never started still has the image's own copy of the variables. */
/*
 * What is to be added to the address of a per-CPU variable; offsets: address of __per_cpu_offset. False: this CPU was
 * never started, and has no variables of its own.
 */
static bool linux_percpu_offset(struct linux_guest *g, uint64_t offsets, uint32_t cpu,
				uint64_t *ret)
{
	return !linux_read_u64(g, offsets + 8 * (uint64_t)cpu, ret) && *ret < LINUX_IMAGE_MAP;
}

/* Without a mask of those that are online, all that were started are. */
static bool is_online(struct linux_guest *g, uint64_t mask, uint32_t cpu)
{
	uint8_t bits = 0;

	return !mask || (!linux_read(g, mask + cpu / CHAR_BIT, &bits, 1) &&
			 bits >> cpu % CHAR_BIT & 1);
}

int linux_cpus_online(struct linux_guest *g, struct linux_cpus *ret)
{
	uint64_t offsets = linux_symbol(g, "__per_cpu_offset");
	uint64_t mask = linux_symbol(g, "__cpu_online_mask");
	uint32_t nr = linux_cpus_possible(g);

	*ret = (struct linux_cpus){.cpu = calloc(nr, sizeof(*ret->cpu)),
				   .offset = calloc(nr, sizeof(*ret->offset))};
	if (!ret->cpu || !ret->offset)
		return fail(-ENOMEM, "out of memory");
	for (uint32_t cpu = 0; offsets && cpu < nr; cpu++)
		if (is_online(g, mask, cpu) &&
		    linux_percpu_offset(g, offsets, cpu, &ret->offset[ret->nr]))
			ret->cpu[ret->nr++] = cpu;
	return ret->nr ? 0
		       : fail(-ENOENT, "the guest's kernel has no per-CPU variables of a CPU that "
				       "is online (CONFIG_SMP)");
}

void linux_cpus_deinit(struct linux_cpus *c)
{
	free(c->cpu);
	free(c->offset);
	*c = (struct linux_cpus){0};
}

/* Where each CPU of a Linux guest has its current task: the same place from boot to reboot. */

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
		if (array_add(ret->cpu, ret->nr, cpu))
			return -ENOMEM;
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
