/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOSTRACE_EXIT_REASON_H
#define HOSTRACE_EXIT_REASON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * As x86's kvm_exit numbers them (KVM_ISA_VMX, KVM_ISA_SVM in arch/x86/kvm/trace.h). arm64's has no number: this one is
 * ours, far from those that x86 may use later.
 */
enum { EXIT_ISA_VMX = 1, EXIT_ISA_SVM = 2, EXIT_ISA_ARM64 = 0xaa64 };

/* Also ours: the reason is a name in a text that exit_reason_parse() does not know, numbered by exit_reason_named(). */
enum { EXIT_ISA_NAMED = 0x6e616d65, EXIT_NAMES_MAX = 256, EXIT_NAME_BYTES = 40 };
uint32_t exit_reason_named(const char *name, size_t len);

/*
 * The exit reason of arm64's kvm_exit (arch/arm64/kvm/trace_arm.h): ESR_EC of a trap, else its `ret` and this bit:
 * ESR_EC has six bits.
 */
enum { EXIT_ARM64_RET = 0x100 };
uint32_t exit_reason_arm64(uint32_t ret, uint32_t esr_ec);

/* A text has another word than those of `ret` that are known: HYP_GONE, or as exit_reason_named(). */
void exit_reason_arm64_named(const char *name, size_t len, uint32_t *ret_isa, uint32_t *ret_reason);

/* The kernel's name of a hardware exit reason; NULL if the ISA or the number is unknown. */
const char *exit_reason_name(uint32_t reason, uint32_t isa);

/*
 * The opposite: a name as the kernel prints it (any version), trace-cmd's plugin ("EXIT_NPF"), or another tool, in
 * either case. False: unknown. All names are compared.
 */
bool exit_reason_parse(const char *name, size_t len, uint32_t *ret_isa, uint32_t *ret_reason);

/* Is it the name of a hardware exit reason of any ISA, in either case, with or without EXIT_? */
bool exit_reason_known(const char *name);

/*
 * The names that an exit has elsewhere for the same cause, comma-separated: "IO_INSTRUCTION" and KVM_EXIT_IO are "io"
 * of SVM, "msr" is MSR_READ and MSR_WRITE of VMX. In either case; NULL: none.
 */
const char *exit_reason_synonyms(const char *name);

/* A HLT instruction, and no MWAIT; of arm64, WFI or WFE. */
static inline bool exit_is_halt(uint32_t reason, uint32_t isa)
{
	enum { VMX_HLT = 12, SVM_HLT = 0x78, SVM_IDLE_HLT = 0xa6, ARM64_WFX = 1 };

	return (isa == EXIT_ISA_VMX && (reason & 0xffff) == VMX_HLT) ||
	       (isa == EXIT_ISA_SVM && (reason == SVM_HLT || reason == SVM_IDLE_HLT)) ||
	       (isa == EXIT_ISA_ARM64 && reason == ARM64_WFX);
}

/* Is it that of a vCPU which has nothing to do: a halt? By number, and by name. */
static inline bool exit_is_idle(uint32_t reason, uint32_t isa)
{
	enum { SVM_MWAIT = 0x8b };

	return exit_is_halt(reason, isa) || (isa == EXIT_ISA_SVM && reason == SVM_MWAIT);
}

bool exit_reason_is_idle(const char *name);

/*
 * A vCPU that halts for less has not slept (two switches of threads and a wake-up take longer): something was pending
 * when it halted, or KVM's polling found it. Its CPU is busy.
 */
enum { EXIT_IDLE_MIN_NS = 5000 };

/* Halts of a second from which on those that are too short to be idle are reported. */
enum { EXIT_HALT_STORM = 10000 };

/* KVM_EXIT_*; NULL if unknown. */
const char *userspace_reason_name(uint32_t reason);
bool userspace_reason_known(const char *name);

#endif
