/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Guests of one kind of exit each, to test what delays it. Started as PVH kernels (qemu -kernel):
 *
 *	(none)	reads a port of QEMU's (RTC index, 0x71) in a loop: each read needs the global mutex
 *	-DSLOW	reads that port 1,024 times in each exit, while it shows the time of day
 *	-DBAR	reads registers of the PCI device in slot 5, an e1000: by its ports and by its memory, from the
 *		addresses that the firmware has assigned; shows when it has done so 16 times
 *	-DWRITE	writes to the debug console in a loop: QEMU waits while nobody reads that
 *	-DPAGES	lets QEMU write to a page after the other, from 16 MiB on (fw_cfg, DMA)
 *	-DTOUCH	writes to these pages itself
 *	-DIDLE	halts until the next timer interrupt (18 a second)
 *	-DATA	reads a sector of the first IDE disk after the other, and halts until each is there
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
#elif defined(BAR)
	movl	$0x80002814, %eax	/* BAR 1, ports */
	call	pci_read
	andl	$~3, %eax
	movl	%eax, %ebx
	movl	$0x80002810, %eax	/* BAR 0, memory */
	call	pci_read
	andl	$~15, %eax
	movl	%eax, %esi
1:	movl	$16, %ecx
2:	movl	%ebx, %edx
	inl	%dx, %eax		/* IOADDR */
	addl	$4, %edx
	inl	%dx, %eax		/* IODATA */
	movl	8(%esi), %eax		/* STATUS */
	loop	2b
	movb	$'.', %al
	outb	%al, $0xe9
	jmp	1b
pci_read:
	movw	$0xcf8, %dx
	outl	%eax, %dx
	movw	$0xcfc, %dx
	inl	%dx, %eax
	ret
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
#elif defined(ATA)
	segments_load stack_end
	movl	$idt, %edi
	movl	$256, %ecx
2:	movl	$ready, %eax		/* no other interrupt than the disk's comes */
	call	gate_set
	loop	2b
	lidt	idt_pointer
	movl	$pic, %esi		/* vectors from 0x20 on; the disk's is the sixth of the second one */
	movl	$10, %ecx
3:	lodsb
	movzbl	%al, %edx
	lodsb
	outb	%al, %dx
	loop	3b
	xorl	%eax, %eax		/* the disk may interrupt */
	movw	$0x3f6, %dx
	outb	%al, %dx
4:	movl	$ata, %esi		/* a sector, number 0, of the first disk: read it */
	movl	$6, %ecx
	movl	$0x1f2, %edx
	cli
5:	lodsb
	outb	%al, %dx
	incl	%edx
	loop	5b
	sti
	hlt
	jmp	4b
ready:
	movw	$0x1f7, %dx		/* its status: that it interrupted is known */
	inb	%dx, %al
	movl	$0x300000, %edi
	movl	$256, %ecx
	movw	$0x1f0, %dx
	cld
	rep insw
	movb	$0x20, %al		/* end of interrupt */
	outb	%al, $0xa0
	outb	%al, $0x20
	addl	$12, %esp		/* as below */
	jmp	4b
pic:	.byte	0x20, 0x11, 0x21, 0x20, 0x21, 4, 0x21, 1, 0xa0, 0x11, 0xa1, 0x28, 0xa1, 2, 0xa1, 1
	.byte	0x21, 0xfb, 0xa1, 0xbf
ata:	.byte	1, 0, 0, 0, 0xe0, 0x20

	segment_tables
	.skip	4096
stack_end:
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
