/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A guest that writes to a port for ever and counts it, one count per vCPU, in a page that the test maps too (RAM in a
 * file). It is the VM's BIOS (qemu -bios): it runs at once, and nothing else accesses a port. The other vCPUs are
 * started by INIT and SIPI, when the test asks for it: those that are there from the beginning, or plugged in later.
 *
 * The page, 32-bit words at PAGE (also the offset in the file):
 *	0	vCPUs that have begun
 *	4	set by the test: begin
 *	8	set by the test: stop after the current access
 *	12	set by the test: start the other vCPUs; the guest clears it
 *	16	accesses that each vCPU does at most
 *	20	vCPUs that have ended
 *	24	set by the test: suspend to RAM; the guest clears it. It then boots again, and counts as another vCPU
 *	1024...	accesses done, one word per vCPU, in the order in which they began
 */
	.set	PAGE, 0x10000
	.set	ROM, 0xf0000		/* where the last 64 KiB of the BIOS are, too */
	.set	PORT, 0x2f0
	.set	ICR, 0xfee00300
	.set	SVR, 0xfee000f0
	.set	PM, 0xb000		/* ports of the PIIX4's power management, once enabled */

/* ebx: the page; esi: this vCPU's word in it. In real mode the same code, with ds at the page and ebx 0. */
	.macro	work
	movl	$1, %esi
	lock xaddl %esi, (%ebx)
	leal	1024(%ebx,%esi,4), %esi
	movw	$PORT, %dx
1:	pause
	cmpl	$0, 4(%ebx)
	je	1b
2:	cmpl	$0, 8(%ebx)
	jne	4f
	movl	(%esi), %eax
	cmpl	16(%ebx), %eax
	jae	4f
	outb	%al, %dx
	incl	(%esi)
	.endm

	.text
	.code16
	.globl	_start
_start:					/* the other vCPUs: SIPI's vector is ROM's page */
	cli
	movw	$PAGE / 16, %ax
	movw	%ax, %ds
	xorl	%ebx, %ebx
	work
	jmp	2b
4:	lock incl 20(%ebx)
5:	hlt
	jmp	5b

boot:
	cli
	lgdtl	%cs:gdt_pointer
	movl	$0x11, %eax		/* CR0.PE and ET */
	movl	%eax, %cr0
	ljmpl	$0x08, $ROM + flat

	.code32
flat:
	movl	$0x10, %eax
	movl	%eax, %ds
	movl	$PAGE, %ebx
	work
	cmpl	$0, 24(%ebx)
	jne	suspend
	cmpl	$0, 12(%ebx)
	je	2b
	movl	$0, 12(%ebx)
	orl	$0x100, SVR		/* the APIC's enable bit */
	movl	$0xc4500, ICR		/* INIT to all others */
	movl	$100000, %ecx
3:	pause
	loop	3b
	movl	$0xc4600 + ROM / 4096, ICR
	jmp	2b
4:	lock incl 20(%ebx)
5:	hlt
	jmp	5b

	.macro	pci_write register, value
	movl	$0x80000b00 + \register, %eax	/* device 1, function 3 */
	movw	$0xcf8, %dx
	outl	%eax, %dx
	movl	$\value, %eax
	movw	$0xcfc, %dx
	outl	%eax, %dx
	.endm

suspend:
	movl	$0, 24(%ebx)
	pci_write 0x40, PM + 1		/* PMBA */
	pci_write 0x80, 1		/* PMREGMISC: the ports are enabled */
	movw	$0x2400, %ax		/* SLP_EN and SLP_TYP of S3 */
	movw	$PM + 4, %dx
	outw	%ax, %dx
	jmp	5b

	.balign	8
gdt:	.quad	0, 0x00cf9b000000ffff, 0x00cf93000000ffff /* accessed: the CPU cannot write to ROM */
gdt_pointer:
	.word	. - gdt - 1
	.long	ROM + gdt

	.org	0xfff0			/* the reset vector */
	.code16
	ljmp	$ROM / 16, $boot
	.org	0x10000
