// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The names that hardware and KVM give to exit reasons, as the kernel's own tracepoints print them,
 * so that the names here are those of perf and trace-cmd.
 *
 * Sources: Intel SDM volume 3, appendix C (VMX basic exit reasons); AMD APM volume 2, appendix C
 * (SVM intercept codes) and the GHCB specification (0x80000000 up); Linux include/uapi/linux/kvm.h
 * (KVM_EXIT_*), arch/arm64/include/asm/{kvm_arm.h,kvm_asm.h,esr.h} (arm64).
 */
#include <string.h>
#include <strings.h>

#include "base/array.h"
#include "event/event.h"
#include "event/exit_reason.h"

struct number_name {
	uint32_t number;
	const char *name;
};

/* clang-format off */
static const struct number_name vmx[] = {
	{0, "EXCEPTION_NMI"}, {1, "EXTERNAL_INTERRUPT"}, {2, "TRIPLE_FAULT"}, {3, "INIT_SIGNAL"},
	{4, "SIPI_SIGNAL"}, {7, "INTERRUPT_WINDOW"}, {8, "NMI_WINDOW"}, {9, "TASK_SWITCH"},
	{10, "CPUID"}, {12, "HLT"}, {13, "INVD"}, {14, "INVLPG"}, {15, "RDPMC"}, {16, "RDTSC"},
	{18, "VMCALL"}, {19, "VMCLEAR"}, {20, "VMLAUNCH"}, {21, "VMPTRLD"}, {22, "VMPTRST"},
	{23, "VMREAD"}, {24, "VMRESUME"}, {25, "VMWRITE"}, {26, "VMOFF"}, {27, "VMON"},
	{28, "CR_ACCESS"}, {29, "DR_ACCESS"}, {30, "IO_INSTRUCTION"}, {31, "MSR_READ"},
	{32, "MSR_WRITE"}, {33, "INVALID_STATE"}, {34, "MSR_LOAD_FAIL"},
	{36, "MWAIT_INSTRUCTION"}, {37, "MONITOR_TRAP_FLAG"}, {39, "MONITOR_INSTRUCTION"},
	{40, "PAUSE_INSTRUCTION"}, {41, "MCE_DURING_VMENTRY"}, {43, "TPR_BELOW_THRESHOLD"},
	{44, "APIC_ACCESS"}, {45, "EOI_INDUCED"}, {46, "GDTR_IDTR"}, {47, "LDTR_TR"},
	{48, "EPT_VIOLATION"}, {49, "EPT_MISCONFIG"}, {50, "INVEPT"}, {51, "RDTSCP"},
	{52, "PREEMPTION_TIMER"}, {53, "INVVPID"}, {54, "WBINVD"}, {55, "XSETBV"},
	{56, "APIC_WRITE"}, {57, "RDRAND"}, {58, "INVPCID"}, {59, "VMFUNC"}, {60, "ENCLS"},
	{61, "RDSEED"}, {62, "PML_FULL"}, {63, "XSAVES"}, {64, "XRSTORS"}, {67, "UMWAIT"},
	{68, "TPAUSE"}, {74, "BUS_LOCK"}, {75, "NOTIFY"}, {77, "TDCALL"}, {84, "MSR_READ_IMM"},
	{85, "MSR_WRITE_IMM"},
};

static const struct number_name svm[] = {
	{0x0, "read_cr0"}, {0x2, "read_cr2"}, {0x3, "read_cr3"}, {0x4, "read_cr4"},
	{0x8, "read_cr8"}, {0x10, "write_cr0"}, {0x12, "write_cr2"}, {0x13, "write_cr3"},
	{0x14, "write_cr4"}, {0x18, "write_cr8"}, {0x20, "read_dr0"}, {0x21, "read_dr1"},
	{0x22, "read_dr2"}, {0x23, "read_dr3"}, {0x24, "read_dr4"}, {0x25, "read_dr5"},
	{0x26, "read_dr6"}, {0x27, "read_dr7"}, {0x30, "write_dr0"}, {0x31, "write_dr1"},
	{0x32, "write_dr2"}, {0x33, "write_dr3"}, {0x34, "write_dr4"}, {0x35, "write_dr5"},
	{0x36, "write_dr6"}, {0x37, "write_dr7"}, {0x40, "DE excp"}, {0x41, "DB excp"},
	{0x43, "BP excp"}, {0x44, "OF excp"}, {0x45, "BR excp"}, {0x46, "UD excp"},
	{0x47, "NM excp"}, {0x48, "DF excp"}, {0x4a, "TS excp"}, {0x4b, "NP excp"},
	{0x4c, "SS excp"}, {0x4d, "GP excp"}, {0x4e, "PF excp"}, {0x50, "MF excp"},
	{0x51, "AC excp"}, {0x52, "MC excp"}, {0x53, "XF excp"}, {0x60, "interrupt"},
	{0x61, "nmi"}, {0x62, "smi"}, {0x63, "init"}, {0x64, "vintr"}, {0x65, "cr0_sel_write"},
	{0x66, "read_idtr"}, {0x67, "read_gdtr"}, {0x68, "read_ldtr"}, {0x69, "read_rt"},
	{0x6a, "write_idtr"}, {0x6b, "write_gdtr"}, {0x6c, "write_ldtr"}, {0x6d, "write_rt"},
	{0x6e, "rdtsc"}, {0x6f, "rdpmc"}, {0x70, "pushf"}, {0x71, "popf"}, {0x72, "cpuid"},
	{0x73, "rsm"}, {0x74, "iret"}, {0x75, "swint"}, {0x76, "invd"}, {0x77, "pause"},
	{0x78, "hlt"}, {0x79, "invlpg"}, {0x7a, "invlpga"}, {0x7b, "io"}, {0x7c, "msr"},
	{0x7d, "task_switch"}, {0x7e, "ferr_freeze"}, {0x7f, "shutdown"}, {0x80, "vmrun"},
	{0x81, "hypercall"}, {0x82, "vmload"}, {0x83, "vmsave"}, {0x84, "stgi"}, {0x85, "clgi"},
	{0x86, "skinit"}, {0x87, "rdtscp"}, {0x88, "icebp"}, {0x89, "wbinvd"}, {0x8a, "monitor"},
	{0x8b, "mwait"}, {0x8d, "xsetbv"}, {0x8e, "rdpru"}, {0x8f, "write_efer_trap"}, {0x90, "write_cr0_trap"},
	{0x94, "write_cr4_trap"}, {0x98, "write_cr8_trap"}, {0xa2, "invpcid"}, {0xa5, "buslock"},
	{0xa6, "idle-halt"}, {0x400, "npf"}, {0x401, "avic_incomplete_ipi"},
	{0x402, "avic_unaccelerated_access"}, {0x403, "vmgexit"},
	{0x80000001, "vmgexit_mmio_read"}, {0x80000002, "vmgexit_mmio_write"},
	{0x80000003, "vmgexit_nmi_complete"}, {0x80000004, "vmgexit_ap_hlt_loop"},
	{0x80000005, "vmgexit_ap_jump_table"}, {0x80000010, "vmgexit_page_state_change"},
	{0x80000011, "vmgexit_guest_request"}, {0x80000012, "vmgexit_ext_guest_request"},
	{0x80000013, "vmgexit_ap_creation"}, {0x8000fffd, "vmgexit_hypervisor_feature"},
	{0xffffffff, "invalid_guest_state"},
};

enum { ARM64_HYP_GONE = EXIT_ARM64_RET | 0xff };

/* kvm_arm_exception_class; then kvm_arm_exception_type, less TRAP. */
static const struct number_name arm64[] = {
	{0x0, "UNKNOWN"}, {0x1, "WFx"}, {0x3, "CP15_32"}, {0x4, "CP15_64"}, {0x5, "CP14_MR"},
	{0x6, "CP14_LS"}, {0x7, "FP_ASIMD"}, {0x8, "CP10_ID"}, {0x9, "PAC"}, {0xc, "CP14_64"},
	{0xd, "BTI"}, {0xe, "ILL"}, {0x11, "SVC32"}, {0x12, "HVC32"}, {0x13, "SMC32"},
	{0x15, "SVC64"}, {0x16, "HVC64"}, {0x17, "SMC64"}, {0x18, "SYS64"}, {0x19, "SVE"},
	{0x1a, "ERET"}, {0x1c, "FPAC"}, {0x1d, "SME"}, {0x1f, "IMP_DEF"}, {0x20, "IABT_LOW"},
	{0x21, "IABT_CUR"}, {0x22, "PC_ALIGN"}, {0x24, "DABT_LOW"}, {0x25, "DABT_CUR"},
	{0x26, "SP_ALIGN"}, {0x27, "MOPS"}, {0x28, "FP_EXC32"}, {0x2c, "FP_EXC64"},
	{0x2f, "SERROR"}, {0x30, "BREAKPT_LOW"}, {0x31, "BREAKPT_CUR"}, {0x32, "SOFTSTP_LOW"},
	{0x33, "SOFTSTP_CUR"}, {0x34, "WATCHPT_LOW"}, {0x35, "WATCHPT_CUR"}, {0x38, "BKPT32"},
	{0x3a, "VECTOR32"}, {0x3c, "BRK64"},
	{EXIT_ARM64_RET | 0, "IRQ"}, {EXIT_ARM64_RET | 1, "EL1_SERROR"}, {EXIT_ARM64_RET | 3, "IL"},
	{ARM64_HYP_GONE, "HYP_GONE"},
};

