/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A PVH guest that goes to long mode: entered in 32-bit protected mode without paging, %ebx = start_info. The first
 * GiB is mapped as it lies, by pages of 2 MiB; ring_map() adds the ring's own pages elsewhere.
 */
#define XEN_ELFNOTE_PHYS32_ENTRY 18

	.section .note.xen, "a", @note
	.align	4
	.long	4
	.long	4
	.long	XEN_ELFNOTE_PHYS32_ENTRY
	.asciz	"Xen"
	.long	guest_entry

	.text
	.code32
	.globl	guest_entry
guest_entry:
	cli
	cld
	mov	$pdpt_low, %eax
	or	$3, %eax
	mov	%eax, pml4
	mov	$pd_low, %eax
	or	$3, %eax
	mov	%eax, pdpt_low
	xor	%ecx, %ecx
1:	mov	%ecx, %eax
	shl	$21, %eax
	or	$0x83, %eax		/* present, writable, 2 MiB */
	mov	%eax, pd_low(, %ecx, 8)
	inc	%ecx
	cmp	$512, %ecx
	jne	1b
	mov	%cr4, %eax
	or	$0x20, %eax		/* PAE */
	mov	%eax, %cr4
	mov	$pml4, %eax
	mov	%eax, %cr3
	mov	$0xc0000080, %ecx	/* EFER.LME */
	rdmsr
	or	$0x100, %eax
	wrmsr
	mov	%cr0, %eax
	or	$0x80000001, %eax	/* paging */
	mov	%eax, %cr0
	lgdt	gdt_pointer
	ljmp	$0x08, $2f
	.code64
2:	mov	$0x10, %eax
	mov	%eax, %ds
	mov	%eax, %es
	mov	%eax, %ss
	mov	$stack_end, %esp
	mov	%ebx, %edi
	call	guest_main
3:	hlt
	jmp	3b

	.section .rodata
	.align	8
gdt:	.quad	0
	.quad	0x00af9b000000ffff	/* 0x08: code, 64 bits */
	.quad	0x00cf93000000ffff	/* 0x10: data */
gdt_pointer:
	.word	. - gdt - 1
	.long	gdt

	.bss
	.align	4096
	.globl	pml4
pml4:	.skip	4096
pdpt_low: .skip	4096
pd_low:	.skip	4096
	.skip	16384
stack_end:

	.section .note.GNU-stack, "", @progbits
