// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/error.h"
#include "vm/kvm_memory.h"
#include "vm/linux/guest.h"
#include "vm/proc.h"
#include "vm/space_qmp.h"

/* Of a VM whose memory the host cannot read: QEMU's objects for SEV, SEV-SNP and TDX. */
static bool is_encrypted(const struct vm *vm)
{
	static const char *const objects[] = {"sev-guest", "sev-snp-guest", "tdx-guest"};

	for (size_t i = 0; i < sizeof(objects) / sizeof(*objects); i++)
		if (vm->cmdline && strstr(vm->cmdline, objects[i]))
			return true;
	return false;
}

/* The page tables of the first vCPU, as KVM has them cached, and the slots. */
static int kvm_use(const struct kvm_vm *kvm, struct linux_guest *g)
{
	char text[sizeof(g->unreadable)];

	if (!g->cr3 && kvm->nr_vcpus) {
		g->cr3 = kvm->vcpu[0].space.cr3;
		g->paging = kvm->vcpu[0].space.paging;
	}
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
	*g = (struct linux_guest){.ram.pagemap = -1};
}

/* ---- reading ---- */

void linux_reads_begin(struct linux_guest *g)
{
	g->nr_reads = 0;
}

int linux_reads_end(const struct linux_guest *g, int err)
{
	if (g->nr_reads < LINUX_READS_MAX || err == -ENOMEM)
		return err;
	return fail(-E2BIG, "the guest's structures take more than %d reads: they are damaged, or "
			    "made to cost time; the rest was not read",
		    LINUX_READS_MAX);
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
