// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Port I/O, MSR and MMIO accesses as the exits contain them that they cause: for traces that lack kvm_pio, kvm_msr or
 * kvm_mmio. What each ISA's exits contain is in event/exit_access.h. None has bytes: an exit does not contain how many
 * accesses a REP instruction makes, nor the size of an MMIO access.
 */
#include "pairing/analyzer.h"

const struct analyzer exit_pio_analyzer = {
	.name = "exit-pio",
	.summary = "port I/O, by the exits that it causes",
	.begin = "kvm_exit",
	.access = EXIT_ACCESS_PORT,
	.by = "dir,port,size",
	.caveat =
		"port, direction and size are from the exit qualification (VMX) or EXITINFO1 (SVM) "
		"of kvm_exit; each exit counts as 1",
};

const struct analyzer exit_msr_analyzer = {
	.name = "exit-msr",
	.summary = "RDMSR and WRMSR, by the exits that they cause",
	.begin = "kvm_exit",
	.access = EXIT_ACCESS_MSR,
	.by = "dir,msr",
	.caveat = "the direction is from the exit reason (VMX) or EXITINFO1 (SVM) of kvm_exit; "
		  "exits do "
		  "not contain the MSR number, except VMX's of an immediate operand",
};

const struct analyzer exit_mmio_analyzer = {
	.name = "exit-mmio",
	.summary = "MMIO, by the exits that are certain to be MMIO",
	.begin = "kvm_exit",
	.access = EXIT_ACCESS_MMIO,
	.by = "dir,page,size",
	.caveat = "counted are EPT_MISCONFIG (VMX), which has neither address nor direction, and "
		  "npf with "
		  "a reserved bit in its error code (SVM), which has both; other page faults, such "
		  "as the "
		  "first access to a page, cannot be told from those of memory; each exit counts "
		  "as 1",
};
