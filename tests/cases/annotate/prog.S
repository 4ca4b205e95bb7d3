/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What prog.elf is made of:
 *	as -g --debug-prefix-map $PWD=. -o prog.o prog.S
 *	ld --build-id=0x23171000 -z noseparate-code -Ttext=0xffffffff81000000 -e spin -o prog.elf prog.o
 */
	.globl	spin, no_size, last, alias
	.type	spin, @function
	.type	alias, @function
	.set	alias, spin
spin:	push	%rbp
	mov	%rsp, %rbp
1:	dec	%ecx
	jnz	1b
	.byte	0x06
	pop	%rbp
	ret
	.size	spin, . - spin
	.type	no_size, @function
no_size:
	xor	%eax, %eax
	ret
	.type	last, @function
last:	nop
	ret
	.size	last, . - last
