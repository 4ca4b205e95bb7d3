/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The first instructions. A PVH kernel (Xen's "x86/HVM direct boot ABI", docs/misc/pvh.pandoc) is entered in
 * 32-bit protected mode without paging, interrupts off, %ebx = struct hvm_start_info. The boot GDT may lie
 * anywhere, so we bring our own, and a stack, and call C.
 */
#define XEN_ELFNOTE_PHYS32_ENTRY 18

	.section .note.xen, "a", @note
	.align	4
	.long	4			/* length of the name */
	.long	4			/* length of the value */
	.long	XEN_ELFNOTE_PHYS32_ENTRY
	.asciz	"Xen"
	.long	guest_entry

	.text
	.code32
	.globl	guest_entry
guest_entry:
	cli
	cld
	lgdt	gdt_pointer
	ljmp	$0x08, $1f
1:	mov	$0x10, %eax
	mov	%eax, %ds
	mov	%eax, %es
	mov	%eax, %ss
	mov	$stack_end, %esp
	push	%ebx
	call	guest_main
2:	hlt
	jmp	2b

/*
 * Interrupts come only while wait_irq() halts, so flags need not be restored and interrupts stay off on return:
 * `ret` does, which drops %cs and the flags. (iret would do as well, but KVM's emulator knows it in real mode
 * only, and a KVM without hardware help emulates us wholly.)
 */
interrupt_common:
	pusha
	push	32(%esp)		/* the vector, after the eight registers */
	call	interrupt_arrived
	add	$4, %esp
	popa
	add	$4, %esp		/* the vector */
	ret	$8

vector = 0
	.rept	48
	.pushsection .rodata.entries, "a"
	.long	1f
	.popsection
1:	push	$vector
	jmp	interrupt_common
vector = vector + 1
	.endr

	.section .rodata.entries, "a"
	.globl	interrupt_entries
	.align	4
interrupt_entries = .rodata.entries

	.section .rodata
	.align	8
gdt:	.quad	0
	.quad	0x00cf9b000000ffff	/* 0x08: code, 0 to 4 GiB */
	.quad	0x00cf93000000ffff	/* 0x10: data, 0 to 4 GiB */
gdt_pointer:
	.word	. - gdt - 1
	.long	gdt

	.bss
	.align	16
	.skip	16384
stack_end:

	.section .note.GNU-stack, "", @progbits
