/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The access to a device or register that an exit was made for, as far as the exit itself has it: traces without
 * kvm_pio, kvm_msr or kvm_mmio contain at least this. What an exit does not contain is unknown, never assumed.
 *
 * Sources: Intel SDM volume 3, "Exit Qualification for I/O Instructions" and appendix C; AMD APM volume 2, "IOIO
 * intercept", "MSR intercepts" and "nested page faults"; Linux arch/x86/kvm/vmx/vmx.c (handle_ept_misconfig,
 * handle_rdmsr_imm) and arch/x86/kvm/mmu/mmu.c (kvm_mmu_page_fault).
 */
#ifndef HOSTRACE_EXIT_ACCESS_H
#define HOSTRACE_EXIT_ACCESS_H

#include <stdbool.h>
#include <stdint.h>

#define EXIT_ACCESS_UNKNOWN UINT64_MAX

enum exit_access_kind {
	EXIT_ACCESS_NONE, /* an exit for another reason, or for one that may be another */
	EXIT_ACCESS_PORT,
	EXIT_ACCESS_MSR,
	EXIT_ACCESS_MMIO,
};

/* As the kvm_exit tracepoint reports an exit; info1 and info2 are 0 if the trace lacks them. */
struct exit_info {
	uint32_t reason, isa;
	uint64_t info1, info2;
};

struct exit_access {
	enum exit_access_kind kind;
	uint64_t place; /* port, MSR number or guest physical address; EXIT_ACCESS_UNKNOWN, as below */
	uint64_t size;  /* bytes */
	uint64_t write; /* 1 to the device, 0 from it */
	bool repeated;	/* a REP instruction: more than one access is possible */
	bool from_info; /* the direction is from info1, where 0 also means "not recorded" */
};

struct exit_access exit_access(const struct exit_info *exit);

#endif