static const struct number_name userspace[] = {
	{0, "KVM_EXIT_UNKNOWN"}, {1, "KVM_EXIT_EXCEPTION"}, {2, "KVM_EXIT_IO"},
	{3, "KVM_EXIT_HYPERCALL"}, {4, "KVM_EXIT_DEBUG"}, {5, "KVM_EXIT_HLT"},
	{6, "KVM_EXIT_MMIO"}, {7, "KVM_EXIT_IRQ_WINDOW_OPEN"}, {8, "KVM_EXIT_SHUTDOWN"},
	{9, "KVM_EXIT_FAIL_ENTRY"}, {10, "KVM_EXIT_INTR"}, {11, "KVM_EXIT_SET_TPR"},
	{12, "KVM_EXIT_TPR_ACCESS"}, {13, "KVM_EXIT_S390_SIEIC"}, {14, "KVM_EXIT_S390_RESET"},
	{15, "KVM_EXIT_DCR"}, {16, "KVM_EXIT_NMI"}, {17, "KVM_EXIT_INTERNAL_ERROR"},
	{18, "KVM_EXIT_OSI"}, {19, "KVM_EXIT_PAPR_HCALL"}, {20, "KVM_EXIT_S390_UCONTROL"},
	{21, "KVM_EXIT_WATCHDOG"}, {22, "KVM_EXIT_S390_TSCH"}, {23, "KVM_EXIT_EPR"},
	{24, "KVM_EXIT_SYSTEM_EVENT"}, {25, "KVM_EXIT_S390_STSI"}, {26, "KVM_EXIT_IOAPIC_EOI"},
	{27, "KVM_EXIT_HYPERV"}, {28, "KVM_EXIT_ARM_NISV"}, {29, "KVM_EXIT_X86_RDMSR"},
	{30, "KVM_EXIT_X86_WRMSR"}, {31, "KVM_EXIT_DIRTY_RING_FULL"},
	{32, "KVM_EXIT_AP_RESET_HOLD"}, {33, "KVM_EXIT_X86_BUS_LOCK"}, {34, "KVM_EXIT_XEN"},
	{35, "KVM_EXIT_RISCV_SBI"}, {36, "KVM_EXIT_RISCV_CSR"}, {37, "KVM_EXIT_NOTIFY"},
	{38, "KVM_EXIT_LOONGARCH_IOCSR"}, {39, "KVM_EXIT_MEMORY_FAULT"}, {40, "KVM_EXIT_TDX"},
	{41, "KVM_EXIT_ARM_SEA"}, {42, "KVM_EXIT_ARM_LDST64B"}, {43, "KVM_EXIT_SNP_REQ_CERTS"},
};
/*
 * Other names of VMX reasons: PENDING_INTERRUPT until Linux 5.5. And of SVM's, in trace-cmd's plugin
 * (libtraceevent, plugin_kvm.c), after its "EXIT_".
 */
static const struct number_name vmx_aliases[] = {{7, "PENDING_INTERRUPT"}};
static const struct number_name svm_aliases[] = {
	{0x60, "INTR"}, {0x66, "IDTR_READ"}, {0x67, "GDTR_READ"}, {0x68, "LDTR_READ"}, {0x69, "TR_READ"},
	{0x6a, "IDTR_WRITE"}, {0x6b, "GDTR_WRITE"}, {0x6c, "LDTR_WRITE"}, {0x6d, "TR_WRITE"},
	{0x7b, "IOIO"}, {0x81, "VMMCALL"}, {0x80000010, "VMGEXIT_PSC"}, {0x8c, "MWAIT_COND"}, {0xffffffff, "ERR"},
};
/* clang-format on */

