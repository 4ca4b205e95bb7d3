/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A boot sector that reads READS sectors from its own disk by INT 13h, one request each, and ends QEMU through
 * isa-debug-exit. SeaBIOS's virtio-blk driver makes one virtqueue element of each request.
 */
	.code16
	.globl _start
_start:
	xorw	%ax, %ax
	movw	%ax, %ds
	movw	%ax, %ss
	movw	$0x7c00, %sp
	movw	$READS, %cx
1:
	pushw	%cx
	movb	$0x42, %ah		/* extended read; dl is still the boot drive */
	movw	$packet, %si
	int	$0x13
	popw	%cx
	jc	2f
	loop	1b
	movb	$0x10, %al		/* QEMU's exit status: 0x10 << 1 | 1 */
	outb	%al, $0xf4
2:
	hlt
	jmp	2b

	.balign	4
packet:
	.byte	16, 0
	.word	1			/* sectors */
	.word	0x8000, 0		/* to 0000:8000 */
	.quad	1			/* from this one */

	.org	510
	.word	0xaa55
