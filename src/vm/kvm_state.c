// SPDX-License-Identifier: GPL-2.0-or-later
/* Which threads are a process's vCPUs, by KVM's debugfs: /sys/kernel/debug/kvm/PID-FD/vcpuN/pid, for root only. */
#include <errno.h>
#include <inttypes.h>
#include <linux/kvm.h>

#include "base/array.h"
#include "base/error.h"
#include "base/order.h"
#include "vm/kvm_state.h"

static const char root[] = VCPU_DEBUGFS;

static const char *kvm_encryption(const struct kvm_vm *vm);

static int tid_read(const char *vm, const char *vcpu)
{
	char path[600];
	int tid = -1;

	snprintf(path, sizeof(path), "%s/%.64s/%.64s/pid", root, vm, vcpu);
	_cleanup_fclose_ FILE *f = fopen(path, "re");
	return f && fscanf(f, "%d", &tid) == 1 ? tid : -1;
}

static int debugfs_search(const char *vm, pid_t tid)
{
	char path[600];
	struct dirent *d;
	int index;

	snprintf(path, sizeof(path), "%s/%.64s", root, vm);
	_cleanup_closedir_ DIR *dir = opendir(path);
	while (dir && (d = readdir(dir)))
		if (sscanf(d->d_name, "vcpu%d", &index) == 1 && tid_read(vm, d->d_name) == tid)
			return index;
	return -1;
}

int vcpu_debugfs_index(pid_t pid, pid_t tid)
{
	_cleanup_closedir_ DIR *dir = opendir(root);
	struct dirent *d;
	int index = -1, owner;

	while (dir && index < 0 && (d = readdir(dir)))
		if (sscanf(d->d_name, "%d-", &owner) == 1 && owner == pid)
			index = debugfs_search(d->d_name, tid);
	return index;
}

/*
 * Which of a guest's memory the host can read. What KVM encrypts, or keeps in a guest_memfd, or the VMM has in
 * memfd_secret(2), or is a passed-through device's, cannot be read whatever the rights.
 */

enum place { PLACE_READABLE, PLACE_SECRET, PLACE_DEVICE, PLACE_UNMAPPED, NR_PLACES };

struct survey {
	uint64_t bytes[NR_PLACES], total;
};

static enum place place_of(const struct memory_range *r)
{
	return r->secret ? PLACE_SECRET : r->device ? PLACE_DEVICE : PLACE_READABLE;
}

static void slot_survey(const struct guest_slot *slot, const struct memory *m, struct survey *s)
{
	uint64_t mapped = 0, end = slot->process + slot->size;

	s->total += slot->size;
	for (unsigned int i = 0; i < m->nr; i++) {
		const struct memory_range *r = &m->range[i];
		uint64_t from = r->start > slot->process ? r->start : slot->process;
		uint64_t to = r->end < end ? r->end : end;

		if (from >= to)
			continue;
		s->bytes[place_of(r)] += to - from;
		mapped += to - from;
	}
	s->bytes[PLACE_UNMAPPED] += slot->size > mapped ? slot->size - mapped : 0;
}

static size_t bytes_print(uint64_t bytes, char *buf, size_t size)
{
	int len = bytes >= 1 << 20 ? snprintf(buf, size, "%.1f MiB", (double)bytes / (1 << 20))
				   : snprintf(buf, size, "%" PRIu64 " KiB", bytes >> 10);

	return len < 0 ? 0 : (size_t)len < size ? (size_t)len : size - 1;
}

static void places_print(const struct survey *s, char *buf, size_t size)
{
	static const char *const reasons[] = {
		[PLACE_SECRET] = "are in memfd_secret, which only the VMM can read",
		[PLACE_DEVICE] = "are a passed-through device's",
		[PLACE_UNMAPPED] = "are not mapped in the VMM",
	};
	size_t len = 0;

	for (int p = PLACE_SECRET; p < NR_PLACES; p++) {
		if (!s->bytes[p] || len + 1 >= size)
			continue;
		len += (size_t)snprintf(buf + len, size - len, "; ");
		len += len < size ? bytes_print(s->bytes[p], buf + len, size - len) : 0;
		len += len < size ? (size_t)snprintf(buf + len, size - len, " %s", reasons[p]) : 0;
	}
}

