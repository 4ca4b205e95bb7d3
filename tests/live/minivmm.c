// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The smallest VMM: one vCPU on /dev/kvm, in real mode, whose guest does a known number of port
 * accesses, MMIO writes and halts. A workload for live tests with no QEMU in between, and the proof
 * that a VM is whoever holds a KVM file descriptor.
 *
 *   minivmm [outb=N] [inb=N] [mmio=N] [hlt=N] [slow=N] [pause=MS] [wait] [linger] [loader]
 *
 * With slow=N, each N-th outb takes MS ms. With "loader", another thread first has the vCPU loaded for MS ms while it
 * sleeps, as QEMU's main thread has when it is preempted in an ioctl of a vCPU that has not run yet.
 *
 *   minivmm count=FILE [spin|calls]
 *
 * The second writes 0, 1, 2, ... to its port for ever, less than 1000 times a second; FILE has the newest, 32 bits.
 * With "spin" its vCPU's thread and another one, "spinner", instead spend their time in spin_hot, 70 %, and spin_warm,
 * 30 %, each called by a function of its own; they have frame pointers. With "calls" another thread, "caller", makes
 * known system calls once a line comes on stdin, and then waits for another one.
 *
 * Prints "ready PID" once the vCPU exists; with "wait" it then waits for a line on stdin before it
 * runs, with "linger" for another one before it ends. What KVM handed to us is printed at the end,
 * and is the exit status: 0 if it is what the guest did.
 */
#include <err.h>
#include <fcntl.h>
#include <linux/kvm.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
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
	PORT = 0x2f0,
	END_PORT = 0xf4,
	MEMORY = 64 << 10,
	START = 0x1000,
	PAUSE_US = 1000, /* between two numbers */
	MMIO = 0xd0000, /* beyond the memory */
};

/* cx outb, bx inb, si MMIO writes to ds:0, di halts. */
extern const char guest_start[], guest_end[];
/* Counts. */
extern const char count_start[], count_end[];
asm(".pushsection .rodata\n"
    ".code16\n"
    "guest_start:\n"
    "1:	jcxz	2f\n"
    "	outb	%al, %dx\n"
    "	inc	%ax\n"
    "	dec	%cx\n"
    "	jmp	1b\n"
    "2:	mov	%bx, %cx\n"
    "3:	jcxz	4f\n"
    "	inb	%dx, %al\n"
    "	dec	%cx\n"
    "	jmp	3b\n"
    "4:	mov	%si, %cx\n"
    "5:	jcxz	6f\n"
    "	movb	%al, (0)\n"
    "	dec	%cx\n"
    "	jmp	5b\n"
    "6:	mov	%di, %cx\n"
    "7:	jcxz	8f\n"
    "	hlt\n"
    "	dec	%cx\n"
    "	jmp	7b\n"
    "8:	outb	%al, $0xf4\n"
    "	hlt\n"
    "guest_end:\n"
    "count_start:\n"
    "1:	outl	%eax, %dx\n"
    "	inc	%eax\n"
    "	jmp	1b\n"
    "count_end:\n"
    ".code64\n"
    ".popsection");

static struct {
	const char *name;
	unsigned int want, seen;
} work[] = {{"outb", 23, 0}, {"inb", 17, 0}, {"mmio", 5, 0}, {"hlt", 3, 0}};
enum { OUTB, INB, MMIO_WRITE, HLT, WORKS };

static unsigned long slow, pause_ms = 50; /* each slow-th outb; 0: none */

static uint32_t *count; /* the file; NULL: the first form */

