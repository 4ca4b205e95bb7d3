/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A guest that spends known times between the points of a boot that can be seen from outside, and says by its own clock
 * when it was at each: before a point it writes the low half of its TSC to port 0x1230. Started as a PVH kernel (qemu
 * -kernel). SPIN: ticks of the TSC from each point to the next one.
 *
 *	POST code 1, "Linux version 1.2.3" on the console, "Run /init as init process", POST code 2, 1 to port 0xf4
 */
#include "pvh.inc"

	.macro	stamp
	rdtsc
	movw	$0x1230, %dx
	outl	%eax, %dx
	.endm

	.macro	spin
	rdtsc
	movl	%eax, %edi
1:	pause
	rdtsc
	subl	%edi, %eax
	cmpl	$SPIN, %eax
	jb	1b
	.endm

	.macro	line text
	.section .rodata
2:	.asciz	"\text\n"
	.text
	movl	$2b, %esi
	movw	$0x3f8, %dx
1:	lodsb
	testb	%al, %al
	jz	1f
	outb	%al, %dx
	jmp	1b
1:
	.endm

guest_entry:
	cli
	cld
	movw	$0x3fb, %dx		/* the divisor of the console is no text */
	movb	$0x83, %al
	outb	%al, %dx
	movw	$0x3f8, %dx
	movb	$'X', %al
	outb	%al, %dx
	movw	$0x3fb, %dx
	movb	$0x03, %al
	outb	%al, %dx
	stamp
	movb	$1, %al
	outb	%al, $0x80
	spin
	stamp
	line	"[    0.000000] Linux version 1.2.3 (test)"
	spin
	stamp
	line	"[    0.100000] Run /init as init process"
	spin
	stamp
	movb	$2, %al
	outb	%al, $0x80
	spin
	stamp
	movb	$1, %al
	outb	%al, $0xf4
1:	hlt
	jmp	1b