bool kvm_memory_describe(const struct kvm_vm *vm, const struct memory *m, char *buf, size_t size)
{
	const char *encryption = kvm_encryption(vm);
	struct survey s = {0};
	size_t len;

	if (encryption) {
		snprintf(buf, size, "encrypted (%s): the host cannot read it", encryption);
		return false;
	}
	if (!(vm->state & KVM_STATE_SLOTS)) {
		snprintf(buf, size, "KVM's memory slots are unknown: Linux before 5.17");
		return true;
	}
	if (vm->private_memory) {
		snprintf(buf, size,
			 "in a guest_memfd, which the VMM need not map: the host reads only what "
			 "the guest shares");
		return false;
	}
	for (size_t i = 0; m && i < vm->nr_slots; i++)
		slot_survey(&vm->slot[i], m, &s);
	len = bytes_print(kvm_memory_bytes(vm), buf, size);
	len += (size_t)snprintf(buf + len, size - len, " in %zu slot%s%s", vm->nr_slots,
				vm->nr_slots == 1 ? "" : "s",
				vm->state & KVM_STATE_CUT ? " and more" : "");
	if (m && len < size)
		places_print(&s, buf + len, size - len);
	return !m || s.bytes[PLACE_READABLE] > 0;
}

/* linux/kvm.h, arch/x86/include/uapi/asm/kvm.h of newer kernels than the build's */
enum { MEM_GUEST_MEMFD = 1 << 2 };
enum { TYPE_SEV = 2, TYPE_SEV_ES, TYPE_SNP, TYPE_TDX };

#define EFER_LMA  (UINT64_C(1) << 10)
#define EFER_SVME (UINT64_C(1) << 12)
#define CR4_LA57  (UINT64_C(1) << 12)
#define CR4_VMXE  (UINT64_C(1) << 13)

/* Slots are reported before their VM. */
struct parse {
	struct kvm_state *state;
	struct guest_slot *slot;
	size_t nr_slots;
	bool private_memory, dirty_log;
	uint64_t largest; /* slot's size */
};

static struct kvm_vm *vm_search(const struct kvm_state *s, const struct kvm_record *r)
{
	return array_find(s->vm, s->nr, i, s->vm[i].pid == (pid_t)r->pid && s->vm[i].id == r->kvm);
}

/* The VM of a record; a new one if it is the first. */
static struct kvm_vm *vm_of(struct kvm_state *s, const struct kvm_record *r)
{
	struct kvm_vm *vm = vm_search(s, r);

	if (vm || array_room(s->vm, s->nr))
		return vm;
	vm = &s->vm[s->nr++];
	*vm = (struct kvm_vm){.pid = (pid_t)r->pid, .id = r->kvm};
	return vm;
}

static int slot_parse(struct parse *p, const struct kvm_record *r)
{
	int err;

	p->private_memory |= r->slot.flags & MEM_GUEST_MEMFD;
	/* read-only ones are firmware */
	if (r->slot.flags & KVM_MEM_READONLY || !r->slot.size ||
	    r->slot.size > UINT64_MAX - r->slot.guest ||
	    r->slot.size > UINT64_MAX - r->slot.process)
		return 0;
	if (r->slot.size >= p->largest)
		p->dirty_log = r->slot.flags & KVM_MEM_LOG_DIRTY_PAGES;
	p->largest = r->slot.size > p->largest ? r->slot.size : p->largest;
	err = array_room(p->slot, p->nr_slots);
	if (!err)
		p->slot[p->nr_slots++] = (struct guest_slot){
			.guest = r->slot.guest, .process = r->slot.process, .size = r->slot.size};
	return err;
}

ORDER_BY(by_guest, struct guest_slot, guest, process)

/* KVM has no slots that overlap: if these do, they changed while they were read. */
static bool slots_overlap(const struct guest_slot *slot, size_t nr)
{
	for (size_t i = 1; i < nr; i++)
		if (slot[i].guest - slot[i - 1].guest < slot[i - 1].size)
			return true;
	return false;
}

/* A VM is reported once for each of its descriptors. */
static int vm_parse(struct parse *p, const struct kvm_record *r)
{
	struct kvm_vm *vm = vm_of(p->state, r);

	if (!vm)
		return -ENOMEM;
	if (p->nr_slots)
		qsort(p->slot, p->nr_slots, sizeof(*p->slot), by_guest);
	vm->type = r->vm.type;
	vm->state = r->vm.state;
	vm->ioapic_irr = r->vm.ioapic_irr;
	vm->ioapic_masked = r->vm.ioapic_masked;
	vm->pic_irr = r->vm.pic_irr;
	vm->pic_masked = r->vm.pic_masked;
	if (slots_overlap(p->slot, p->nr_slots))
		vm->state |= KVM_STATE_CHANGED;
	vm->private_memory = p->private_memory;
	vm->dirty_log = p->dirty_log;
	free(vm->slot);
	vm->slot = p->slot;
	vm->nr_slots = p->nr_slots;
	*p = (struct parse){.state = p->state};
	return 0;
}

