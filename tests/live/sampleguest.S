/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A guest whose time is known: spin_hot has 70 % of it and spin_warm 30 %, each called by a function of its own, which
 * main_loop calls. 64 bits, 4-level paging, frame pointers; it runs until QEMU is ended. Started as a PVH kernel
 * (qemu -kernel). Nothing that a KVM without hardware help could not emulate.
 */
#include "pvh.inc"

guest_entry:
	cli
	cld
	movl	$pd, %edi		/* 1 GiB of 2 MiB pages */
	movl	$0x83, %eax
	movl	$512, %ecx
1:	movl	%eax, (%edi)
	movl	$0, 4(%edi)
	addl	$0x200000, %eax
	addl	$8, %edi
	decl	%ecx
	jnz	1b
	movl	$pd + 3, pdpt
	movl	$pdpt + 3, pml4
	movl	$pml4, %eax
	movl	%eax, %cr3
	movl	$0x20, %eax		/* CR4.PAE */
	movl	%eax, %cr4
	movl	$0xc0000080, %ecx	/* EFER.LME */
	rdmsr
	orl	$0x100, %eax
	wrmsr
	movl	%cr0, %eax
	orl	$0x80000001, %eax
	movl	%eax, %cr0
	lgdt	gdt_pointer
	ljmp	$0x08, $long_mode

	.code64
long_mode:
	movl	$0x10, %eax
	movl	%eax, %ds
	movl	%eax, %es
	movl	%eax, %ss
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

	.section .rodata
	.align	8
gdt:	.quad	0, 0x00af9a000000ffff, 0x00cf92000000ffff
gdt_pointer:
	.word	. - gdt - 1
	.long	gdt

	.bss
	.align	4096
pml4:	.skip	4096
pdpt:	.skip	4096
pd:	.skip	4096
	.skip	8192
stack_end:
