/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A guest of known interrupts: TIMERS times its local APIC's timer, set to 2 ms (KVM's APIC bus runs at 1 GHz), for
 * which it halts; after every second one it sends itself an interrupt. It writes to the debug console: 'R' when it
 * begins; in the end the time from setting the timer to its handler, summed up in ticks of the TSC (16 hexadecimal
 * digits), and 'D'. Started as a PVH kernel (qemu -kernel).
 */
	.set	TIMERS, 200
	.set	VECTOR_TIMER, 0x40
	.set	VECTOR_SELF, 0x41
	.set	APIC_EOI, 0xfee000b0
	.set	APIC_SPURIOUS, 0xfee000f0
	.set	APIC_ICR, 0xfee00300
	.set	APIC_LVT_TIMER, 0xfee00320
	.set	APIC_INITIAL_COUNT, 0xfee00380
	.set	APIC_DIVIDE, 0xfee003e0
	.set	ICR_SELF, 0x44000

#include "pvh.inc"

guest_entry:
	cli
	segments_load stack_top
	mov	$on_timer, %eax
	mov	$(idt + 8 * VECTOR_TIMER), %edi
	call	gate_set
	mov	$on_self, %eax
	mov	$(idt + 8 * VECTOR_SELF), %edi
	call	gate_set
	lidt	idt_pointer
	mov	$0xff, %al		/* no interrupts of the PIC */
	out	%al, $0x21
	out	%al, $0xa1
	movl	$0x1ff, APIC_SPURIOUS	/* enabled */
	movl	$0xb, APIC_DIVIDE	/* by 1 */
	movl	$VECTOR_TIMER, APIC_LVT_TIMER
	mov	$'R', %al
	out	%al, $0xe9

	mov	$TIMERS, %ebx
next:	rdtsc
	mov	%eax, set_low
	mov	%edx, set_high
	movl	$2000000, APIC_INITIAL_COUNT
1:	sti
	hlt				/* goes on at on_timer */
	jmp	1b
after_timer:
	test	$1, %ebx
	jz	after_self
	movl	$(ICR_SELF | VECTOR_SELF), APIC_ICR
1:	sti
	nop				/* goes on at on_self */
	jmp	1b
after_self:
	dec	%ebx
	jnz	next

	mov	sum_high, %ecx
	call	hex_print
	mov	sum_low, %ecx
	call	hex_print
	mov	$'D', %al
	out	%al, $0xe9
5:	hlt
	jmp	5b

hex_print:
	mov	$8, %esi
1:	rol	$4, %ecx
	mov	%cl, %al
	and	$15, %al
	add	$'0', %al
	cmp	$'9', %al
	jbe	2f
	add	$('a' - '0' - 10), %al
2:	out	%al, $0xe9
	dec	%esi
	jnz	1b
	ret

/* Not every KVM can emulate IRET here: what it would pop is dropped, and interrupts stay off. */
on_timer:
	rdtsc
	sub	set_low, %eax
	sbb	set_high, %edx
	add	%eax, sum_low
	adc	%edx, sum_high
	movl	$0, APIC_EOI
	mov	$stack_top, %esp
	jmp	after_timer

on_self:
	movl	$0, APIC_EOI
	mov	$stack_top, %esp
	jmp	after_self

	segment_tables
set_low: .skip	4
set_high: .skip	4
sum_low: .skip	4
sum_high: .skip	4
	.skip	4096
stack_top:
	.section .note.GNU-stack, "", @progbits
