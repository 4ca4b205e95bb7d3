// SPDX-License-Identifier: GPL-2.0-or-later
/* Records of KVM's own state: descriptors held twice, slots that changed while they were read, what cannot be read. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <errno.h>
#include <linux/kvm.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "vm/kvm_state.h"

#define KIB(n) ((uint64_t)(n) << 10)
#define MIB(n) ((uint64_t)(n) << 20)

enum { PID = 100, OTHER = 200 };

static struct kvm_record slot(uint64_t guest, uint64_t size, uint64_t process, uint32_t flags)
{
	return (struct kvm_record){
		.kind = KVM_RECORD_SLOT, .pid = PID, .slot = {guest, size, process, flags, 0}};
}

static struct kvm_record vm_of(uint32_t pid, uint64_t kvm, uint32_t state, uint32_t type)
{
	return (struct kvm_record){.kind = KVM_RECORD_VM,
				   .pid = pid,
				   .kvm = kvm,
				   .vm = {.state = state, .type = type}};
}

static struct kvm_record vcpu(uint64_t kvm, uint32_t index, uint32_t tid)
{
	return (struct kvm_record){.kind = KVM_RECORD_VCPU,
				   .pid = PID,
				   .kvm = kvm,
				   .vcpu = {.index = index, .tid = tid}};
}

static void parse(const struct kvm_record *r, size_t bytes, struct kvm_state *ret)
{
	assert_int_equal(kvm_state_parse(r, bytes, ret), 0);
}

static void each_descriptor_reports_its_vm(void **state)
{
	const struct kvm_record r[] = {
		slot(MIB(1), MIB(7), 0x70000000, 0),
		slot(0, KIB(640), 0x90000000, 0),
		slot(0xfffc0000, KIB(256), 0x60000000, KVM_MEM_READONLY),
		vm_of(PID, 1, KVM_STATE_SLOTS | KVM_STATE_OWN, 0),
		vcpu(1, 1, 102),
		slot(MIB(1), MIB(7), 0x70000000, 0),
		slot(0, KIB(640), 0x90000000, 0),
		vm_of(PID, 1, KVM_STATE_SLOTS | KVM_STATE_OWN, 0),
		vcpu(1, 0, 101),
		vcpu(1, 1, 102), /* dup(2) */
		vm_of(OTHER, 1, KVM_STATE_SLOTS, 0),
	};
	struct kvm_state s;
	const struct kvm_vm *vm;
	unsigned int nr;

	(void)state;
	parse(r, sizeof(r), &s);
	vm = kvm_state_of(&s, PID, &nr);
	assert_non_null(vm);
	assert_int_equal(nr, 1);
	assert_int_equal(vm->nr_slots, 2);
	assert_int_equal(vm->slot[0].guest, 0);
	assert_int_equal(vm->slot[1].process, 0x70000000);
	assert_int_equal(kvm_memory_bytes(vm), MIB(7) + KIB(640));
	assert_int_equal(vm->nr_vcpus, 2);
	assert_int_equal(vm->vcpu[0].tid, 101);
	assert_int_equal(vm->vcpu[1].tid, 102);
	assert_null(kvm_state_of(&s, OTHER, NULL)); /* it only holds a descriptor */
	kvm_state_free(&s);
}

static void of_several_the_one_with_vcpus(void **state)
{
	const struct kvm_record r[] = {
		vm_of(PID, 1, KVM_STATE_OWN, 0),
		vm_of(PID, 2, KVM_STATE_OWN, 0),
		vcpu(2, 0, 101),
		vm_of(PID, 3, KVM_STATE_OWN, 0),
	};
	struct kvm_state s;
	unsigned int nr;

	(void)state;
	parse(r, sizeof(r), &s);
	assert_int_equal(kvm_state_of(&s, PID, &nr)->id, 2);
	assert_int_equal(nr, 3);
	kvm_state_free(&s);
}

static void interrupts_pending_at_both_looks(void **state)
{
	struct kvm_record before[] = {vm_of(PID, 1, KVM_STATE_OWN, 0), vcpu(1, 0, 101)},
			  now[] = {vm_of(PID, 1, KVM_STATE_OWN, 0), vcpu(1, 0, 101),
				   vcpu(1, 1, 102)};
	struct kvm_state a, b;

	(void)state;
	before[0].vm.ioapic_irr = 0x5;
	before[1].vcpu.irr[2] = 0x30000;
	now[0].vm.ioapic_irr = 0x6;
	now[1].vcpu.irr[2] = 0x20001;
	now[1].vcpu.state = KVM_VCPU_RIP;
	now[1].vcpu.rip = 0x1234;
	now[2].vcpu.irr[7] = 1; /* a vCPU that was not there */
	parse(before, sizeof(before), &a);
	parse(now, sizeof(now), &b);
	kvm_still_pending(&b.vm[0], &a.vm[0]);
	assert_int_equal(b.vm[0].ioapic_irr, 0x4);
	assert_int_equal(b.vm[0].vcpu[0].irr[2], 0x20000);
	assert_int_equal(b.vm[0].vcpu[0].rip, 0x1234);
	assert_int_equal(b.vm[0].vcpu[1].irr[7], 0);
	kvm_state_free(&a);
	kvm_state_free(&b);
}

