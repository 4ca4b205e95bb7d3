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
	long_mode_enter
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

	.section .image, "a"
	.incbin	IMAGE_FILE

	long_mode_tables
