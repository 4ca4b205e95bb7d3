/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The demo guest's parts: platform.c (console, interrupts, timer, PCI), virtio.c (virtio over PCI: virtio.h), blk.c
 * (virtio-blk), main.c (the workload). One CPU, 32 bits, no paging: an address is a pointer. General registers only,
 * for KVM backends that emulate every instruction and know no SSE.
 */
#ifndef HOSTRACE_GUEST_H
#define HOSTRACE_GUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "workload.h"

static inline void outb(uint16_t port, uint8_t v)
{
	asm volatile("outb %0, %1" : : "a"(v), "Nd"(port) : "memory");
}

static inline void outl(uint16_t port, uint32_t v)
{
	asm volatile("outl %0, %1" : : "a"(v), "Nd"(port) : "memory");
}

static inline uint8_t inb(uint16_t port)
{
	uint8_t v;

	asm volatile("inb %1, %0" : "=a"(v) : "Nd"(port) : "memory");
	return v;
}

static inline uint32_t inl(uint16_t port)
{
	uint32_t v;

	asm volatile("inl %1, %0" : "=a"(v) : "Nd"(port) : "memory");
	return v;
}

static inline uint32_t mmio_read32(uintptr_t addr)
{
	uint32_t v;

	asm volatile("movl (%1), %0" : "=r"(v) : "r"(addr) : "memory");
	return v;
}

/* ---- platform.c ---- */

/* Prints on COM1: %u, %x, %s only. */
void say(const char *fmt, ...);

/* Prints the error message, ends QEMU with WORK_EXIT_FAILED. */
void die(const char *fmt, ...) __attribute__((noreturn));

/* Ends QEMU: isa-debug-exit, else ACPI's S5 on the pc machine. */
void power_off(uint8_t code) __attribute__((noreturn));

/*
 * The IDT, the PICs at vectors 32 to 47 all masked, the PIT at 100 Hz. Interrupts stay off but in
 * wait_irq().
 */
void platform_init(void);

enum { IRQ_TIMER = 0, TIMER_HZ = 100 };

/* How often each line fired. */
extern volatile uint32_t irq_count[16];

void irq_enable(unsigned int irq, bool on);

/* Halts until line `irq` has fired more than `seen` times. Returns how many halts that took. */
uint32_t wait_irq(unsigned int irq, uint32_t seen);

/* For loops that poll, for one instruction. Without it, a host's CPU that Bochs emulates takes no interrupts either. */
static inline void take_irqs(void)
{
	asm volatile("sti; nop; cli" : : : "memory", "cc");
}

/*
 * Configuration space of bus 0, through 0xcf8 and 0xcfc; offset must be a multiple of 4 for
 * pci_read32().
 */
uint32_t pci_read32(unsigned int slot, unsigned int offset);
uint8_t pci_read8(unsigned int slot, unsigned int offset);
void pci_write32(unsigned int slot, unsigned int offset, uint32_t v);

/* ---- blk.c ---- */

enum {
	BLK_QUEUE_SIZE = 128, /* descriptors; each request takes three */
	BLK_SLOTS = BLK_QUEUE_SIZE / 3,
};

struct blk; /* one virtio-blk disk */

/*
 * Resets and starts the disk in a PCI slot; dies if there is none. `nr` is 0 or 1: which of our
 * two. `event_idx`: notifications by event indices (VIRTIO_F_EVENT_IDX) instead of flags.
 */
struct blk *blk_open(unsigned int nr, unsigned int slot, bool event_idx);

/* Puts a request into a free slot (0 to BLK_SLOTS - 1) and makes it available. */
void blk_submit(struct blk *d, unsigned int slot, bool write, uint64_t sector, void *data,
		uint32_t bytes);

/* Tells the device that there is work, and whether we poll or want an interrupt. */
void blk_kick(struct blk *d, bool want_interrupt);

/* Waits for the interrupt that the kick asked for, also if its request is done already, and acknowledges it. */
void blk_take_interrupt(struct blk *d);

/* Waits until `nr` more requests are done, as announced at the kick. Dies if one failed. */
void blk_wait(struct blk *d, unsigned int nr, bool by_interrupt);

/* Requests that are done, since blk_open(). */
uint16_t blk_done(struct blk *d);

#endif
