// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A VMM that is not QEMU, for live tests: it stands for Firecracker, Cloud Hypervisor, crosvm and kvmtool, none of
 * which Debian has. Several vCPUs in threads whose names mislead, and memory in several slots that are mapped at
 * unrelated places of the process.
 *
 *   slotvmm [vcpus=N] [outb=N] [ram=FILE] [cr3=N] [secret] [strange] [close] [touch=KIND:N[:FILE]...]
 *
 * Each vCPU writes N bytes to port 0x2f0 and one to 0xf4.
 *   ram=FILE	the guest's RAM from address 0 on, in five slots, not run
 *   cr3=N	vCPU 0 has these page tables (long mode); for RAM of a guest, not to be run
 *   secret	64 KiB of RAM in memfd_secret(2), which other processes cannot read
 *   strange	slots over memory that is not mapped, that cannot be read, and over each other's pages
 *   close	the VM's descriptor is closed once the vCPUs exist
 *   touch=KIND:N[:FILE]	vCPU 0 accesses the first byte of each of N pages of a slot, one after the other, in
 *	long mode; then it does the outb. Slots lie at 1 GiB and every 128 MiB after it. Kinds:
 *	anon, zero	writes, reads memory that nobody has touched
 *	cached, cold	writes pages of a shared mapping of FILE that are in the page cache, reads some that are not
 *	cow, fork	writes pages of a private mapping of FILE; memory that a child process shares
 *	thp		writes each of N huge pages
 *	swap		reads memory that was written and paged out
 *	uffd		writes memory that another thread supplies, 2 ms after it was asked
 *
 * Prints "ready PID" and "vcpu INDEX TID" once the threads exist, waits for a line on stdin, runs the vCPUs, prints
 * "outb N", what KVM handed to it, waits for another line, and exits with 0 if that is what the guest did.
 */
#include <err.h>
#include <fcntl.h>
#include <linux/kvm.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
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

/* rsi: what to touch (struct touched), the last one with no pages; then ecx outb as above. */
extern const char touch_start[], touch_end[];
asm(".pushsection .rodata\n"
    "touch_start:\n"
    "1:	movq	(%rsi), %rdi\n"
    "	movq	8(%rsi), %rbx\n"
    "	testq	%rbx, %rbx\n"
    "	jz	5f\n"
    "2:	cmpq	$0, 24(%rsi)\n"
    "	jne	3f\n"
    "	movb	(%rdi), %al\n"
    "	jmp	4f\n"
    "3:	movb	$1, (%rdi)\n"
    "4:	addq	16(%rsi), %rdi\n"
    "	decq	%rbx\n"
    "	jnz	2b\n"
    "	addq	$32, %rsi\n"
    "	jmp	1b\n"
    "5:	jecxz	6f\n"
    "	outb	%al, %dx\n"
    "	decl	%ecx\n"
    "	jmp	5b\n"
    "6:	outb	%al, $0xf4\n"
    "	hlt\n"
    "touch_end:\n"
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

/* ---- memory that is touched ---- */

#define TOUCHED	 0x40000000u /* guest addresses */
#define TABLES	 0xc0002000u /* in the code's slot: page tables, and what to touch */
enum {
	PAGE = 4096,
	HUGE = 2 << 20,
	TOUCHED_SLOT = 128 << 20,
	TOUCHES_MAX = 12,
	UFFD_DELAY_US = 2000,
};

struct touched {
	uint64_t address, pages, step, write;
};

static struct touched touches[TOUCHES_MAX + 1];
static unsigned int nr_touches;

static char *anonymous(size_t size)
{
	char *memory = map(size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	madvise(memory, size, MADV_NOHUGEPAGE);
	return memory;
}

static char *huge(size_t size)
{
	char *room = map(size + HUGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *memory = (char *)(((uintptr_t)room + HUGE - 1) & ~(uintptr_t)(HUGE - 1));

	if (madvise(memory, size, MADV_HUGEPAGE))
		err(1, "MADV_HUGEPAGE");
	return memory;
}

/* Its pages are written and in the page cache, or in none. */
static char *file_map(const char *name, size_t size, int flags, bool cold)
{
	static const char page[PAGE] = "page";
	int fd = open(name, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	char *memory;

	for (size_t at = 0; at < size; at += PAGE)
		if (pwrite(fd, page, PAGE, (off_t)at) != PAGE)
			err(1, "%s", name);
	if (fsync(fd) || (cold && posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED)))
		err(1, "%s", name);
	if (!cold) /* none of them is dropped: seen was one of 1,000 */
		map(size, PROT_READ, MAP_SHARED | MAP_LOCKED | MAP_POPULATE, fd, 0);
	memory = map(size, PROT_READ | PROT_WRITE, flags, fd, 0);
	if (cold)
		madvise(memory, size, MADV_RANDOM);
	close(fd);
	return memory;
}

static char *forked(size_t size)
{
	char *memory = anonymous(size);

	memset(memory, 1, size);
	if (!fork()) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		pause();
		_exit(0);
	}
	return memory;
}

static char *paged_out(size_t size)
{
	char *memory = anonymous(size);

	memset(memory, 1, size);
	if (madvise(memory, size, MADV_PAGEOUT))
		err(1, "MADV_PAGEOUT");
	return memory;
}

static void *uffd_serve(void *arg)
{
	int fd = (int)(intptr_t)arg;
	struct uffd_msg msg;

	while (read(fd, &msg, sizeof(msg)) == sizeof(msg)) {
		struct uffdio_zeropage page = {
			.range = {msg.arg.pagefault.address & ~(uint64_t)(PAGE - 1), PAGE}};

		usleep(UFFD_DELAY_US);
		if (ioctl(fd, UFFDIO_ZEROPAGE, &page))
			err(1, "UFFDIO_ZEROPAGE");
	}
	return NULL;
}

static char *supplied(size_t size)
{
	char *memory = anonymous(size);
	int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
	struct uffdio_api api = {.api = UFFD_API};
	struct uffdio_register reg = {.range = {(uintptr_t)memory, size},
				      .mode = UFFDIO_REGISTER_MODE_MISSING};
	pthread_t thread;

	if (fd < 0 || ioctl(fd, UFFDIO_API, &api) || ioctl(fd, UFFDIO_REGISTER, &reg))
		err(1, "userfaultfd");
	if (pthread_create(&thread, NULL, uffd_serve, (void *)(intptr_t)fd))
		errx(1, "pthread_create");
	return memory;
}

static char *backing(const char *kind, const char *file, size_t size)
{
	if (!strcmp(kind, "anon") || !strcmp(kind, "zero"))
		return anonymous(size);
	if (!strcmp(kind, "cached") || !strcmp(kind, "cold"))
		return file_map(file, size, MAP_SHARED, *kind == 'c' && kind[1] == 'o');
	if (!strcmp(kind, "cow"))
		return file_map(file, size, MAP_PRIVATE, false);
	if (!strcmp(kind, "fork"))
		return forked(size);
	if (!strcmp(kind, "thp"))
		return huge(size);
	if (!strcmp(kind, "swap"))
		return paged_out(size);
	if (!strcmp(kind, "uffd"))
		return supplied(size);
	errx(2, "what is '%s'?", kind);
}

/* KIND:N[:FILE] */
static void touch_add(char *spec)
{
	char *kind = strtok(spec, ":"), *number = strtok(NULL, ":"), *file = strtok(NULL, "");
	struct touched *t = &touches[nr_touches];
	bool is_huge = kind && !strcmp(kind, "thp");
	size_t size;

	if (!number || nr_touches == TOUCHES_MAX)
		errx(2, "up to %d KIND:N[:FILE]", TOUCHES_MAX);
	t->step = is_huge ? HUGE : PAGE;
	t->pages = strtoul(number, NULL, 0);
	t->write = strcmp(kind, "zero") && strcmp(kind, "cold") && strcmp(kind, "swap");
	t->address = TOUCHED + (uint64_t)nr_touches++ * TOUCHED_SLOT;
	size = t->pages * t->step;
	if (!size || size > TOUCHED_SLOT)
		errx(2, "up to %d bytes", TOUCHED_SLOT);
	slot_add(t->address, backing(kind, file ? file : "touched", size), size);
}

/* Long mode, the first 4 GiB one to one by pages of 2 MiB, accessed and dirty. memory: of the code's slot. */
static void tables_make(char *memory)
{
	uint64_t *root = (uint64_t *)(memory + (TABLES - CODE)), *upper = root + 512;

	root[0] = TABLES + PAGE + 0x27;
	for (unsigned int i = 0; i < 4; i++)
		upper[i] = TABLES + (2 + i) * PAGE + 0x27;
	for (uint64_t i = 0; i < 4 * 512; i++)
		upper[512 + i] = i * HUGE + 0xe7;
	memcpy(root + 6 * 512, touches, sizeof(touches));
}

static void long_mode_set(struct kvm_sregs *sregs)
{
	struct kvm_segment code = {.limit = UINT32_MAX, .selector = 8, .type = 11, .present = 1,
				   .s = 1, .l = 1, .g = 1},
			   data = {.limit = UINT32_MAX, .selector = 16, .type = 3, .present = 1,
				   .s = 1, .db = 1, .g = 1};

	sregs->cs = code;
	sregs->ds = sregs->es = sregs->fs = sregs->gs = sregs->ss = data;
	sregs->cr3 = TABLES;
	sregs->cr0 = 0x80010033; /* PG, WP, NE, ET, MP, PE */
	sregs->cr4 = 0x20;	 /* PAE */
	sregs->efer = 0x500;	 /* LMA, LME */
}

static void code_add(void)
{
	char *memory = map(CODE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	memcpy(memory, code_start, (size_t)(code_end - code_start));
	memcpy(memory + PAGE, touch_start, (size_t)(touch_end - touch_start));
	if (nr_touches)
		tables_make(memory);
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
	if (!index && nr_touches) {
		long_mode_set(&sregs);
		regs.rip = CODE + PAGE;
		regs.rsi = TABLES + 6 * PAGE;
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
		else if (!strncmp(argv[i], "touch=", 6))
			touch_add(argv[i] + 6);
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
