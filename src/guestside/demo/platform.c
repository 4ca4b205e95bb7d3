// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The little of a PC that the demo guest needs: a serial line to talk on, the two 8259 interrupt
 * controllers, the 8254 timer, PCI configuration space, and ways to end QEMU.
 */
#include <stdarg.h>

#include "guest.h"

enum {
	COM1 = 0x3f8,
	PIC1 = 0x20,
	PIC2 = 0xa0,
	PIC_VECTOR = 32,
	PIT_CHANNEL0 = 0x40,
	PIT_COMMAND = 0x43,
	PIT_INPUT_HZ = 1193182,
	PCI_ADDRESS = 0xcf8,
	PCI_DATA = 0xcfc,
	PM1A_CONTROL = 0x604, /* where SeaBIOS puts it on QEMU's pc and q35 */
	SELECTOR_CODE = 0x08,
};

/* ---- talk ---- */

static void put_char(char c)
{
	outb(COM1, (uint8_t)c);
}

static void put_number(uint32_t v, uint32_t base)
{
	char digits[12];
	int n = 0;

	do {
		digits[n++] = "0123456789abcdef"[v % base];
		v /= base;
	} while (v);
	while (n)
		put_char(digits[--n]);
}

static void say_list(const char *fmt, va_list ap)
{
	for (; *fmt; fmt++) {
		if (*fmt != '%') {
			put_char(*fmt);
			continue;
		}
		switch (*++fmt) {
		case 'u':
			put_number(va_arg(ap, uint32_t), 10);
			break;
		case 'x':
			put_number(va_arg(ap, uint32_t), 16);
			break;
		case 's':
			for (const char *s = va_arg(ap, const char *); *s; s++)
				put_char(*s);
			break;
		default:
			put_char(*fmt);
		}
	}
}

void say(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say_list(fmt, ap);
	va_end(ap);
}

void power_off(uint8_t code)
{
	outb(WORK_EXIT_PORT, code);
	/*
	 * Still here: QEMU has no isa-debug-exit. SLP_TYP 0 and SLP_EN turn QEMU's PIIX4 and ICH9
	 * off.
	 */
	asm volatile("outw %0, %1" : : "a"((uint16_t)0x2000), "Nd"((uint16_t)PM1A_CONTROL));
	for (;;)
		asm volatile("cli; hlt");
}

void die(const char *fmt, ...)
{
	va_list ap;

	say("demo guest: FAILED: ");
	va_start(ap, fmt);
	say_list(fmt, ap);
	va_end(ap);
	say("\n");
	power_off(WORK_EXIT_FAILED);
}

/* ---- interrupts ---- */

volatile uint32_t irq_count[16];
static volatile uint16_t irq_mask = 0xffff;

static struct {
	uint16_t offset_low, selector, flags, offset_high;
} idt[PIC_VECTOR + 16];

extern const uint32_t interrupt_entries[PIC_VECTOR + 16]; /* in start.S */

static void irq_mask_write(void)
{
	outb(PIC1 + 1, (uint8_t)irq_mask);
	outb(PIC2 + 1, (uint8_t)(irq_mask >> 8));
}

/*
 * A line stays masked after it fired until irq_enable(): a PCI line is level-triggered and would
 * fire again until the device is asked, which is not done here.
 */
static void irq_fired(unsigned int irq)
{
	irq_count[irq]++;
	if (irq != IRQ_TIMER) {
		irq_mask |= 1u << irq;
		irq_mask_write();
	}
	if (irq >= 8)
		outb(PIC2, 0x20); /* end of interrupt */
	outb(PIC1, 0x20);
}

/* Called by start.S: vectors 0 to 31 are exceptions, then the 16 lines. */
void interrupt_arrived(unsigned int vector);

void interrupt_arrived(unsigned int vector)
{
	if (vector < PIC_VECTOR)
		die("exception %u", vector);
	irq_fired(vector - PIC_VECTOR);
}

static void gate_set(unsigned int vector, uintptr_t at)
{
	idt[vector].offset_low = (uint16_t)at;
	idt[vector].offset_high = (uint16_t)(at >> 16);
	idt[vector].selector = SELECTOR_CODE;
	idt[vector].flags = 0x8e00; /* present, 32-bit interrupt gate */
}

void irq_enable(unsigned int irq, bool on)
{
	uint16_t cascade = irq >= 8 ? 1u << 2 : 0;

	if (on)
		irq_mask &= (uint16_t) ~(1u << irq | cascade);
	else
		irq_mask |= 1u << irq;
	irq_mask_write();
}

uint32_t wait_irq(unsigned int irq, uint32_t seen)
{
	uint32_t halts = 0;

	while (irq_count[irq] == seen) {
		asm volatile("sti; hlt; cli"
			     :
			     :
			     : "memory", "cc"); /* sti takes effect after hlt has begun */
		halts++;
	}
	return halts;
}

static void pic_init(void)
{
	outb(PIC1, 0x11); /* ICW1: cascade, ICW4 follows */
	outb(PIC2, 0x11);
	outb(PIC1 + 1, PIC_VECTOR);
	outb(PIC2 + 1, PIC_VECTOR + 8);
	outb(PIC1 + 1, 1 << 2); /* ICW3: the second controller is at line 2 */
	outb(PIC2 + 1, 2);
	outb(PIC1 + 1, 1); /* ICW4: 8086 mode */
	outb(PIC2 + 1, 1);
	irq_mask_write();
}

void platform_init(void)
{
	struct {
		uint16_t limit;
		uint32_t base;
	} __attribute__((packed)) idt_pointer = {sizeof(idt) - 1, (uintptr_t)idt};

	for (unsigned int i = 0; i < sizeof(idt) / sizeof(*idt); i++)
		gate_set(i, interrupt_entries[i]);
	asm volatile("lidt %0" : : "m"(idt_pointer));
	pic_init();
	outb(PIT_COMMAND, 0x34); /* channel 0, low then high byte, rate generator */
	outb(PIT_CHANNEL0, (uint8_t)(PIT_INPUT_HZ / TIMER_HZ));
	outb(PIT_CHANNEL0, (uint8_t)(PIT_INPUT_HZ / TIMER_HZ >> 8));
}

/* ---- PCI configuration space ---- */

uint32_t pci_read32(unsigned int slot, unsigned int offset)
{
	outl(PCI_ADDRESS, 1u << 31 | slot << 11 | offset);
	return inl(PCI_DATA);
}

uint8_t pci_read8(unsigned int slot, unsigned int offset)
{
	return (uint8_t)(pci_read32(slot, offset & ~3u) >> (offset & 3) * 8);
}

void pci_write32(unsigned int slot, unsigned int offset, uint32_t v)
{
	outl(PCI_ADDRESS, 1u << 31 | slot << 11 | offset);
	outl(PCI_DATA, v);
}
