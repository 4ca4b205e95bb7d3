// SPDX-License-Identifier: GPL-2.0-or-later
/* Decodes VMX's exit qualification (Intel SDM, volume 3) and SVM's EXITINFO1 and EXITINFO2 (AMD APM, volume 2). */
#include "event/exit_access.h"
#include "event/exit_reason.h"

enum {
	VMX_IO = 30,
	VMX_MSR_READ = 31,
	VMX_MSR_WRITE = 32,
	VMX_EPT_MISCONFIG = 49,
	VMX_MSR_READ_IMM = 84,
	VMX_MSR_WRITE_IMM = 85,
	SVM_IO = 0x7b,
	SVM_MSR = 0x7c,
	SVM_NPF = 0x400,
	NPF_WRITE = 1 << 1,
	NPF_RESERVED = 1 << 3,
};

static struct exit_access access_of(enum exit_access_kind kind)
{
	return (struct exit_access){.kind = kind,
				    .place = EXIT_ACCESS_UNKNOWN,
				    .size = EXIT_ACCESS_UNKNOWN,
				    .write = EXIT_ACCESS_UNKNOWN};
}

/*
 * Bits 2:0 size - 1, 3 direction (1 in), 5 REP, 31:16 port. All zero is a byte written to port 0, or a qualification
 * that was not recorded.
 */
static struct exit_access vmx_port(uint64_t info1)
{
	struct exit_access a = access_of(EXIT_ACCESS_PORT);
	uint64_t size = (info1 & 7) + 1;

	if (!info1 || (size != 1 && size != 2 && size != 4))
		return a;
	a.place = info1 >> 16 & 0xffff;
	a.size = size;
	a.write = !(info1 & 1 << 3);
	a.repeated = info1 & 1 << 5;
	return a;
}

/* Bit 0 direction (1 in), 3 REP, one of 4, 5 and 6 for 1, 2 and 4 bytes, 31:16 port. */
static struct exit_access svm_port(uint64_t info1)
{
	struct exit_access a = access_of(EXIT_ACCESS_PORT);
	uint64_t size = info1 >> 4 & 7;

	if (size != 1 && size != 2 && size != 4)
		return a;
	a.place = info1 >> 16 & 0xffff;
	a.size = size;
	a.write = !(info1 & 1);
	a.repeated = info1 & 1 << 3;
	return a;
}

/* The number is in ECX, which exits do not contain, or (immediate form) in the qualification. */
static struct exit_access vmx_msr(uint32_t reason, uint64_t info1)
{
	struct exit_access a = access_of(EXIT_ACCESS_MSR);

	a.write = reason == VMX_MSR_WRITE || reason == VMX_MSR_WRITE_IMM;
	if (reason >= VMX_MSR_READ_IMM)
		a.place = (uint32_t)info1;
	return a;
}

static struct exit_access svm_msr(uint64_t info1)
{
	struct exit_access a = access_of(EXIT_ACCESS_MSR);

	a.write = info1 & 1;
	a.from_info = true;
	return a;
}

/*
 * KVM marks pages without memory by a reserved bit, so that a fault with bit 3 set in its error code is an MMIO access
 * and no other is known to be one.
 */
static struct exit_access svm_npf(uint64_t info1, uint64_t info2)
{
	struct exit_access a = access_of(EXIT_ACCESS_MMIO);

	if (!(info1 & NPF_RESERVED))
		return access_of(EXIT_ACCESS_NONE);
	a.place = info2;
	a.write = !!(info1 & NPF_WRITE);
	return a;
}

static struct exit_access vmx_access(const struct exit_info *exit)
{
	uint32_t reason = exit->reason & 0xffff; /* bits 16-30 are flags */

	if (exit->reason >> 31) /* the VM-entry failed: nothing was executed */
		return access_of(EXIT_ACCESS_NONE);
	switch (reason) {
	case VMX_IO:
		return vmx_port(exit->info1);
	case VMX_MSR_READ:
	case VMX_MSR_WRITE:
	case VMX_MSR_READ_IMM:
	case VMX_MSR_WRITE_IMM:
		return vmx_msr(reason, exit->info1);
	case VMX_EPT_MISCONFIG: /* KVM misconfigures the entries of pages without memory; no qualification */
		return access_of(EXIT_ACCESS_MMIO);
	}
	return access_of(EXIT_ACCESS_NONE);
}

static struct exit_access svm_access(const struct exit_info *exit)
{
	switch (exit->reason) {
	case SVM_IO:
		return svm_port(exit->info1);
	case SVM_MSR:
		return svm_msr(exit->info1);
	case SVM_NPF:
		return svm_npf(exit->info1, exit->info2);
	}
	return access_of(EXIT_ACCESS_NONE);
}

struct exit_access exit_access(const struct exit_info *exit)
{
	switch (exit->isa) {
	case EXIT_ISA_VMX:
		return vmx_access(exit);
	case EXIT_ISA_SVM:
		return svm_access(exit);
	}
	return access_of(EXIT_ACCESS_NONE);
}
