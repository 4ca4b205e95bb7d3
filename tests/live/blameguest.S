/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A guest that does nothing but read a port of QEMU's (RTC index, 0x71): each read is a userspace exit that needs the
 * global mutex. Started as a PVH kernel (qemu -kernel).
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
1:	in	$0x71, %al
	jmp	1b
	.section .note.GNU-stack, "", @progbits
