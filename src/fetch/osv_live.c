// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A guest's virtual memory without its gdb stub: read through the process that owns it, while it runs, or from a dump.
 * vm/guest_ram.h walks the page tables. Their address: of a running guest QEMU's monitor or KVM, which has cached it;
 * in a dump the registers; else the guest's own variable, which lies at a known physical address, as its ELF file
 * is loaded there. The RAM, and the page tables, are right where they have the guest's own constants.
 */
#include <errno.h>
#include <inttypes.h>

#include "base/error.h"
#include "fetch/osv_live.h"
#include "vm/qmp.h"

#define ROOT_MASK UINT64_C(0x000ffffffffff000)

struct search {
	struct osv_live *live;
	struct guest_ram tries[GUEST_RAM_TRIES];
	int nr;
	uint64_t address; /* of the constants */
	uint8_t wanted[LAYOUT_SAMPLE_BYTES];
};

static int read_pages(struct osv_live *m, uint64_t address, uint8_t *to, size_t len)
{
	while (len) {
		uint64_t page = address & ~(uint64_t)(GUEST_PAGE - 1), within = address - page;
		size_t part = GUEST_PAGE - within < len ? GUEST_PAGE - within : len;

		if (page != m->page || !m->at) {
			m->page = page;
			m->at = guest_address(m->memory, &m->ram, &m->space, page);
		}
		if (!m->at || memory_read(m->memory, m->at + within, to, part))
			return -EFAULT;
		address += part;
		to += part;
		len -= part;
	}
	return 0;
}

int osv_live_read(struct osv_live *m, uint64_t address, void *ret, size_t len)
{
	return read_pages(m, address, ret, len)
		       ? fail(-EFAULT, "cannot read guest memory at 0x%" PRIx64, address)
		       : 0;
}

int osv_live_physical(struct osv_live *m, uint64_t address, void *ret, size_t len)
{
	struct osv_live physical = {.memory = m->memory, .ram = m->ram};

	return read_pages(&physical, address, ret, len)
		       ? fail(-EFAULT, "cannot read guest physical memory at 0x%" PRIx64, address)
		       : 0;
}

/* Constants of the guest's ELF file must be at the addresses given by its page tables. */
static bool ram_fits(struct search *s)
{
	uint8_t there[LAYOUT_SAMPLE_BYTES];

	s->live->at = 0;
	return !read_pages(s->live, s->address, there, sizeof(there)) &&
	       !memcmp(there, s->wanted, sizeof(there));
}

static int ram_tries(struct search *s, const struct osv_live_vm *vm)
{
	const struct guest_dump *d = &s->live->dump;

	s->nr = 1;
	if (d->slot)
		s->tries[0] = guest_ram_of_slots(d->slot, d->nr_segments);
	else if (vm->kvm && vm->kvm->nr_slots)
		s->tries[0] = guest_ram_of_slots(vm->kvm->slot, vm->kvm->nr_slots);
	else
		s->nr = guest_ram_tries(s->live->memory, vm->ram_bytes, s->tries, GUEST_RAM_TRIES);
	return s->nr < 0 ? s->nr : 0;
}

/* Finds the RAM that has the constants by these page tables. */
static bool ram_find(struct search *s)
{
	for (int i = 0; i < s->nr; i++) {
		s->live->ram = s->tries[i];
		if (ram_fits(s))
			return true;
	}
	return false;
}

/* All vCPUs of OSv have the same page tables, but one that has not been started yet has others. */
static bool vcpu_find(struct search *s, const struct kvm_vm *kvm)
{
	const struct guest_dump *d = &s->live->dump;

	for (size_t i = 0; kvm && i < kvm->nr_vcpus; i++) {
		s->live->space = kvm->vcpu[i].space;
		if (ram_find(s))
			return true;
	}
	for (unsigned int i = 0; i < d->nr_vcpus; i++) {
		s->live->space = (struct guest_space){GUEST_PAGING_4, d->vcpu[i].cr3};
		if (ram_find(s))
			return true;
	}
	return false;
}

/* By the variable in which the guest itself keeps it. */
static bool root_find(struct search *s, const struct layout *l)
{
	struct osv_live *m = s->live;
	uint64_t variable, root;

	if (layout_symbol(l, "_ZN3mmuL15page_table_rootE", &variable) ||
	    layout_physical(l, variable, &variable))
		return false;
	for (int i = 0; i < s->nr; i++) {
		m->ram = s->tries[i];
		if (osv_live_physical(m, variable, &root, sizeof(root)))
			continue;
		m->space = (struct guest_space){GUEST_PAGING_4, root & ROOT_MASK};
		if (root & ROOT_MASK && ram_fits(s))
			return true;
	}
	return false;
}

static int live_search(const struct osv_guest_options *opt, struct search *s,
		       const struct layout *l)
{
	const struct osv_live_vm *vm = &opt->vm;
	int err = vm->qmp ? qmp_space(vm->qmp, opt->timeout_ns, &s->live->space) : 0;

	if (!err)
		err = ram_tries(s, vm);
	if (err || (vm->qmp && ram_find(s)) || vcpu_find(s, vm->kvm) || root_find(s, l))
		return err;
	if (opt->dump)
		return fail(-ENOENT, "the guest's ELF file does not match the memory in %s%s",
			    opt->dump,
			    s->live->dump.cut_bytes ? ", a part of which is missing: the file is "
						      "truncated"
						    : "");
	if (vm->unknown[0])
		return fail_hint(fail(-ENOENT,
				      "%s, and the ELF file of the guest does not lead to "
				      "the page tables, either",
				      vm->unknown),
				 "try: --qmp SOCKET (QEMU's monitor, which knows the page tables)");
	return fail(-ENOENT, "the guest's ELF file does not match the memory of process %d",
		    (int)vm->pid);
}

int osv_live_open(const struct osv_guest_options *opt, const struct layout *l, struct osv_live *ret)
{
	struct search s = {.live = ret};
	int err = layout_constants(l, &s.address, s.wanted, sizeof(s.wanted));

	*ret = (struct osv_live){.memory = opt->dump ? &ret->dump.memory : &ret->process};
	if (!err)
		err = opt->dump ? guest_dump_open(opt->dump, &ret->dump)
				: memory_open(opt->vm.pid, opt->vm.start, &ret->process);
	if (!err)
		err = live_search(opt, &s, l);
	if (err)
		osv_live_close(ret);
	return err;
}

void osv_live_close(struct osv_live *m)
{
	memory_close(&m->process);
	guest_dump_close(&m->dump);
	m->memory = NULL;
}
