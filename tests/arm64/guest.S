/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The guest of the arm64 rig: without memory management, at the beginning of its memory. Its exits are known: stores
 * and loads without memory behind them, reads of an ID register, calls of an unknown function of SMCCC, stores of its
 * counter, and the call that ends it (guest.h has how many).
 */
#include "guest.h"

	.globl	guest_begin, guest_end
	.section .rodata
	.balign 4
guest_begin:
	ldr	x1, =DEVICE
	mov	x2, #STORES
1:	str	w2, [x1]
	subs	x2, x2, #1
	b.ne	1b
	mov	x2, #LOADS
2:	ldr	w3, [x1]
	subs	x2, x2, #1
	b.ne	2b
	mov	x2, #ID_READS
3:	mrs	x3, id_aa64pfr0_el1
	subs	x2, x2, #1
	b.ne	3b
	mov	x4, #CALLS
4:	ldr	w0, =SMCCC_UNKNOWN
	hvc	#0
	subs	x4, x4, #1
	b.ne	4b
	ldr	x1, =COUNTER
	mov	x2, #READINGS
5:	isb
	mrs	x3, cntvct_el0
	str	x3, [x1]
	subs	x2, x2, #1
	b.ne	5b
	ldr	w0, =PSCI_SYSTEM_OFF
	hvc	#0
	b	.
	.ltorg
guest_end:
	.section .note.GNU-stack, "", @progbits