uint64_t kvm_guest_tsc(const struct kvm_vcpu_state *v, uint64_t host_tsc)
{
	unsigned __int128 scaled = host_tsc;

	if (v->tsc_bits && v->tsc_bits < 64)
		scaled = scaled * v->tsc_ratio >> v->tsc_bits;
	return (uint64_t)scaled + v->tsc_offset;
}

static struct guest_space space_of(const struct kvm_record *r)
{
	if (!(r->vcpu.efer & EFER_LMA))
		return (struct guest_space){.paging = GUEST_PHYSICAL};
	return (struct guest_space){.paging = r->vcpu.cr4 & CR4_LA57 ? GUEST_PAGING_5
								     : GUEST_PAGING_4,
				    .cr3 = r->vcpu.cr3};
}

static int vcpu_parse(struct parse *p, const struct kvm_record *r)
{
	struct kvm_vm *vm = vm_of(p->state, r);
	size_t at;
	int err;

	if (!vm)
		return -ENOMEM;
	at = array_prefix(vm->nr_vcpus, i, vm->vcpu[i].index < r->vcpu.index);
	if (at < vm->nr_vcpus && vm->vcpu[at].index == r->vcpu.index)
		return 0;
	vm->hypervisor |= r->vcpu.efer & EFER_SVME || r->vcpu.cr4 & CR4_VMXE;
	err = array_room(vm->vcpu, vm->nr_vcpus);
	if (err)
		return err;
	memmove(vm->vcpu + at + 1, vm->vcpu + at, (vm->nr_vcpus - at) * sizeof(*vm->vcpu));
	vm->nr_vcpus++;
	struct kvm_vcpu_state *v = &vm->vcpu[at];

	*v = (struct kvm_vcpu_state){.index = r->vcpu.index,
				     .tid = (pid_t)r->vcpu.tid,
				     .space = space_of(r),
				     .state = r->vcpu.state,
				     .rip = r->vcpu.rip,
				     .tpr = r->vcpu.tpr,
				     .tsc_offset = r->vcpu.tsc_offset,
				     .tsc_ratio = r->vcpu.tsc_ratio,
				     .tsc_bits = r->vcpu.tsc_bits};
	memcpy(v->irr, r->vcpu.irr, sizeof(v->irr));
	memcpy(v->isr, r->vcpu.isr, sizeof(v->isr));
	return 0;
}

static int record_parse(struct parse *p, const struct kvm_record *r)
{
	switch (r->kind) {
	case KVM_RECORD_SLOT:
		return slot_parse(p, r);
	case KVM_RECORD_VM:
		return vm_parse(p, r);
	case KVM_RECORD_VCPU:
		return vcpu_parse(p, r);
	default:
		return fail(-EBADMSG, "KVM's state has a record of unknown kind %u", r->kind);
	}
}

int kvm_state_parse(const void *records, size_t size, struct kvm_state *ret)
{
	const char *at = records, *end = at + size;
	struct parse p = {.state = ret};
	struct kvm_record r;
	int err = 0;

	*ret = (struct kvm_state){0};
	for (; (size_t)(end - at) >= sizeof(r) && !err; at += sizeof(r)) {
		memcpy(&r, at, sizeof(r));
		err = record_parse(&p, &r);
	}
	free(p.slot);
	if (!err && at != end)
		err = fail(-EBADMSG, "KVM's state ends within a record");
	return err;
}

void kvm_state_free(struct kvm_state *s)
{
	for (size_t i = 0; i < s->nr; i++) {
		free(s->vm[i].slot);
		free(s->vm[i].vcpu);
	}
	free(s->vm);
	*s = (struct kvm_state){0};
}

const struct kvm_vm *kvm_state_of(const struct kvm_state *s, pid_t pid, unsigned int *ret_nr)
{
	const struct kvm_vm *best = NULL;
	unsigned int nr = 0;

	for (size_t i = 0; i < s->nr; i++) {
		const struct kvm_vm *vm = &s->vm[i];

		if (vm->pid != pid || !(vm->state & KVM_STATE_OWN))
			continue;
		nr++;
		if (!best || vm->nr_vcpus > best->nr_vcpus)
			best = vm;
	}
	if (ret_nr)
		*ret_nr = nr;
	return best;
}

