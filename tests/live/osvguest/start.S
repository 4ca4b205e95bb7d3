/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Goes to 64 bits and calls guest_main(start_info). */
#include "../pvh.inc"

guest_entry:
	long_mode_enter
	lea	stack_end(%rip), %rsp
	xor	%ebp, %ebp
	mov	%ebx, %edi		/* Xen's start_info */
	call	guest_main
1:	hlt
	jmp	1b

	long_mode_tables
	.globl	stack_begin
stack_begin:
	.skip	16384
	.globl	stack_end
stack_end:

	.section .note.GNU-stack, "", @progbits
