/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Guests of one kind of exit each, to test what delays it. Started as PVH kernels (qemu -kernel):
 *
 *	(none)	reads a port of QEMU's (RTC index, 0x71) in a loop: each read needs the global mutex
 *	-DSLOW	reads that port 1,024 times in each exit, while it shows the time of day
 *	-DWRITE	writes to the debug console in a loop: QEMU waits while nobody reads that
 *	-DPAGES	lets QEMU write to a page after the other, from 16 MiB on (fw_cfg, DMA)
 *	-DTOUCH	writes to these pages itself
 *	-DIDLE	halts until the next timer interrupt (18 a second)
 */
#include "pvh.inc"

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
#elif defined(PAGES)
1:	movl	$0x1000000, %ebx
2:	movl	$0x200000, %edi		/* struct FWCfgDmaAccess, big endian: */
	movl	$0x0a000000, (%edi)	/* select item 0 and read */
	movl	$0x04000000, 4(%edi)	/* 4 bytes */
	movl	$0, 8(%edi)
	movl	%ebx, %eax
	bswap	%eax
	movl	%eax, 12(%edi)		/* to this page */
	movw	$0x514, %dx
	xorl	%eax, %eax
	outl	%eax, %dx
	movw	$0x518, %dx
	movl	%edi, %eax
	bswap	%eax
	outl	%eax, %dx
	movl	$20000, %ecx		/* others need the global mutex, too */
3:	loop	3b
	addl	$0x1000, %ebx
	cmpl	$0x1800000, %ebx
	jb	2b
	jmp	1b
#elif defined(TOUCH)
1:	movl	$0x1000000, %ebx
2:	movb	%al, (%ebx)
	addl	$0x1000, %ebx
	cmpl	$0x1800000, %ebx
	jb	2b
	jmp	1b
#elif defined(IDLE)
	segments_load stack_end
	movl	$idt, %edi
	movl	$256, %ecx
2:	movl	$timer, %eax		/* the firmware left the timer's vector to us */
	call	gate_set
	loop	2b
	lidt	idt_pointer
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

	segment_tables
	.skip	4096
stack_end:
#else
1:	in	$0x71, %al
	jmp	1b
#endif
	.section .note.GNU-stack, "", @progbits
