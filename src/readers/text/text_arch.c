// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * KVM's events of architectures that are not supported have names of x86 and arm64 but other fields: such lines are
 * kept as text. Sources: trace.h of arch/riscv/kvm, loongarch and mips, trace_pr.h and trace_booke.h of powerpc:
 *
 *	kvm_exit: SEPC:0xffffffff8000a1b4, SCAUSE:0x15, STVAL:0x10000005, HTVAL:0x4000001, HTINST:0x0	RISC-V
 *	kvm_exit: [CSR]PC: 0x9000000000a1b4 Inst word: 0x04001234					LoongArch
 *	kvm_exit: [TLB Miss (LD)]PC: 0x80100000								MIPS
 *	kvm_exit: exit=SYSCALL | pc=0x10 | msr=0x90 | dar=0x0 | last_inst=0x44000002			PowerPC
 *
 * RISC-V prints the address at an entry with the format "0x016%lx": "PC: 0x01680000000" is 0x80000000.
 */
#include <string.h>

#include "readers/text/lines.h"
#include "readers/text/tracetext.h"

static bool is_named(struct text_slice name, const char *text)
{
	return name.len == strlen(text) && !memcmp(name.at, text, name.len);
}

static bool has(struct text_slice text, const char *word)
{
	return memmem(text.at, text.len, word, strlen(word)) != NULL;
}

/* "PC: 0x016" and the digits: arm64 has 16 in all, or in old kernels 8 or more, of which then the first is not 0. */
static bool is_riscv_entry(struct text_slice text)
{
	static const char pc[] = "PC: 0x016";
	size_t skip = sizeof(pc) - 1, all;

	if (text.len < skip || memcmp(text.at, pc, skip) != 0)
		return false;
	all = strspn(text.at + skip, "0123456789abcdef") + strlen("016");
	return all != 8 && all != 16;
}

static const char *foreign_arch(struct text_slice name, struct text_slice text)
{
	if (is_named(name, "kvm_entry"))
		return is_riscv_entry(text) ? "RISC-V" : NULL;
	if (!is_named(name, "kvm_exit"))
		return NULL;
	if (text.len > 5 && !memcmp(text.at, "SEPC:", 5))
		return "RISC-V";
	if (text.len > 5 && !memcmp(text.at, "exit=", 5) && has(text, " | pc="))
		return "PowerPC";
	if (text.len && *text.at == '[' && has(text, "]PC: 0x"))
		return has(text, "Inst word: ") ? "LoongArch" : "MIPS";
	return NULL;
}

const struct kernel_event *text_kind_supported(const struct text_line *l, const char **arch)
{
	const char *foreign = foreign_arch(l->name, l->text);

	if (!foreign)
		return text_kind_of(l->system, l->name);
	*arch = foreign;
	return NULL;
}