static void count_open(const char *name)
{
	int fd = open(name, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	if (fd < 0 || ftruncate(fd, sizeof(*count)))
		err(1, "%s", name);
	count = mmap(NULL, sizeof(*count), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (count == MAP_FAILED)
		err(1, "%s", name);
}

/* ---- a known profile ---- */

static bool spins;

/*
 * The number of rounds is the time. No code is the same, so that the compiler keeps each function; those that call none
 * have a frame, too.
 */
#ifdef __clang__
#define IN_ONE_COPY __attribute__((noinline))
#else
#define IN_ONE_COPY __attribute__((noinline, noclone))
#endif

#define SPIN(name)                                                                                 \
	IN_ONE_COPY static void spin_##name(unsigned int rounds)                                   \
	{                                                                                          \
		asm volatile("push %%rbp; mov %%rsp, %%rbp\n"                                      \
			     "1: decl %0; jnz 1b; pop %%rbp # " #name : "+r"(rounds));             \
	}                                                                                          \
	IN_ONE_COPY static void call_##name(unsigned int rounds)                                   \
	{                                                                                          \
		spin_##name(rounds);                                                               \
		asm volatile("# " #name);                                                          \
	}

SPIN(hot)
SPIN(warm)

static void spin(void)
{
	for (int i = 0; i < 100; i++) {
		call_hot(7000);
		call_warm(3000);
	}
}

static void *spinner(void *arg)
{
	(void)arg;
	for (;;)
		spin();
	return NULL;
}

static void spinner_start(void)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, spinner, NULL))
		errx(1, "pthread_create");
	pthread_setname_np(thread, "spinner");
}

/* ---- known system calls ---- */

static bool calls;

static void *caller(void *arg)
{
	int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
	char byte;

	(void)arg;
	if (read(STDIN_FILENO, &byte, 1) != 1)
		return NULL;
	for (int i = 0; i < 1000; i++)
		if (syscall(SYS_write, null, "known..", 7) != 7)
			err(1, "write");
	for (int i = 0; i < 23; i++)
		syscall(SYS_getppid);
	for (int i = 0; i < 17; i++)
		if (syscall(SYS_fsync, -1) != -1)
			errx(1, "fsync");
	for (int i = 0; i < 3; i++)
		usleep(20000);
	puts("called");
	fflush(stdout);
	return read(STDIN_FILENO, &byte, 1) < 0 ? arg : NULL;
}

static void caller_start(void)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, caller, NULL))
		errx(1, "pthread_create");
	pthread_setname_np(thread, "caller");
}

static void count_exit(const struct kvm_run *run)
{
	static uint32_t next;
	uint32_t value;

	memcpy(&value, (const char *)run + run->io.data_offset, sizeof(value));
	if (value != next++)
		errx(1, "the guest wrote %u, not %u", value, next - 1);
	*(volatile uint32_t *)count = value;
	if (spins)
		spin();
	else
		usleep(PAUSE_US);
}

static void wait_line(void)
{
	char line[16];

	if (!fgets(line, sizeof(line), stdin))
		errx(1, "stdin ended before a line came");
}

