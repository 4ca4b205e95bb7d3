// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "fetch/osv_live.h"
#include "vm/space_qmp.h"

enum { SAMPLE_BYTES = 256 };

static int read_pages(struct osv_live *m, uint64_t address, uint8_t *to, size_t len)
{
	while (len) {
		uint64_t page = address & ~(uint64_t)(GUEST_PAGE - 1), within = address - page;
		size_t part = GUEST_PAGE - within < len ? GUEST_PAGE - within : len;

		if (page != m->page || !m->at) {
			m->page = page;
			m->at = guest_address(&m->memory, &m->ram, &m->space, page);
		}
		if (!m->at || memory_read(&m->memory, m->at + within, to, part))
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

/* Constants of the guest's ELF file must be at the addresses given by its page tables. */
static bool ram_fits(struct osv_live *m, uint64_t address, const uint8_t *wanted)
{
	uint8_t there[SAMPLE_BYTES];

	m->at = 0;
	return !read_pages(m, address, there, sizeof(there)) &&
	       !memcmp(there, wanted, sizeof(there));
}

static int ram_tries(const struct osv_live_vm *vm, const struct memory *m, struct guest_ram *tries)
{
	if (!vm->kvm || !vm->kvm->nr_slots)
		return guest_ram_tries(m, vm->ram_bytes, tries, GUEST_RAM_TRIES);
	tries[0] = guest_ram_of_slots(vm->kvm->slot, vm->kvm->nr_slots);
	return 1;
}

/* Finds the RAM that has the constants by these page tables. */
static bool ram_find(struct osv_live *m, const struct guest_ram *tries, int nr, uint64_t address,
		     const uint8_t *wanted)
{
	for (int i = 0; i < nr; i++) {
		m->ram = tries[i];
		if (ram_fits(m, address, wanted))
			return true;
	}
	return false;
}

/* All vCPUs of OSv have the same page tables, but one that has not been started yet has others. */
static bool vcpu_find(const struct kvm_vm *kvm, struct osv_live *m, const struct guest_ram *tries,
		      int nr, uint64_t address, const uint8_t *wanted)
{
	for (size_t i = 0; i < kvm->nr_vcpus; i++) {
		m->space = kvm->vcpu[i].space;
		if (ram_find(m, tries, nr, address, wanted))
			return true;
	}
	return false;
}

int osv_live_open(const struct osv_live_vm *vm, uint64_t timeout_ns, const struct layout *l,
		  struct osv_live *ret)
{
	struct guest_ram tries[GUEST_RAM_TRIES];
	uint8_t wanted[SAMPLE_BYTES];
	uint64_t address;
	int nr = 0, err = layout_constants(l, &address, wanted, sizeof(wanted));

	*ret = (struct osv_live){0};
	if (!err && vm->qmp)
		err = qmp_space(vm->qmp, timeout_ns, &ret->space);
	if (!err)
		err = memory_open(vm->pid, vm->start, &ret->memory);
	if (!err && (nr = ram_tries(vm, &ret->memory, tries)) < 0)
		err = nr;
	if (!err && (vm->qmp ? ram_find(ret, tries, nr, address, wanted)
			     : vcpu_find(vm->kvm, ret, tries, nr, address, wanted)))
		return 0;
	osv_live_close(ret);
	return err ? err
		   : fail(-ENOENT, "the guest's ELF file does not match the memory of process %d",
			  (int)vm->pid);
}

void osv_live_close(struct osv_live *m)
{
	memory_close(&m->memory);
}
