// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A VM that exits as fast as it can, without QEMU: the work that `make bench` traces with hostrace and its peers.
 *
 *   vmloop MODE CYCLES ROUNDS [US]      prints nanoseconds per exit cycle, one number per round:
 *                                           CPU time of the vCPU's thread, so that what else runs here counts less
 *
 *   lapic  the guest reads its local APIC's page: answered inside KVM, one kvm_mmio a cycle
 *   pic    the guest reads port 0x21: answered inside KVM, one kvm_pio a cycle
 *   user   the guest writes port 0x2f0: one kvm_pio, one kvm_userspace_exit and one KVM_RUN a cycle
 *   tasks  the same; to hostrace the guest is a Linux kernel that runs one task: in its memory, from 1 MiB on, is the
 *          file that VMLOOP_KERNEL names (tests/live/taskimage.c)
 *
 * With US, a round begins every so many microseconds: exits at a known rate.
 *
 * Before the first round it waits for a byte on stdin (end of file will do), so that a tracer can attach to its pid.
 * The guest is ten bytes of 32-bit code at 0x1000:  mov ecx, CYCLES; again: ACCESS; dec ecx; jnz again; out 0x10, al
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/kvm.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum {
	MEMORY_BYTES = 64 << 10,
	CODE = 0x1000,
	PML4 = 0x2000,
	PDPT = 0x3000,
	PD = 0x4000,
	KERNEL = 1 << 20,
	KERNEL_BYTES = 3 << 20,
	JIFFIES = KERNEL + 24, /* of this kernel */
	JIFFY_US = 10000,
	PORT_DONE = 0x10,
	PORT_WORK = 0x2f0,
};

static const struct mode {
	const char *name;
	uint8_t access[8];
	unsigned int len;
	bool kernel;
} modes[] = {
	{"lapic", {0xa1, 0x20, 0x00, 0xe0, 0xfe}, 5, false}, /* mov eax, [0xfee00020] */
	{"pic", {0xe4, 0x21}, 2, false},	      /* in al, 0x21 */
	{"user", {0xee}, 1, false},	      /* out dx, al */
	{"tasks", {0xee}, 1, true},
};

struct guest {
	int vcpu;
	struct kvm_run *run;
	uint8_t *memory;
};

static void die(const char *what)
{
	fprintf(stderr, "vmloop: %s: %s\n", what, strerror(errno));
	exit(1);
}

static int checked(int result, const char *what)
{
	if (result < 0)
		die(what);
	return result;
}

static void code_write(uint8_t *p, const struct mode *m, uint32_t cycles)
{
	*p++ = 0xb9; /* mov ecx, cycles */
	memcpy(p, &cycles, 4);
	p += 4;
	memcpy(p, m->access, m->len);
	p += m->len;
	*p++ = 0x49; /* dec ecx */
	*p++ = 0x75; /* jnz back over the jump, the decrement and the access */
	*p++ = (uint8_t)-(3 + (int)m->len);
	*p++ = 0xe6; /* out PORT_DONE, al */
	*p++ = PORT_DONE;
}

/* The first pages map themselves. */
static void pages_map(uint8_t *memory)
{
	const uint64_t table[] = {PDPT | 3, PD | 3};

	memcpy(memory + PML4, &table[0], 8);
	memcpy(memory + PDPT, &table[1], 8);
	for (uint64_t at = 0; at < KERNEL + KERNEL_BYTES; at += 2 << 20) {
		uint64_t page = at | 0x83;

		memcpy(memory + PD + (at >> 21) * 8, &page, 8);
	}
}

static void kernel_read(uint8_t *memory)
{
	const char *name = getenv("VMLOOP_KERNEL");
	FILE *f = name ? fopen(name, "rb") : NULL;

	if (!f || fread(memory + KERNEL, 1, KERNEL_BYTES, f) != KERNEL_BYTES)
		die("VMLOOP_KERNEL");
	fclose(f);
	pages_map(memory);
}

/* The kernel counts time. */
static void *jiffies_count(void *memory)
{
	volatile uint64_t *jiffies = (void *)((uint8_t *)memory + JIFFIES);

	for (;; usleep(JIFFY_US))
		++*jiffies;
	return NULL;
}

/* Flat 32-bit protected mode without paging; a kernel's is a part of its long mode. */
static void segments_set(int vcpu, bool kernel)
{
	struct kvm_sregs s;
	struct kvm_segment flat = {
		.limit = ~0u, .g = 1, .db = 1, .s = 1, .present = 1, .type = 3, .selector = 16};

	checked(ioctl(vcpu, KVM_GET_SREGS, &s), "KVM_GET_SREGS");
	s.ds = s.es = s.fs = s.gs = s.ss = flat;
	flat.type = 11;
	flat.selector = 8;
	s.cs = flat;
	s.cr0 |= 1;
	if (kernel) {
		s.cr3 = PML4;
		s.cr4 |= 1 << 5;    /* PAE */
		s.cr0 |= 1u << 31;  /* PG */
		s.efer |= 5 << 8; /* LME, LMA */
	}
	checked(ioctl(vcpu, KVM_SET_SREGS, &s), "KVM_SET_SREGS");
}

static struct guest guest_open(const struct mode *m, uint32_t cycles)
{
	int kvm = checked(open("/dev/kvm", O_RDWR | O_CLOEXEC), "/dev/kvm");
	int vm = checked(ioctl(kvm, KVM_CREATE_VM, 0), "KVM_CREATE_VM");
	int run_size = checked(ioctl(kvm, KVM_GET_VCPU_MMAP_SIZE, 0), "KVM_GET_VCPU_MMAP_SIZE");
	size_t bytes = m->kernel ? KERNEL + KERNEL_BYTES : MEMORY_BYTES;
	pthread_t thread;
	struct guest g;

	checked(ioctl(vm, KVM_SET_TSS_ADDR, 0xfffbd000ul), "KVM_SET_TSS_ADDR");
	checked(ioctl(vm, KVM_CREATE_IRQCHIP, 0), "KVM_CREATE_IRQCHIP");
	g.memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (g.memory == MAP_FAILED)
		die("mmap");
	if (m->kernel) {
		kernel_read(g.memory);
		if (pthread_create(&thread, NULL, jiffies_count, g.memory))
			die("pthread_create");
	}
	struct kvm_userspace_memory_region region = {.memory_size = bytes,
						     .userspace_addr = (uintptr_t)g.memory};

	checked(ioctl(vm, KVM_SET_USER_MEMORY_REGION, &region), "KVM_SET_USER_MEMORY_REGION");
	g.vcpu = checked(ioctl(vm, KVM_CREATE_VCPU, 0), "KVM_CREATE_VCPU");
	g.run = mmap(NULL, (size_t)run_size, PROT_READ | PROT_WRITE, MAP_SHARED, g.vcpu, 0);
	if (g.run == MAP_FAILED)
		die("mmap kvm_run");
	segments_set(g.vcpu, m->kernel);
	code_write(g.memory + CODE, m, cycles);
	return g;
}

static void round_run(struct guest *g)
{
	struct kvm_regs regs = {.rip = CODE, .rflags = 2, .rdx = PORT_WORK};

	checked(ioctl(g->vcpu, KVM_SET_REGS, &regs), "KVM_SET_REGS");
	do {
		checked(ioctl(g->vcpu, KVM_RUN, 0), "KVM_RUN");
		if (g->run->exit_reason != KVM_EXIT_IO) {
			fprintf(stderr, "vmloop: unexpected exit %u\n", g->run->exit_reason);
			exit(1);
		}
	} while (g->run->io.port != PORT_DONE);
}

static double now_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

int main(int argc, char **argv)
{
	const struct mode *m = NULL;
	uint32_t cycles = argc > 2 ? (uint32_t)atoi(argv[2]) : 0;
	int rounds = argc > 3 ? atoi(argv[3]) : 0;
	char go;

	for (size_t i = 0; argc > 1 && i < sizeof(modes) / sizeof(modes[0]); i++)
		if (!strcmp(modes[i].name, argv[1]))
			m = &modes[i];
	if (!m || !cycles || rounds <= 0) {
		fprintf(stderr, "usage: vmloop lapic|pic|user|tasks CYCLES ROUNDS [US]\n");
		return 2;
	}
	struct guest g = guest_open(m, cycles);

	if (read(STDIN_FILENO, &go, 1) < 0)
		die("stdin");
	double period = argc > 4 ? atof(argv[4]) * 1e3 : 0, next = now_ns(CLOCK_MONOTONIC);

	for (int i = 0; i < rounds; i++) {
		double start = now_ns(CLOCK_MONOTONIC);

		if (next > start)
			usleep((useconds_t)((next - start) / 1e3));
		next += period;
		start = now_ns(CLOCK_THREAD_CPUTIME_ID);
		round_run(&g);
		printf("%.1f\n", (now_ns(CLOCK_THREAD_CPUTIME_ID) - start) / cycles);
		fflush(stdout);
	}
	return 0;
}