#define LOOKUP(table, number) lookup(table, sizeof(table) / sizeof(table[0]), number)

/* The tables are sorted; every exit of a recording is looked up. */
static const char *lookup(const struct number_name *table, size_t nr, uint32_t number)
{
	size_t low = 0;

	while (nr) {
		size_t half = nr / 2;

		if (table[low + half].number == number)
			return table[low + half].name;
		if (table[low + half].number < number) {
			low += half + 1;
			nr -= half + 1;
		} else {
			nr = half;
		}
	}
	return NULL;
}

struct other_names {
	char name[EXIT_NAMES_MAX][EXIT_NAME_BYTES];
	uint32_t nr;
};

static struct other_names *other_names(void)
{
	static struct other_names process_wide;

	return &process_wide;
}

const char *exit_reason_name(uint32_t reason, uint32_t isa)
{
	switch (isa) {
	case EXIT_ISA_VMX: /* bits 16-31 are flags; bit 31: the VM entry failed (SDM vol. 3, 25.9.1)
			    */
		return LOOKUP(vmx, reason & 0xffff);
	case EXIT_ISA_SVM:
		return LOOKUP(svm, reason);
	case EXIT_ISA_ARM64:
		return LOOKUP(arm64, reason);
	case EXIT_ISA_NAMED:
		return reason < other_names()->nr ? other_names()->name[reason] : "other";
	default:
		return NULL;
	}
}

uint32_t exit_reason_arm64(uint32_t ret, uint32_t esr_ec)
{
	enum { TRAP = 2, HVC_STUB_ERR = 0xbadca11 };

	if (ret == TRAP)
		return esr_ec;
	return ret == HVC_STUB_ERR ? ARM64_HYP_GONE : EXIT_ARM64_RET + ret;
}

void exit_reason_arm64_named(const char *name, size_t len, uint32_t *ret_isa, uint32_t *ret_reason)
{
	static const char hyp_gone[] = "HYP_GONE";

	if (len == sizeof(hyp_gone) - 1 && !memcmp(name, hyp_gone, len)) {
		*ret_isa = EXIT_ISA_ARM64;
		*ret_reason = ARM64_HYP_GONE;
		return;
	}
	*ret_isa = EXIT_ISA_NAMED;
	*ret_reason = exit_reason_named(name, len);
}

/* Most names differ in the first letter, in whatever case it is. */
static bool may_be_equal(const char *a, const char *b)
{
	return !((*a ^ *b) & ~0x20);
}

static bool reason_table_find(const struct number_name *table, size_t nr, const char *name,
			      size_t len, int (*compare)(const char *a, const char *b, size_t n),
			      uint32_t *ret)
{
	for (size_t i = 0; i < nr; i++)
		if (may_be_equal(table[i].name, name) && !compare(table[i].name, name, len) &&
		    !table[i].name[len]) {
			*ret = table[i].number;
			return true;
		}
	return false;
}

#define FIND(table, compare)                                                                       \
	reason_table_find(table, sizeof(table) / sizeof(table[0]), name, len, compare, ret_reason)

static bool reason_begins(const char *name, size_t len, const char *with)
{
	return len > strlen(with) && !memcmp(name, with, strlen(with));
}

/* Names that are not written as the kernel does. */
static bool foreign_parse(const char *name, size_t len, uint32_t *ret_isa, uint32_t *ret_reason)
{
	size_t skip = reason_begins(name, len, "EXIT_REASON_") ? 12
		      : reason_begins(name, len, "EXIT_")      ? 5
							       : 0;
	char exception[] = "xx excp"; /* EXIT_EXCP_PF is "PF excp" */

	name += skip;
	len -= skip;
	if (skip == 5 && len == 7 && !memcmp(name, "EXCP_", 5)) {
		memcpy(exception, name + 5, 2);
		name = exception;
	}
	if (skip != 12 && (FIND(svm, strncasecmp) || FIND(svm_aliases, strncasecmp)))
		*ret_isa = EXIT_ISA_SVM;
	else if (FIND(vmx, strncasecmp) || FIND(vmx_aliases, strncasecmp))
		*ret_isa = EXIT_ISA_VMX;
	else
		return false;
	return true;
}

