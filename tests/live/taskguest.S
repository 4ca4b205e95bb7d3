/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A guest with the tables of a Linux kernel in its RAM (taskimage.c) and tasks that it "runs" by turns: it sets the
 * current task, and writes the low byte of its thread id to a port several times. So each access says whose it is. One
 * of the tasks claims to be on another CPU, as something would that is not a task: it must be unknown. 64 bits; started
 * as a PVH kernel (qemu -kernel); it runs until QEMU is ended.
 */
#include "pvh.inc"

	.set	SLOT, IMAGE_CURRENT	/* physical addresses of the kernel's variables: from taskimage.c */
	.set	JIFFIES, IMAGE_JIFFIES
	.set	PORT, 0x2f0
	.set	TASKS, 4
	.set	TASK_BYTES, 128
	.set	TURN, 20		/* accesses */

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
	movw	$PORT, %dx
	movq	$0xffff888000000000, %r8 /* the direct map */
1:	movl	$tasks, %ebx
	movl	$TASKS, %ecx
2:	incq	JIFFIES
	leaq	(%r8, %rbx), %rax
	movq	%rax, SLOT
	movl	$TURN, %esi
3:	movl	$200, %edi
4:	pause
	decl	%edi
	jnz	4b
	movl	(%rbx), %eax
	outb	%al, %dx
	decl	%esi
	jnz	3b
	addl	$TASK_BYTES, %ebx
	decl	%ecx
	jnz	2b
	jmp	1b

	/* offsets as the image's BTF has them */
	.macro	task tid, pid, comm, cpu
	.long	\tid, \pid
5:	.ascii	"\comm"
	.skip	80 - (. - 5b)
	.long	\cpu
	.skip	TASK_BYTES - 92
	.endm

	.data
	.align	128
tasks:	task	70, 70, "first", 0
	task	71, 70, "a thread", 0
	task	72, 72, "fifteen letters", 0
	task	73, 73, "no task", 1

	.section .rodata
	.align	8
gdt:	.quad	0, 0x00af9a000000ffff, 0x00cf92000000ffff
gdt_pointer:
	.word	. - gdt - 1
	.long	gdt

	.section .image, "a"
	.incbin	IMAGE_FILE

	.bss
	.align	4096
pml4:	.skip	4096
pdpt:	.skip	4096
pd:	.skip	4096