static void slots_that_changed(void **state)
{
	const struct kvm_record r[] = {
		slot(0, MIB(2), 0x70000000, 0),
		slot(MIB(1), MIB(2), 0x90000000, 0),
		slot(MIB(8), UINT64_MAX, 0x1000, 0), /* no address is so high */
		vm_of(PID, 1, KVM_STATE_SLOTS | KVM_STATE_OWN, 0),
	};
	struct kvm_state s;

	(void)state;
	parse(r, sizeof(r), &s);
	assert_true(s.vm[0].state & KVM_STATE_CHANGED);
	assert_int_equal(s.vm[0].nr_slots, 2);
	kvm_state_free(&s);
}

static void broken_records(void **state)
{
	const struct kvm_record r[] = {
		slot(0, MIB(2), 0x70000000, 0), vm_of(PID, 1, 0, 0), {.kind = 77}};
	struct kvm_state s;

	(void)state;
	assert_int_equal(kvm_state_parse(r, sizeof(r), &s), -EBADMSG);
	kvm_state_free(&s);
	assert_int_equal(kvm_state_parse(r, sizeof(*r) + 1, &s), -EBADMSG);
	kvm_state_free(&s);
	assert_int_equal(kvm_state_parse(NULL, 0, &s), 0);
	assert_null(kvm_state_of(&s, PID, NULL));
	kvm_state_free(&s);
}

/* The description of a VM with this state and type, and one slot with these flags. */
static const char *described(uint32_t vm_state, uint32_t type, uint32_t flags, char *buf,
			     size_t size)
{
	const struct kvm_record r[] = {slot(0, MIB(3), 0x10000000, flags),
				       vm_of(PID, 1, vm_state | KVM_STATE_OWN, type)};
	struct memory_range range[4];
	struct memory m = {.range = range, .nr = 4};
	struct kvm_state s;

	assert_true(memory_range_parse("10000000-10100000 rw-p 0 00:00 0 ", &range[0]));
	assert_true(memory_range_parse("10100000-10180000 rw-s 0 00:0e 7 /secretmem", &range[1]));
	assert_true(memory_range_parse("10180000-101c0000 rw-s 0 00:0e 7 /dev/vfio/12", &range[2]));
	assert_true(memory_range_parse("10300000-20000000 rw-p 0 00:00 0 ", &range[3]));
	parse(r, sizeof(r), &s);
	kvm_memory_describe(&s.vm[0], &m, buf, size);
	kvm_state_free(&s);
	return buf;
}

static void what_cannot_be_read(void **state)
{
	char buf[256];

	(void)state;
	assert_string_equal(
		described(KVM_STATE_SLOTS, 0, 0, buf, sizeof(buf)),
		"3.0 MiB in 1 slot; 512 KiB are in memfd_secret, which only the VMM can "
		"read; 256 KiB are a passed-through device's; 1.2 MiB are not mapped in "
		"the VMM");
	assert_string_equal(described(KVM_STATE_SLOTS | KVM_STATE_SEV, 0, 0, buf, sizeof(buf)),
			    "encrypted (SEV): the host cannot read it");
	assert_string_equal(described(KVM_STATE_SLOTS | KVM_STATE_SEV | KVM_STATE_SEV_ES, 0, 0, buf,
				      sizeof(buf)),
			    "encrypted (SEV-ES): the host cannot read it");
	assert_string_equal(described(KVM_STATE_SLOTS, 5, 0, buf, sizeof(buf)),
			    "encrypted (TDX): the host cannot read it");
	assert_non_null(strstr(described(KVM_STATE_SLOTS, 1, 1 << 2, buf, sizeof(buf)),
			       "in a guest_memfd"));
	assert_non_null(strstr(described(0, 0, 0, buf, sizeof(buf)), "Linux before 5.17"));
	assert_string_equal(described(KVM_STATE_SLOTS, 0, 0, buf, 12), "3.0 MiB in ");
}

/* A VM that was found in /proc is told its encryption; the effect is known for each kind. */
static void encryption_of_a_vm(void **state)
{
	static const char *const names[] = {NULL, NULL, "SEV", "SEV-ES", "SEV-SNP", "TDX"};

	(void)state;
	for (uint32_t type = 0; type < 6; type++) {
		const struct kvm_record r[] = {vm_of(PID, 1, KVM_STATE_OWN, type)};
		struct vm vm = {.pid = PID, .encryption = "old"};
		struct kvm_state s;

		parse(r, sizeof(r), &s);
		kvm_state_complete(&s, &vm, 1);
		kvm_state_free(&s);
		if (names[type])
			assert_string_equal(vm.encryption, names[type]);
		else
			assert_null(vm.encryption);
		assert_int_equal(encryption_effect(vm.encryption) != NULL, names[type] != NULL);
	}
	assert_non_null(strstr(encryption_effect("SEV"), "registers are readable"));
	assert_non_null(strstr(encryption_effect("SEV-SNP"), "Secure TSC"));
	assert_null(encryption_effect("ROT13"));
}