static void add_memory(int vm)
{
	void *memory =
		mmap(NULL, MEMORY, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct kvm_userspace_memory_region region = {
		.memory_size = MEMORY,
		.userspace_addr = (uintptr_t)memory,
	};

	if (memory == MAP_FAILED)
		err(1, "mmap");
	if (count)
		memcpy((char *)memory + START, count_start, (size_t)(count_end - count_start));
	else
		memcpy((char *)memory + START, guest_start, (size_t)(guest_end - guest_start));
	if (ioctl(vm, KVM_SET_USER_MEMORY_REGION, &region) < 0)
		err(1, "KVM_SET_USER_MEMORY_REGION");
}

static void set_registers(int vcpu)
{
	struct kvm_sregs sregs;
	struct kvm_regs regs = {
		.rip = START,
		.rflags = 2,
		.rdx = PORT,
		.rcx = work[OUTB].want,
		.rbx = work[INB].want,
		.rsi = work[MMIO_WRITE].want,
		.rdi = work[HLT].want,
	};

	if (ioctl(vcpu, KVM_GET_SREGS, &sregs) < 0)
		err(1, "KVM_GET_SREGS");
	sregs.cs.base = sregs.cs.selector = 0;
	sregs.ds.base = MMIO;
	sregs.ds.selector = MMIO >> 4;
	if (ioctl(vcpu, KVM_SET_SREGS, &sregs) < 0 || ioctl(vcpu, KVM_SET_REGS, &regs) < 0)
		err(1, "KVM_SET_REGS");
}

/* One exit; false when the guest is at its end. */
static bool handle_exit(const struct kvm_run *run)
{
	switch (run->exit_reason) {
	case KVM_EXIT_IO:
		if (run->io.port == END_PORT)
			return false;
		if (run->io.port != PORT)
			errx(1, "I/O on port 0x%x", run->io.port);
		if (count)
			count_exit(run);
		work[run->io.direction == KVM_EXIT_IO_OUT ? OUTB : INB].seen += run->io.count;
		if (slow && run->io.direction == KVM_EXIT_IO_OUT && !(work[OUTB].seen % slow))
			usleep((useconds_t)(pause_ms * 1000));
		return true;
	case KVM_EXIT_MMIO:
		work[MMIO_WRITE].seen++;
		return true;
	case KVM_EXIT_HLT: /* there is no interrupt controller: the next KVM_RUN goes on after the
			      hlt */
		work[HLT].seen++;
		return true;
	default:
		errx(1, "exit reason %u", run->exit_reason);
	}
}

/* ---- a thread that loads the vCPU ---- */

struct loader {
	int vcpu;
	struct kvm_msrs *msrs; /* in a page that is not there yet */
};

static void *load(void *arg)
{
	struct loader *l = arg;

	if (ioctl(l->vcpu, KVM_GET_MSRS, l->msrs)) /* none, as its page becomes one of zeros */
		err(1, "KVM_GET_MSRS");
	return NULL;
}

/* A page whose reader sleeps until page_give(). */
static void *page_take(int *fd)
{
	struct uffdio_api api = {.api = UFFD_API};
	struct uffdio_register range = {.range.len = (uint64_t)sysconf(_SC_PAGESIZE),
					.mode = UFFDIO_REGISTER_MODE_MISSING};
	void *page = mmap(NULL, range.range.len, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	range.range.start = (uintptr_t)page;
	*fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
	if (page == MAP_FAILED || *fd < 0 || ioctl(*fd, UFFDIO_API, &api) ||
	    ioctl(*fd, UFFDIO_REGISTER, &range))
		err(1, "userfaultfd");
	return page;
}

static void page_give(int fd, void *page)
{
	struct uffdio_zeropage zero = {
		.range = {(uintptr_t)page, (uint64_t)sysconf(_SC_PAGESIZE)}};
	struct uffd_msg fault;

	if (read(fd, &fault, sizeof(fault)) != sizeof(fault))
		err(1, "userfaultfd");
	usleep((useconds_t)(pause_ms * 1000));
	if (ioctl(fd, UFFDIO_ZEROPAGE, &zero))
		err(1, "UFFDIO_ZEROPAGE");
}

static void loader_run(int vcpu)
{
	int fd;
	struct loader l = {vcpu, page_take(&fd)};
	pthread_t thread;

	if (pthread_create(&thread, NULL, load, &l))
		errx(1, "pthread_create");
	page_give(fd, l.msrs);
	pthread_join(thread, NULL);
	close(fd);
}

struct given {
	bool wait, linger, loader;
};

static void parse(int argc, char **argv, struct given *given)
{
	for (int i = 1; i < argc; i++) {
		size_t len = strcspn(argv[i], "=");
		int w = 0;

		if (!strncmp(argv[i], "count=", 6)) {
			count_open(argv[i] + 6);
			continue;
		}
		if (!strncmp(argv[i], "slow=", 5) || !strncmp(argv[i], "pause=", 6)) {
			*(*argv[i] == 's' ? &slow : &pause_ms) =
				strtoul(argv[i] + len + 1, NULL, 0);
			continue;
		}
		bool *word = !strcmp(argv[i], "wait")	  ? &given->wait
			     : !strcmp(argv[i], "linger") ? &given->linger
			     : !strcmp(argv[i], "loader") ? &given->loader
			     : !strcmp(argv[i], "spin")	  ? &spins
			     : !strcmp(argv[i], "calls")  ? &calls
							  : NULL;

		if (word) {
			*word = true;
			continue;
		}
		while (w < WORKS &&
		       (strlen(work[w].name) != len || strncmp(argv[i], work[w].name, len)))
			w++;
		if (w < WORKS && argv[i][len])
			work[w].want = (unsigned int)strtoul(argv[i] + len + 1, NULL, 0) & 0xffff;
		else
			errx(2, "what is '%s'?", argv[i]);
	}
}

int main(int argc, char **argv)
{
	struct given given = {0};
	bool wrong = false;
	int kvm = open("/dev/kvm", O_RDWR | O_CLOEXEC);

	parse(argc, argv, &given);
	if (kvm < 0)
		err(1, "/dev/kvm");
	int vm = ioctl(kvm, KVM_CREATE_VM, 0);
	if (vm < 0)
		err(1, "KVM_CREATE_VM");
	add_memory(vm);
	int vcpu = ioctl(vm, KVM_CREATE_VCPU, 0);
	int run_size = ioctl(kvm, KVM_GET_VCPU_MMAP_SIZE, 0);
	if (vcpu < 0 || run_size < 0)
		err(1, "KVM_CREATE_VCPU");
	struct kvm_run *run =
		mmap(NULL, (size_t)run_size, PROT_READ | PROT_WRITE, MAP_SHARED, vcpu, 0);
	if (run == MAP_FAILED)
		err(1, "mmap of the vCPU");
	set_registers(vcpu);

	printf("ready %d\n", (int)getpid());
	fflush(stdout);
	if (given.wait)
		wait_line();
	if (given.loader)
		loader_run(vcpu);
	if (spins)
		spinner_start();
	if (calls)
		caller_start();
	do {
		if (ioctl(vcpu, KVM_RUN, 0) < 0)
			err(1, "KVM_RUN");
	} while (handle_exit(run));
	for (int w = 0; w < WORKS; w++) {
		printf("%s %u\n", work[w].name, work[w].seen);
		wrong |= work[w].seen != work[w].want;
	}
	fflush(stdout);
	if (given.linger)
		wait_line();
	return wrong;
}
