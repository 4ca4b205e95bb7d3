// SPDX-License-Identifier: GPL-2.0-or-later
/* A VMM with one vCPU, for the arm64 rig: runs guest.S until it is switched off, and prints its exits to user space. */
#include <fcntl.h>
#include <linux/kvm.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

enum { MEMORY_AT = 0x40000000, MEMORY_BYTES = 0x10000 };

/* KVM_REG_ARM64 | KVM_REG_SIZE_U64 | KVM_REG_ARM_CORE | the place of regs.pc in struct kvm_regs, in words */
#define REG_PC (0x6030000000100000ull | 2 * 32)

extern const char guest_begin[], guest_end[];

static int checked(const char *what, int result)
{
	if (result >= 0)
		return result;
	perror(what);
	exit(1);
}

static void *mapped(size_t bytes, int flags, int fd)
{
	void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags, fd, 0);

	checked("mmap", at == MAP_FAILED ? -1 : 0);
	return at;
}

static void memory_add(int vm)
{
	void *at = mapped(MEMORY_BYTES, MAP_PRIVATE | MAP_ANONYMOUS, -1);
	struct kvm_userspace_memory_region region = {.guest_phys_addr = MEMORY_AT,
						     .memory_size = MEMORY_BYTES,
						     .userspace_addr = (uintptr_t)at};

	memcpy(at, guest_begin, (size_t)(guest_end - guest_begin));
	checked("memory", ioctl(vm, KVM_SET_USER_MEMORY_REGION, &region));
}

static int vcpu_add(int vm)
{
	int vcpu = checked("vCPU", ioctl(vm, KVM_CREATE_VCPU, 0));
	struct kvm_vcpu_init init;
	uint64_t pc = MEMORY_AT;
	struct kvm_one_reg reg = {REG_PC, (uintptr_t)&pc};

	checked("target", ioctl(vm, KVM_ARM_PREFERRED_TARGET, &init));
	init.features[0] |= 1u << KVM_ARM_VCPU_PSCI_0_2;
	checked("init", ioctl(vcpu, KVM_ARM_VCPU_INIT, &init));
	checked("pc", ioctl(vcpu, KVM_SET_ONE_REG, &reg));
	return vcpu;
}

int main(void)
{
	int kvm = checked("/dev/kvm", open("/dev/kvm", O_RDWR | O_CLOEXEC));
	int vm = checked("VM", ioctl(kvm, KVM_CREATE_VM, 0)), vcpu;
	unsigned long mmio = 0;
	struct kvm_run *run;

	memory_add(vm);
	vcpu = vcpu_add(vm);
	run = mapped((size_t)ioctl(kvm, KVM_GET_VCPU_MMAP_SIZE, 0), MAP_SHARED, vcpu);
	do {
		checked("KVM_RUN", ioctl(vcpu, KVM_RUN, 0));
		mmio += run->exit_reason == KVM_EXIT_MMIO;
	} while (run->exit_reason == KVM_EXIT_MMIO);
	printf("vmm: %lu mmio, last exit %u\n", mmio, run->exit_reason);
	return 0;
}
