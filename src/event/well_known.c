// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Sources: QEMU's `info mtree` of the pc and q35 machines, docs/specs/fw_cfg
 * and pvpanic; Linux arch/x86/include/asm/msr-index.h, hyperv-tlfs.h and
 * Documentation/virt/kvm/x86/msr.rst.
 */
#include <stddef.h>
#include <string.h>

#include "event/well_known.h"

struct range {
	uint32_t first, last;
	const char *name;
};

/* clang-format off */
static const struct range ports[] = {
	{0x00, 0x0f, "DMA"}, {0x20, 0x21, "PIC"}, {0x40, 0x43, "PIT timer"}, {0x60, 0x60, "keyboard"},
	{0x61, 0x61, "PC speaker"}, {0x64, 0x64, "keyboard"}, {0x70, 0x71, "CMOS clock"},
	{0x80, 0x8f, "DMA page, POST code"}, {0x92, 0x92, "A20 gate"}, {0xa0, 0xa1, "PIC"},
	{0xb2, 0xb3, "ACPI SMI"}, {0xc0, 0xdf, "DMA"}, {0xe9, 0xe9, "debug console"}, {0xf0, 0xf0, "FPU error"},
	{0xf4, 0xf4, "debug exit"}, {0x170, 0x177, "IDE"}, {0x1f0, 0x1f7, "IDE"},
	{0x278, 0x27f, "LPT2"}, {0x2e8, 0x2ef, "COM4"}, {0x2f8, 0x2ff, "COM2"},
	{0x376, 0x376, "IDE"}, {0x378, 0x37f, "LPT1"}, {0x3c0, 0x3df, "VGA"},
	{0x3e8, 0x3ef, "COM3"}, {0x3f1, 0x3f5, "floppy"}, {0x3f6, 0x3f6, "IDE"},
	{0x3f7, 0x3f7, "floppy"}, {0x3f8, 0x3ff, "COM1"}, {0x402, 0x402, "firmware debug"},
	{0x4d0, 0x4d1, "PIC trigger"}, {0x505, 0x505, "pvpanic"}, {0x510, 0x51b, "fw_cfg"},
	{0x600, 0x67f, "ACPI PM"}, {0xae00, 0xae13, "PCI hot-plug"}, {0xaf00, 0xaf1f, "CPU hot-plug"},
	{0xb000, 0xb03f, "ACPI PM"}, {0xcd8, 0xcdf, "CPU hot-plug"}, {0xcf8, 0xcfb, "PCI config address"},
	{0xcfc, 0xcff, "PCI config data"}, {0x5658, 0x5658, "vmport"},
};

static const struct range mmio[] = {
	{0xa0000, 0xbffff, "VGA"}, {0xb0000000, 0xbfffffff, "PCI config"}, {0xfec00000, 0xfec00fff, "I/O APIC"},
	{0xfed00000, 0xfed003ff, "HPET"}, {0xfed40000, 0xfed44fff, "TPM"}, {0xfee00000, 0xfeefffff, "local APIC"},
	{0xffc00000, 0xffffffff, "firmware"},
};

static const struct range msrs[] = {
	{0x10, 0x10, "TSC"}, {0x1b, 0x1b, "APIC_BASE"}, {0x3a, 0x3a, "FEATURE_CONTROL"},
	{0x3b, 0x3b, "TSC_ADJUST"}, {0x48, 0x48, "SPEC_CTRL"}, {0x49, 0x49, "PRED_CMD"},
	{0x8b, 0x8b, "UCODE_REV"}, {0xc1, 0xc8, "PMC"}, {0xce, 0xce, "PLATFORM_INFO"}, {0xfe, 0xfe, "MTRRcap"},
	{0x11, 0x11, "KVM_WALL_CLOCK"}, {0x12, 0x12, "KVM_SYSTEM_TIME"}, {0x174, 0x176, "SYSENTER"},
	{0x179, 0x17b, "MCG"}, {0x186, 0x189, "PERFEVTSEL"}, {0x1a0, 0x1a0, "MISC_ENABLE"},
	{0x200, 0x26f, "MTRR"}, {0x277, 0x277, "PAT"}, {0x2ff, 0x2ff, "MTRRdefType"},
	{0x38d, 0x390, "PERF_GLOBAL"}, {0x400, 0x47f, "MC bank"}, {0x6e0, 0x6e0, "TSC_DEADLINE"},
	{0x802, 0x802, "X2APIC ID"}, {0x808, 0x808, "X2APIC TPR"}, {0x80b, 0x80b, "X2APIC EOI"},
	{0x830, 0x830, "X2APIC ICR"}, {0x832, 0x837, "X2APIC LVT"}, {0x838, 0x838, "X2APIC TMICT"},
	{0x83f, 0x83f, "X2APIC SELF_IPI"}, {0x800, 0x8ff, "X2APIC"},
	{0x40000000, 0x400000ff, "Hyper-V"}, {0x4b564d00, 0x4b564d00, "KVM_WALL_CLOCK_NEW"},
	{0x4b564d01, 0x4b564d01, "KVM_SYSTEM_TIME_NEW"}, {0x4b564d02, 0x4b564d02, "KVM_ASYNC_PF_EN"},
	{0x4b564d03, 0x4b564d03, "KVM_STEAL_TIME"}, {0x4b564d04, 0x4b564d04, "KVM_PV_EOI"},
	{0x4b564d05, 0x4b564d05, "KVM_POLL_CONTROL"}, {0x4b564d06, 0x4b564d08, "KVM_ASYNC_PF"},
	{0xc0000080, 0xc0000080, "EFER"}, {0xc0000081, 0xc0000084, "SYSCALL"}, {0xc0000100, 0xc0000100, "FS_BASE"},
	{0xc0000101, 0xc0000101, "GS_BASE"}, {0xc0000102, 0xc0000102, "KERNEL_GS_BASE"},
	{0xc0000103, 0xc0000103, "TSC_AUX"}, {0xc0010000, 0xc0010007, "K7 PMC"}, {0xc0010010, 0xc0010010, "SYSCFG"},
	{0xc0010015, 0xc0010015, "HWCR"}, {0xc0010117, 0xc0010117, "VM_HSAVE_PA"}, {0xc0010140, 0xc0010141, "OSVW"},
};
/* clang-format on */

static const char *range_name(const struct range *range, size_t nr, uint64_t number)
{
	for (size_t i = 0; i < nr; i++)
		if (number >= range[i].first && number <= range[i].last)
			return range[i].name;
	return NULL;
}

const char *well_known_name(const char *kind, uint64_t number)
{
	if (!strcmp(kind, "port"))
		return range_name(ports, sizeof(ports) / sizeof(ports[0]), number);
	if (!strcmp(kind, "mmio"))
		return range_name(mmio, sizeof(mmio) / sizeof(mmio[0]), number);
	if (!strcmp(kind, "msr"))
		return range_name(msrs, sizeof(msrs) / sizeof(msrs[0]), number);
	return NULL;
}
