/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Entered as a PVH kernel (32 bits, no paging); maps the first GiB one to one with pages of 2 MiB, goes to 64 bits
 * and calls guest_main().
 */
	.section .note.xen, "a", @note
	.align	4
	.long	4
	.long	4
	.long	18			/* XEN_ELFNOTE_PHYS32_ENTRY */
	.asciz	"Xen"
	.long	guest_entry

	.text
	.code32
	.globl	guest_entry
guest_entry:
	cli
	cld
	mov	$page_directory, %edi
	mov	$0x83, %eax		/* present, writable, large */
	mov	$512, %ecx
1:	mov	%eax, (%edi)
	movl	$0, 4(%edi)
	add	$0x200000, %eax
	add	$8, %edi
	loop	1b
	movl	$(page_directory + 3), page_pointers
	movl	$(page_pointers + 3), page_root
	mov	$page_root, %eax
	mov	%eax, %cr3
	mov	%cr4, %eax
	or	$0x20, %eax		/* PAE */
	mov	%eax, %cr4
	mov	$0xc0000080, %ecx	/* EFER.LME */
	rdmsr
	or	$0x100, %eax
	wrmsr
	mov	%cr0, %eax
	or	$0x80000001, %eax	/* paging, protection */
	mov	%eax, %cr0
	lgdt	gdt_pointer
	ljmp	$0x08, $2f
	.code64
2:	mov	$0x10, %eax
	mov	%eax, %ds
	mov	%eax, %es
	mov	%eax, %ss
	lea	stack_end(%rip), %rsp
	xor	%ebp, %ebp
	mov	%ebx, %edi		/* Xen's start_info */
	call	guest_main
3:	hlt
	jmp	3b

	.section .rodata
	.align	8
gdt:	.quad	0
	.quad	0x00af9b000000ffff	/* 64-bit code */
	.quad	0x00cf93000000ffff
gdt_pointer:
	.word	. - gdt - 1
	.long	gdt

	.bss
	.align	4096
page_root:
	.skip	4096
page_pointers:
	.skip	4096
page_directory:
	.skip	4096
	.globl	stack_begin
stack_begin:
	.skip	16384
	.globl	stack_end
stack_end:

	.section .note.GNU-stack, "", @progbits