/* SVM is enabled in EFER, VMX in CR4: one vCPU is enough. */
static void a_guest_with_guests(void **state)
{
	static const struct {
		uint64_t efer, cr4;
		bool hypervisor;
	} rows[] = {{0xd01, 0x6f0, false}, {0x1d01, 0x6f0, true}, {0xd01, 0x26f0, true}};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct kvm_record r[] = {vcpu(1, 0, 101), vcpu(1, 1, 102),
					 vm_of(PID, 1, KVM_STATE_OWN, 0)};
		struct vm vm = {.pid = PID, .hypervisor = !rows[i].hypervisor};
		struct kvm_state s;

		r[1].vcpu.efer = rows[i].efer;
		r[1].vcpu.cr4 = rows[i].cr4;
		parse(r, sizeof(r), &s);
		kvm_state_complete(&s, &vm, 1);
		kvm_state_free(&s);
		assert_int_equal(vm.hypervisor, rows[i].hypervisor);
		free(vm.vcpus);
	}
}

/* A display's memory is always logged: the largest slot decides. */
static void a_log_of_pages(void **state)
{
	static const struct {
		uint32_t ram, display;
	} rows[] = {{0, KVM_MEM_LOG_DIRTY_PAGES}, {KVM_MEM_LOG_DIRTY_PAGES, 0}};

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		const struct kvm_record r[] = {
			slot(0, KIB(640), 0x90000000, 0),
			slot(MIB(1), MIB(32), 0x70000000, rows[i].ram),
			slot(0xfd000000, MIB(16), 0x50000000, rows[i].display),
			vm_of(PID, 1, KVM_STATE_OWN, 0)};
		struct vm vm = {.pid = PID};
		struct kvm_state s;

		parse(r, sizeof(r), &s);
		kvm_state_complete(&s, &vm, 1);
		kvm_state_free(&s);
		assert_int_equal(vm.dirty_log, i == 1);
	}
}

/* Slots anywhere in the process: the way from the guest's address to the process's, and by offsets, and back. */
static void ram_by_slots(void **state)
{
	static const struct guest_slot slots[] = {{0, 0x90000000, KIB(640)},
						  {MIB(1), 0x50000000, MIB(3)},
						  {MIB(4), 0x10000000, MIB(4)}};
	const struct guest_ram ram = guest_ram_of_slots(slots, 3);
	const struct guest_space space = {.paging = GUEST_PHYSICAL};
	uint64_t left, offset;

	(void)state;
	assert_int_equal(ram.size, KIB(640) + MIB(7));
	assert_int_equal(guest_address(NULL, &ram, &space, KIB(640) - 1),
			 0x90000000 + KIB(640) - 1);
	assert_int_equal(guest_address(NULL, &ram, &space, KIB(640)), 0);
	assert_int_equal(guest_address(NULL, &ram, &space, MIB(1)), 0x50000000);
	assert_int_equal(guest_address(NULL, &ram, &space, MIB(4) + 5), 0x10000005);
	assert_int_equal(guest_address(NULL, &ram, &space, MIB(8)), 0);
	assert_int_equal(guest_address(NULL, &ram, &space, UINT64_MAX), 0);
	assert_int_equal(guest_ram_at(&ram, KIB(640) + MIB(3) - 1, &left), 0x50000000 + MIB(3) - 1);
	assert_int_equal(left, 1);
	assert_int_equal(guest_ram_at(&ram, ram.size, &left), 0);
	assert_int_equal(left, 0);
	assert_int_equal(guest_ram_physical(&ram, KIB(640) + MIB(3)), MIB(4));
	assert_int_equal(guest_ram_physical(&ram, ram.size), UINT64_MAX);
	assert_true(guest_ram_offset(&ram, MIB(4), &offset));
	assert_int_equal(offset, KIB(640) + MIB(3));
	assert_false(guest_ram_offset(&ram, MIB(1) - 1, &offset));
	assert_true(guest_ram_of_process(&ram, 0x10000000, &offset));
	assert_int_equal(offset, KIB(640) + MIB(3));
	assert_false(guest_ram_of_process(&ram, 0x60000000, &offset));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_descriptor_reports_its_vm),
		cmocka_unit_test(of_several_the_one_with_vcpus),
		cmocka_unit_test(interrupts_pending_at_both_looks),
		cmocka_unit_test(slots_that_changed),
		cmocka_unit_test(broken_records),
		cmocka_unit_test(what_cannot_be_read),
		cmocka_unit_test(a_guest_with_guests),
		cmocka_unit_test(a_log_of_pages),
		cmocka_unit_test(encryption_of_a_vm),
		cmocka_unit_test(ram_by_slots),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
