/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Guests of one kind of exit each, to test what delays it. Started as PVH kernels (qemu -kernel):
 *
 *	(none)	reads a port of QEMU's (RTC index, 0x71) in a loop: each read needs the global mutex
 *	-DSLOW	reads that port 1,024 times in each exit, while it shows the time of day
 *	-DWRITE	writes to the debug console in a loop: QEMU waits while nobody reads that
 *	-DIDLE	halts until the next timer interrupt (18 a second)
 */
	.section .note.xen, "a", @note
	.align	4
	.long	4, 4, 18		/* XEN_ELFNOTE_PHYS32_ENTRY */
	.asciz	"Xen"
	.long	guest_entry

	.text
	.code32
	.globl	guest_entry
guest_entry:
	cli
	movb	$'R', %al		/* ready */
	outb	%al, $0xe9
#if defined(SLOW)
	xorl	%eax, %eax		/* seconds */
	outb	%al, $0x70
	movw	$0x71, %dx
1:	movl	$0x300000, %edi
	movl	$1024, %ecx
	rep insb
	jmp	1b
#elif defined(WRITE)
1:	outb	%al, $0xe9
	jmp	1b
#elif defined(IDLE)
	lgdt	gdt_register
	ljmp	$8, $1f
1:	movl	$16, %eax
	movl	%eax, %ds
	movl	%eax, %es
	movl	%eax, %ss
	movl	$stack_end, %esp
	movl	$idt, %edi
	movl	$256, %ecx
2:	movl	$timer, %eax		/* the firmware left the timer's vector to us */
	movw	%ax, (%edi)
	movw	$8, 2(%edi)
	movw	$0x8e00, 4(%edi)
	shrl	$16, %eax
	movw	%ax, 6(%edi)
	addl	$8, %edi
	loop	2b
	lidt	idt_register
	movb	$0x34, %al		/* timer 0: a rate, the lowest one */
	outb	%al, $0x43
	xorl	%eax, %eax
	outb	%al, $0x40
	outb	%al, $0x40
	movb	$0xfe, %al		/* no other interrupt */
	outb	%al, $0x21
	sti
3:	hlt
	jmp	3b
timer:
	movb	$0x20, %al
	outb	%al, $0x20		/* end of interrupt */
	addl	$12, %esp		/* instead of iret, which not every KVM emulates */
	sti
	jmp	3b

	.align	8
gdt:	.quad	0, 0x00cf9b000000ffff, 0x00cf93000000ffff
gdt_register:
	.word	. - gdt - 1
	.long	gdt
idt_register:
	.word	256 * 8 - 1
	.long	idt
	.bss
	.align	8
idt:	.skip	256 * 8
	.skip	4096
stack_end:
#else
1:	in	$0x71, %al
	jmp	1b
#endif
	.section .note.GNU-stack, "", @progbits
