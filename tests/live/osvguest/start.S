/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Goes to 64 bits, maps the first GiB of memory where the kernel is linked, too, and calls guest_main(start_info). Of
 * OSv: where threads begin, and how interrupts are entered.
 */
#include "../pvh.inc"

guest_entry:
	long_mode_enter
	movq	$page_directory + 3, page_pointers + 8
	movabs	$boot_stack_end, %rsp
	xor	%ebp, %ebp
	mov	%ebx, %edi		/* Xen's start_info */
	movabs	$guest_main, %rax
	call	*%rax
1:	hlt
	jmp	1b

	long_mode_tables

	.cfi_sections .eh_frame
	.section .text.kernel, "ax"

/* %rbp: the thread */
	.globl	thread_main
	.type	thread_main, @function
thread_main:
	.cfi_startproc simple
	.cfi_undefined %rip
	.cfi_def_cfa %rsp, 0
	mov	%rbp, %rdi
	call	thread_main_c
	hlt
	.cfi_endproc
	.size	thread_main, . - thread_main

/* interrupt_stack_enter(top, handler): what the CPU does, and then OSv's entry code */
	.globl	interrupt_stack_enter
	.type	interrupt_stack_enter, @function
interrupt_stack_enter:
	.cfi_startproc
	push	%rbp
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset %rbp, 0
	mov	%rsp, %rbp
	.cfi_def_cfa_register %rbp
	mov	%rsp, %rax
	mov	%rdi, %rsp
	pushq	$0x10
	push	%rax
	pushf
	pushq	$0x08
	pushq	$interrupted
	jmp	interrupt_entry
interrupted:
	nop
	pop	%rbp
	.cfi_def_cfa %rsp, 8
	ret
	.cfi_endproc
	.size	interrupt_stack_enter, . - interrupt_stack_enter

	.type	interrupt_entry, @function
interrupt_entry:
	.cfi_startproc simple
	.cfi_signal_frame
	.cfi_def_cfa %rsp, 0
	.cfi_offset %rip, 0
	.cfi_offset %rsp, 24
	push	%rax
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset %rax, 0
	push	%rbp
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset %rbp, 0
	mov	$0x1234, %ebx		/* OSv's handler has a frame pointer; the entry code has none */
	call	*%rsi
	pop	%rbp
	.cfi_adjust_cfa_offset -8
	pop	%rax
	.cfi_adjust_cfa_offset -8
	iretq
	.cfi_endproc
	.size	interrupt_entry, . - interrupt_entry

	.section .bss.kernel, "aw", @nobits
	.align	16
	.skip	16384
	.globl	boot_stack_end
boot_stack_end:

	.section .note.GNU-stack, "", @progbits
