/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Goes to 64 bits and calls guest_main(start_info). ring_map() adds the ring's own pages to the page tables. */
#include "../pvh.inc"

guest_entry:
	long_mode_enter
	mov	$stack_end, %esp
	mov	%ebx, %edi
	call	guest_main
1:	hlt
	jmp	1b

	.globl	tick
tick:	push	%rax
	mov	$0x20, %al		/* end of interrupt */
	out	%al, $0x20
	pop	%rax
	iretq

	long_mode_tables
	.skip	16384
stack_end:

	.section .note.GNU-stack, "", @progbits
