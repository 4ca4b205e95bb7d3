/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A Linux guest (x86-64), read from its RAM while it runs. */
#ifndef HOSTRACE_LINUX_GUEST_H
#define HOSTRACE_LINUX_GUEST_H

#include "base/cleanup.h"
#include "vm/kvm_state.h"
#include "vm/linux/btf.h"
#include "vm/linux/kallsyms.h"

enum {
	LINUX_BANNER_MAX = 256,
	LINUX_RETRIES = 8, /* of a list that changed while it was read */
	LINUX_READS_MAX = 32 << 20, /* of one report */
	LINUX_READS_ALONE = 1 << 20, /* of these while nothing is found; 3 s */
	LINUX_READS_TASK = 320, /* further ones for each task: it takes 16, 250 with its stack */
};

/* How the kernel was found, cheapest first. */
enum linux_way {
	LINUX_BY_CR3,	     /* the image that the CPU's page tables map */
	LINUX_BY_RODATA,     /* the beginning of .rodata, which is 2 MiB-aligned */
	LINUX_BY_VMCOREINFO, /* the page of text that the kernel keeps for kdump */
	LINUX_BY_SCAN,	     /* all of its RAM */
};

struct linux_guest {
	pid_t pid;
	struct memory memory;
	struct linux_ram ram;
	uint64_t ram_bytes; /* with which the VM was started */
	char unreadable[256]; /* why the host cannot read the memory; "" if it can, or that is unknown */
	struct guest_slot *slot; /* of KVM; NULL: the RAM is searched */
	size_t nr_slots;
	struct kvm_vcpu_state *vcpu; /* of KVM, as of when the memory was opened; owned */
	size_t nr_vcpus;
	uint64_t cr3;	    /* 0: unknown */
	enum guest_paging paging;

	/* set by linux_guest_find() */
	enum linux_way way;
	struct kallsyms symbols;
	size_t nr_core; /* symbols of the image; the rest are of modules */
	uint64_t text;	/* address of _text */
	uint64_t delta; /* address - physical address, within the image */
	struct guest_space space; /* the kernel's own page tables */
	char banner[LINUX_BANNER_MAX]; /* "Linux version ..." */
	uint64_t page, page_at; /* the last page translated, and its address in the process */
	uint64_t torn;		/* lists that changed while they were read, and were read again */
	uint32_t nr_reads;	/* since linux_reads_begin(), of LINUX_READS_MAX */
};

/*
 * Opens the memory of a VM's process, and reads the registers if the socket of its monitor is given (qmp; NULL: none).
 * kvm: where KVM has the memory; NULL: unknown. Needs the rights of ptrace(2); what follows does not. -errno with the
 * error message set.
 */
int linux_guest_open(const struct vm *vm, const struct kvm_vm *kvm, const char *qmp,
		     uint64_t timeout_ns, struct linux_guest *ret);
/*
 * After reading, `err` being what it returned: what is read of the memory of a VM that has ended is not mapped, which
 * looks like another system, or a shorter list. -ESRCH with the error message set in this case, also where err is 0.
 */
int linux_guest_check(struct linux_guest *g, int err);

void linux_guest_close(struct linux_guest *g);

/*
 * Finds the kernel and reads its symbols; linux_modules_add() adds those of modules. until_ns:
 * monotonic_ns() at which the search ends; 0: when all RAM is searched. -ENOENT: no Linux kernel was found, and why
 * that may be; -ETIMEDOUT; -ENOMEM; with the error message set.
 */
int linux_guest_find(struct linux_guest *g, uint64_t until_ns);

/* "the beginning of .rodata" */
const char *linux_way_name(enum linux_way way);

/* ---- reading, once the kernel is found ---- */

/*
 * What a report reads is limited: structures that refer to each other can make it endless. From the LINUX_READS_MAX-th
 * read on nothing is mapped. linux_reads_end() returns err, or -E2BIG with the error message set if it came to that.
 */
void linux_reads_begin(struct linux_guest *g);

/* The same for a report whose reads are to find something: LINUX_READS_ALONE, and `nr` more for each call. */
void linux_reads_begin_alone(struct linux_guest *g);
void linux_reads_allow(struct linux_guest *g, uint32_t nr);
int linux_reads_end(const struct linux_guest *g, int err);

/* -EFAULT without an error message: not mapped. */
int linux_read(struct linux_guest *g, uint64_t address, void *buf, size_t size);
int linux_read_u64(struct linux_guest *g, uint64_t address, uint64_t *ret);
int linux_read_u32(struct linux_guest *g, uint64_t address, uint32_t *ret);

/* A C string of at most size - 1 bytes; a longer one is cut. Not sanitized. */
int linux_read_text(struct linux_guest *g, uint64_t address, char *ret, size_t size);

/* The address of a symbol; 0: the kernel has none of this name. */
uint64_t linux_symbol(const struct linux_guest *g, const char *name);

/*
 * The addresses of a list's entries (struct list_head), not of its head; *ret is allocated, also on failure. A list
 * that changes meanwhile is read again, up to LINUX_RETRIES times, each counted in g->torn. 0; -EAGAIN (no error
 * message): it kept changing, has no end or more than max entries: *ret has a part of it; -ENOMEM.
 */
int linux_list_read(struct linux_guest *g, uint64_t head, unsigned int max, uint64_t **ret,
		    size_t *ret_nr);

enum {
	LINUX_CPUS_MAX = 8192, /* NR_CPUS of x86 is at most so many */
};

struct linux_cpus {
	uint32_t *cpu; /* owned */
	uint64_t *offset; /* owned */
	size_t nr;
};

/* The CPUs that are online. -ENOENT: none can be found; -ENOMEM; with the error message set. */
int linux_cpus_online(struct linux_guest *g, struct linux_cpus *ret);
void linux_cpus_deinit(struct linux_cpus *c);

struct linux_cpu {
	uint32_t cpu, apic_id;
	uint64_t slot; /* of the pointer to its current task: address in the process */
};

struct linux_current {
	struct linux_cpu *cpu; /* those that have been started; owned */
	size_t nr;
	uint64_t direct; /* address of physical address 0 in the direct map */
	int tid_at, pid_at, comm_at; /* in struct task_struct */
	int cpu_at; /* the same: the CPU that it runs on; < 0: unknown */
};

/* 0, or with the error message set: -ENOENT: the kernel lacks a symbol or its BTF a type; -ENOMEM. */
int linux_current_find(struct linux_guest *g, const struct btf_types *types,
		       struct linux_current *ret);
void linux_current_deinit(struct linux_current *c);

#endif
