/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A guest whose time is known: spin_hot has 70 % of it and spin_warm 30 %, each called by a function of its own, which
 * main_loop calls. 64 bits, 4-level paging, frame pointers; it runs until QEMU is ended. Started as a PVH kernel
 * (qemu -kernel). Nothing that a KVM without hardware help could not emulate.
 */
#include "pvh.inc"

guest_entry:
	long_mode_enter
	movq	$stack_end, %rsp
	xorl	%ebp, %ebp
	call	main_loop

	.macro	function name
	.globl	\name
	.type	\name, @function
\name:
	pushq	%rbp
	movq	%rsp, %rbp
	.endm

	.macro	end_function name
	popq	%rbp
	ret
	.size	\name, . - \name
	.endm

	function main_loop
1:	call	call_hot
	call	call_warm
	jmp	1b
	end_function main_loop

	function call_hot
	movl	$7000, %ecx
	call	spin_hot
	nop
	end_function call_hot

	function call_warm
	movl	$3000, %ecx
	call	spin_warm
	nop
	end_function call_warm

	function spin_hot
1:	decl	%ecx
	jnz	1b
	end_function spin_hot

	function spin_warm
1:	decl	%ecx
	jnz	1b
	end_function spin_warm

	long_mode_tables
	.skip	8192
stack_end:
