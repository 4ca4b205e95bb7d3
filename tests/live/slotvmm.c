// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A VMM that is not QEMU, for live tests: it stands for Firecracker, Cloud Hypervisor, crosvm and kvmtool, none of
 * which Debian has. Several vCPUs in threads whose names mislead, and memory in several slots that are mapped at
 * unrelated places of the process.
 *
 *   slotvmm [vcpus=N] [outb=N] [ram=FILE] [cr3=N] [secret] [strange] [close]
 *
 * Each vCPU writes N bytes to port 0x2f0 and one to 0xf4.
 *   ram=FILE	the guest's RAM from address 0 on, in five slots, not run
 *   cr3=N	vCPU 0 has these page tables (long mode); for RAM of a guest, not to be run
 *   secret	64 KiB of RAM in memfd_secret(2), which other processes cannot read
 *   strange	slots over memory that is not mapped, that cannot be read, and over each other's pages
 *   close	the VM's descriptor is closed once the vCPUs exist
 *
 * Prints "ready PID" and "vcpu INDEX TID" once the threads exist, waits for a line on stdin, runs the vCPUs, prints
 * "outb N", what KVM handed to it, waits for another line, and exits with 0 if that is what the guest did.
 */
#include <err.h>
#include <fcntl.h>
#include <linux/kvm.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
	VCPUS_MAX = 16,
	PORT = 0x2f0,
	END_PORT = 0xf4,
	CODE_BYTES = 64 << 10,
	GUARD = 1 << 20, /* between two slots */
};
#define CODE	0xc0000000u /* guest addresses */
#define SECRET	0x80000000u
#define STRANGE 0x90000000u

/* cx outb */
extern const char code_start[], code_end[];
asm(".pushsection .rodata\n"
    ".code16\n"
    "code_start:\n"
    "1:	jcxz	2f\n"
    "	outb	%al, %dx\n"
    "	dec	%cx\n"
    "	jmp	1b\n"
    "2:	outb	%al, $0xf4\n"
    "	hlt\n"
    "code_end:\n"
    ".code64\n"
    ".popsection");

struct vcpu {
	struct kvm_run *run;
	unsigned int index, seen;
	int fd, tid;
};

static struct vcpu vcpus[VCPUS_MAX];
static unsigned int nr_vcpus = 1, outb = 23;
static unsigned int cr3;
static int kvm, vm;
static pthread_barrier_t barrier;
static sem_t named;
static char *gone; /* memory of a slot that is unmapped when all else is mapped */

static void wait_line(void)
{
	char line[16];

	if (!fgets(line, sizeof(line), stdin))
		errx(1, "stdin ended before a line came");
}

/* ---- memory ---- */

static void slot_add(uint64_t guest, void *memory, uint64_t size)
{
	static unsigned int slots;
	struct kvm_userspace_memory_region region = {
		.slot = slots++,
		.guest_phys_addr = guest,
		.memory_size = size,
		.userspace_addr = (uintptr_t)memory,
	};

	if (ioctl(vm, KVM_SET_USER_MEMORY_REGION, &region) < 0)
		err(1, "slot of %#llx bytes at %#llx", (unsigned long long)size,
		    (unsigned long long)guest);
}

static void *map(size_t size, int prot, int flags, int fd, off_t offset)
{
	void *memory = mmap(NULL, size, prot, flags, fd, offset);

	if (memory == MAP_FAILED)
		err(1, "mmap");
	return memory;
}

/* Slots that follow each other in the guest lie in the opposite order in this process, with guards between them. */
static void ram_add(const char *name)
{
	static const uint32_t ends[] = {0xa0000, 0x100000, 0x1003000, 0x6001000, UINT32_MAX};
	int fd = open(name, O_RDWR | O_CLOEXEC);
	off_t size = fd < 0 ? -1 : lseek(fd, 0, SEEK_END), from = 0;

	if (size <= 0)
		err(1, "%s", name);
	for (size_t i = 0; i < sizeof(ends) / sizeof(*ends) && from < size; i++) {
		off_t end = size < (off_t)ends[i] ? size : (off_t)ends[i];
		size_t bytes = (size_t)(end - from);
		char *room = map(bytes + GUARD, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		if (mmap(room, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED | MAP_POPULATE,
			 fd, from) == MAP_FAILED)
			err(1, "mmap of %s", name);
		slot_add((uint64_t)from, room, bytes);
		from = end;
	}
	close(fd);
}

static void secret_add(void)
{
	int fd = (int)syscall(SYS_memfd_secret, 0);

	if (fd < 0 || ftruncate(fd, CODE_BYTES))
		err(1, "memfd_secret");
	slot_add(SECRET, map(CODE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0), CODE_BYTES);
}

static void strange_add(void)
{
	char *twice =
		map(2 * CODE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *none = map(CODE_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	gone = map(CODE_BYTES, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	slot_add(STRANGE, none, CODE_BYTES);
	slot_add(STRANGE + 0x100000, gone, CODE_BYTES);
	slot_add(STRANGE + 0x200000, twice, 2 * CODE_BYTES);
	slot_add(STRANGE + 0x300000, twice + CODE_BYTES, CODE_BYTES);
	slot_add(STRANGE + 0x400000, twice, 4096);
}

static void code_add(void)
{
	char *memory = map(CODE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	memcpy(memory, code_start, (size_t)(code_end - code_start));
	slot_add(CODE, memory, CODE_BYTES);
}

/* ---- vCPUs ---- */

static void vcpu_make(unsigned int index)
{
	struct vcpu *v = &vcpus[index];
	int run_size = ioctl(kvm, KVM_GET_VCPU_MMAP_SIZE, 0);
	struct kvm_sregs sregs;
	struct kvm_regs regs = {.rflags = 2, .rdx = PORT, .rcx = outb};

	v->index = index;
	v->fd = ioctl(vm, KVM_CREATE_VCPU, index);
	if (v->fd < 0 || run_size < 0)
		err(1, "KVM_CREATE_VCPU");
	v->run = map((size_t)run_size, PROT_READ | PROT_WRITE, MAP_SHARED, v->fd, 0);
	if (ioctl(v->fd, KVM_GET_SREGS, &sregs) < 0)
		err(1, "KVM_GET_SREGS");
	sregs.cs.base = CODE;
	sregs.cs.selector = 0xf000;
	if (!index && cr3) {
		sregs.cr3 = cr3;
		sregs.cr0 = 0x80000001; /* PG, PE */
		sregs.cr4 = 0x20;	/* PAE */
		sregs.efer = 0x500;	/* LMA, LME */
	}
	if (ioctl(v->fd, KVM_SET_SREGS, &sregs) < 0 || ioctl(v->fd, KVM_SET_REGS, &regs) < 0)
		err(1, "KVM_SET_REGS");
}

/* Names of another VMM's vCPUs, in the wrong order, and one that is no name. */
static void vcpu_rename(unsigned int index)
{
	char name[16] = "CPU 9\n\033[2J/KVM";

	if (index % 2 == 0)
		snprintf(name, sizeof(name), "CPU %u/KVM", nr_vcpus - 1 - index);
	pthread_setname_np(pthread_self(), name);
}

static void *vcpu_thread(void *arg)
{
	struct vcpu *v = arg;
	bool ended = false;

	v->tid = gettid();
	vcpu_rename(v->index);
	pthread_barrier_wait(&barrier);
	pthread_barrier_wait(&barrier);
	while (!ended) {
		if (ioctl(v->fd, KVM_RUN, 0) < 0)
			err(1, "KVM_RUN");
		if (v->run->exit_reason != KVM_EXIT_IO)
			errx(1, "vCPU %u: exit reason %u", v->index, v->run->exit_reason);
		ended = v->run->io.port == END_PORT;
		v->seen += ended ? 0 : v->run->io.count;
	}
	pthread_barrier_wait(&barrier);
	pthread_barrier_wait(&barrier);
	return NULL;
}

/* A thread that is no vCPU, with the name of one. */
static void *other_thread(void *arg)
{
	(void)arg;
	pthread_setname_np(pthread_self(), "CPU 0/KVM");
	sem_post(&named);
	pause();
	return NULL;
}

static void thread_start(void *(*run)(void *), void *arg)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, run, arg))
		errx(1, "pthread_create");
}

static bool number_parse(const char *word, const char *name, unsigned int *ret)
{
	size_t len = strlen(name);

	if (strncmp(word, name, len) != 0)
		return false;
	*ret = (unsigned int)strtoul(word + len, NULL, 0);
	return true;
}

int main(int argc, char **argv)
{
	bool closes = false;
	unsigned int seen = 0;

	kvm = open("/dev/kvm", O_RDWR | O_CLOEXEC);
	if (kvm < 0)
		err(1, "/dev/kvm");
	vm = ioctl(kvm, KVM_CREATE_VM, 0);
	if (vm < 0)
		err(1, "KVM_CREATE_VM");
	for (int i = 1; i < argc; i++) {
		closes |= !strcmp(argv[i], "close");
		if (!strcmp(argv[i], "secret"))
			secret_add();
		else if (!strcmp(argv[i], "strange"))
			strange_add();
		else if (!strncmp(argv[i], "ram=", 4))
			ram_add(argv[i] + 4);
		else if (!number_parse(argv[i], "vcpus=", &nr_vcpus) &&
			 !number_parse(argv[i], "outb=", &outb) &&
			 !number_parse(argv[i], "cr3=", &cr3) && strcmp(argv[i], "close"))
			errx(2, "what is '%s'?", argv[i]);
	}
	if (!nr_vcpus || nr_vcpus > VCPUS_MAX || outb > UINT16_MAX)
		errx(2, "up to %d vCPUs and 65535 outb", VCPUS_MAX);
	code_add();
	pthread_barrier_init(&barrier, NULL, nr_vcpus + 1);
	for (unsigned int i = 0; i < nr_vcpus; i++)
		vcpu_make(i);
	if (closes) {
		close(vm);
		close(kvm);
	}
	for (unsigned int i = 0; i < nr_vcpus; i++)
		thread_start(vcpu_thread, &vcpus[i]);
	pthread_barrier_wait(&barrier);
	thread_start(other_thread, NULL);
	sem_wait(&named);
	if (gone)
		munmap(gone, CODE_BYTES);
	for (unsigned int i = 0; i < nr_vcpus; i++)
		printf("vcpu %u %d\n", i, vcpus[i].tid);
	printf("ready %d\n", (int)getpid());
	fflush(stdout);
	wait_line();
	pthread_barrier_wait(&barrier); /* they run */
	pthread_barrier_wait(&barrier); /* they have ended */
	for (unsigned int i = 0; i < nr_vcpus; i++)
		seen += vcpus[i].seen;
	printf("outb %u\n", seen);
	fflush(stdout);
	wait_line();
	return seen != outb * nr_vcpus;
}