bool exit_reason_parse(const char *name, size_t len, uint32_t *ret_isa, uint32_t *ret_reason)
{
	if (FIND(vmx, strncmp) || FIND(vmx_aliases, strncmp)) {
		*ret_isa = EXIT_ISA_VMX;
		return true;
	}
	if (!FIND(svm, strncmp))
		return foreign_parse(name, len, ret_isa, ret_reason);
	*ret_isa = EXIT_ISA_SVM;
	return true;
}

uint32_t exit_reason_named(const char *name, size_t len)
{
	struct other_names *n = other_names();
	uint32_t i = 0;

	if (len >= EXIT_NAME_BYTES)
		len = EXIT_NAME_BYTES - 1;
	while (i < n->nr && (strncmp(n->name[i], name, len) || n->name[i][len]))
		i++;
	if (i == EXIT_NAMES_MAX)
		return UINT32_MAX;
	if (i == n->nr) {
		memcpy(n->name[n->nr++], name, len);
		text_sanitize(n->name[i]);
	}
	return i;
}

const char *userspace_reason_name(uint32_t reason)
{
	return LOOKUP(userspace, reason);
}

/* A name that means more than another (SVM's msr) stands for it, not the other way round. */
/* clang-format off */
static const struct {
	const char *name, *others;
} synonyms[] = {
	{"io", "IO_INSTRUCTION,KVM_EXIT_IO"},
	{"IO_INSTRUCTION", "io,KVM_EXIT_IO"},
	{"KVM_EXIT_IO", "io,IO_INSTRUCTION"},
	{"hlt", "KVM_EXIT_HLT"},
	{"KVM_EXIT_HLT", "hlt"},
	{"msr", "MSR_READ,MSR_WRITE,MSR_READ_IMM,MSR_WRITE_IMM"},
	{"npf", "EPT_VIOLATION,EPT_MISCONFIG"},
	{"interrupt", "EXTERNAL_INTERRUPT"},
	{"EXTERNAL_INTERRUPT", "interrupt"},
	{"vintr", "INTERRUPT_WINDOW"},
	{"INTERRUPT_WINDOW", "vintr"},
	{"hypercall", "VMCALL,KVM_EXIT_HYPERCALL"},
	{"VMCALL", "hypercall,KVM_EXIT_HYPERCALL"},
	{"KVM_EXIT_HYPERCALL", "hypercall,VMCALL"},
	{"pause", "PAUSE_INSTRUCTION"},
	{"PAUSE_INSTRUCTION", "pause"},
	{"monitor", "MONITOR_INSTRUCTION"},
	{"MONITOR_INSTRUCTION", "monitor"},
	{"mwait", "MWAIT_INSTRUCTION"},
	{"MWAIT_INSTRUCTION", "mwait"},
	{"shutdown", "TRIPLE_FAULT,KVM_EXIT_SHUTDOWN"},
	{"TRIPLE_FAULT", "shutdown,KVM_EXIT_SHUTDOWN"},
	{"KVM_EXIT_SHUTDOWN", "shutdown,TRIPLE_FAULT"},
	{"buslock", "BUS_LOCK"},
	{"BUS_LOCK", "buslock"},
};
/* clang-format on */

const char *exit_reason_synonyms(const char *name)
{
	for (size_t i = 0; i < sizeof(synonyms) / sizeof(synonyms[0]); i++)
		if (!strcasecmp(synonyms[i].name, name))
			return synonyms[i].others;
	return NULL;
}

#define KNOWS(table, name) knows(table, sizeof(table) / sizeof(table[0]), name)

static bool knows(const struct number_name *table, size_t nr, const char *name)
{
	return array_any(nr, i,
			 may_be_equal(table[i].name, name) && !strcasecmp(table[i].name, name));
}

bool exit_reason_known(const char *name)
{
	uint32_t isa, reason;

	/* "TRAP: HSR_EC: 0x0024 (DABT_LOW)": all traps of arm64 */
	return KNOWS(arm64, name) || !strcmp(name, "TRAP") ||
	       exit_reason_parse(name, strlen(name), &isa, &reason);
}

bool userspace_reason_known(const char *name)
{
	return KNOWS(userspace, name);
}

bool exit_reason_is_idle(const char *name)
{
	static const char *const idle[] = {"hlt", "KVM_EXIT_HLT", "mwait", "idle-halt", "WFx"};

	return array_any(sizeof(idle) / sizeof(idle[0]), i, !strcasecmp(name, idle[i]));
}