/* "SEV", "SEV-ES", "SEV-SNP", "TDX"; NULL: the host can read the guest's memory. */
static const char *kvm_encryption(const struct kvm_vm *vm)
{
	if (vm->type == TYPE_TDX)
		return "TDX";
	if (vm->type == TYPE_SNP)
		return "SEV-SNP";
	if (vm->type == TYPE_SEV_ES || vm->state & KVM_STATE_SEV_ES)
		return "SEV-ES";
	return vm->type == TYPE_SEV || vm->state & KVM_STATE_SEV ? "SEV" : NULL;
}

/* With SEV-ES, KVM is given copies of the registers that a request of the guest needs, and no others. */
#define REGISTERS_HIDDEN                                                                           \
	"registers are encrypted: exits have no valid instruction pointer and samples show no "    \
	"guest code; ports, MMIO and MSRs are recorded as the guest requests them"

const char *encryption_effect(const char *encryption)
{
	static const char *const effects[][2] = {
		{"SEV", "registers are readable, memory is not: no guest symbols, tasks, rings"},
		{"SEV-ES", REGISTERS_HIDDEN},
		{"SEV-SNP", REGISTERS_HIDDEN "; with Secure TSC the guest's clock does not follow "
					     "the offset that KVM has"},
		{"TDX", REGISTERS_HIDDEN},
	};

	for (size_t i = 0; encryption && i < sizeof(effects) / sizeof(effects[0]); i++)
		if (!strcmp(effects[i][0], encryption))
			return effects[i][1];
	return NULL;
}

const char hypervisor_effect[] =
	"exits of its guests (L2) are recorded like its own (L1), and told apart by "
	"kvm_nested_vmexit: see 'hostrace exits --by level'; ports, MMIO and MSRs that it handles "
	"for them are recorded as exits only";

uint64_t kvm_memory_bytes(const struct kvm_vm *vm)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < vm->nr_slots; i++)
		sum += vm->slot[i].size;
	return sum;
}

void kvm_still_pending(struct kvm_vm *now, const struct kvm_vm *before)
{
	now->ioapic_irr &= before->ioapic_irr;
	now->pic_irr &= before->pic_irr;
	for (size_t i = 0; i < now->nr_vcpus; i++) {
		struct kvm_vcpu_state *v = &now->vcpu[i];
		size_t at = array_prefix(before->nr_vcpus, k, before->vcpu[k].index < v->index);
		bool known = at < before->nr_vcpus && before->vcpu[at].index == v->index;

		for (unsigned int w = 0; w < KVM_APIC_WORDS; w++)
			v->irr[w] &= known ? before->vcpu[at].irr[w] : 0;
	}
}

/* A QEMU that is starting has not created all of its vCPUs: those stay without a thread. */
static void vm_complete(const struct kvm_vm *kvm, struct vm *vm)
{
	size_t nr = kvm->nr_vcpus;
	struct vm_vcpu *vcpus;

	if (!vm->memory_bytes)
		vm->memory_bytes = kvm_memory_bytes(kvm);
	vm->encryption = kvm_encryption(kvm);
	vm->hypervisor = kvm->hypervisor;
	vm->dirty_log = kvm->dirty_log;
	if (!nr || nr > VM_VCPUS_MAX)
		return;
	if (vm->is_qemu && vm->nr_vcpus > nr)
		nr = vm->nr_vcpus;
	vcpus = calloc(nr + 1, sizeof(*vcpus));
	if (!vcpus)
		return;
	for (size_t i = 0; i < nr; i++)
		vcpus[i].index = (unsigned int)i;
	for (size_t i = 0; i < kvm->nr_vcpus; i++)
		vcpus[i] = (struct vm_vcpu){.index = kvm->vcpu[i].index, .tid = kvm->vcpu[i].tid};
	free(vm->vcpus);
	vm->vcpus = vcpus;
	vm->nr_vcpus = (unsigned int)nr;
}

void kvm_state_complete(const struct kvm_state *s, struct vm *vms, unsigned int nr)
{
	for (unsigned int i = 0; i < nr; i++) {
		const struct kvm_vm *kvm = kvm_state_of(s, vms[i].pid, NULL);

		if (kvm)
			vm_complete(kvm, &vms[i]);
	}
}
