/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which virtual machines run here, as /proc shows them: no privilege beyond reading the process is needed.
 *
 * A VM is a process that holds a KVM file descriptor ("anon_inode:kvm-vm"). What only has QEMU's name may be anything:
 * it is a VM that QEMU emulates (TCG) where the user says so, or gives its pid.
 */
#ifndef HOSTRACE_VM_H
#define HOSTRACE_VM_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include <jansson.h>

#include "base/cleanup.h"

enum {
	VM_VCPUS_MAX = 4096,
	VM_OTHERS_MAX = 4096,
	VM_NAMES_TEXT = 512, /* bytes for vm_list_print() */
	VM_USERS_MAX = 64,
};

#define VM_USER_UNKNOWN ((uid_t)-1)

/* Which processes are looked at as VMs; zero-initialised: all that use KVM. */
struct vm_scope {
	bool tcg; /* also those that only have QEMU's name */
	uid_t user[VM_USERS_MAX];
	unsigned int nr_users; /* if any: of these users, root and the caller only */
	unsigned int max_others; /* see vm_list(); 0: VM_OTHERS_MAX */
};

struct vm_vcpu {
	unsigned int index;
	pid_t tid; /* 0: unknown from /proc (threads without names); learnt from the first KVM event */
};

struct vm {
	pid_t pid;
	int64_t clock_ahead_ns; /* clock_offset(), which failed with clock_err */
	int clock_err;
	uint64_t start; /* proc_start(); 0: a process of ours that has not become the VM yet */
	uid_t uid;	/* proc_owner() or VM_USER_UNKNOWN */
	char *user;	/* its name, or its number as text */
	char *name;	/* -name, or libvirt's guest=; else the executable's name */
	char *uuid;	/* -uuid, "" if not given */
	char *exe;	/* path of the executable, without "(deleted)" */
	char *exe_open; /* a path that opens the very file that runs: /proc/PID/exe */
	char *cmdline;	/* one line, shell-quoted; longer than VM_CMDLINE_SHOWN: its beginning */
	char *machine;	/* -machine/-M type, "" if not given */
	char *accel;	/* "kvm", "tcg", "unknown", ... */
	char *version;	/* QEMU's version if known, else "" */
	char *build_id; /* hex of .note.gnu.build-id, "" if none */
	uint64_t memory_bytes;
	bool has_kvm;		/* holds a KVM VM or vCPU file descriptor */
	bool kvm_hidden;	/* unknown: this user may not see its descriptors */
	bool is_qemu;		/* by the name of its executable */
	unsigned int nr_vcpus;	/* kvm-vcpu descriptors, or -smp under TCG */
	unsigned int max_vcpus; /* 0: unknown */
	struct vm_vcpu *vcpus;	/* nr_vcpus entries */
	char **devices;		/* as on the command line: "virtio-blk-pci,drive=d0" */
	unsigned int nr_devices;
	const char *encryption; /* kvm_encryption(); NULL: none is known */
	bool hypervisor;	/* it runs guests of its own, as far as KVM knows */
	json_t *disk_servers;	/* disk_servers_read(), which `record` sets; NULL: unknown */
	bool dirty_log;		/* KVM logs which pages it writes, when it was looked at */
	unsigned int turn;	/* of vm_list_share() */
};

/*
 * May a name select it? It is the caller's (of sudo, too), root's, or of a user of the scope: with others, a name
 * proves nothing.
 */
bool vm_is_of_user(const struct vm *vm, const struct vm_scope *scope);

/*
 * The VMs of this host that this user may see. *ret is allocated; free with vm_list_free(). 0 or -errno. Of users that
 * vm_is_of_user() does not know, VMs with KVM and processes that only have QEMU's name, which any user can start, are
 * at most max_others each; *ret_left (may be NULL): how many more there are.
 */
int vm_list(const struct vm_scope *scope, struct vm **ret, unsigned int *ret_nr,
	    unsigned int *ret_left);
void vm_list_free(struct vm *vms, unsigned int nr);

/*
 * The VM of this process, also one that QEMU emulates (TCG). -ESRCH: no such process; -EINVAL: it is not a VM; -EACCES;
 * all with the error message set. select.h has names.
 */
int vm_by_pid(pid_t pid, struct vm *ret);
void vm_free(struct vm *vm);

/* -EACCES of a VM whose kvm_hidden is set, with the error message. */
int vm_kvm_hidden(const struct vm *vm);

/*
 * A descriptor of the very process that *vm describes, which reports its end: pidfd_open(2). -ESRCH: it has ended;
 * -ESTALE: its pid was given to another process meanwhile. -errno with the error message set.
 */
int vm_pidfd(const struct vm *vm);

/*
 * {"pid","name","uid","user","uuid" (if known),"exe","build_id","version","accel","machine","memory_bytes","isa",
 *  "cmdline","vcpus":[{"index","tid"}],"devices":[..],"encryption" (if any),"hypervisor" and "dirty_log" (if they are
 *  true), "disk_servers" (if any: vm/disk_server.h), "clock_ahead_ns" (of the host's, in a time namespace)}
 */
json_t *vm_json(const struct vm *vm);

/*
 * Keeps the rows of a list of VMs to a size: a process chooses its words, and there may be thousands of it. Command
 * lines are shortened. Where the rows of VMs with KVM (without) of root and the caller (of others) are VM_ROWS_WHOLE
 * together, further ones lose their command line, devices and threads, long names their end, and vCPUs those that do
 * not fit.
 */
enum {
	VM_CMDLINE_SHOWN = 16 << 10, /* bytes */
	VM_ROWS_WHOLE = 2 << 20,     /* bytes, of each of the four kinds */
	VM_ROW_CUT = 4 << 10,	     /* bytes of a row that lost them */
};

struct vm_rows {
	size_t used[2][2];
	unsigned int shortened, cut; /* rows */
};

/* `row` is that of vm_json() of this VM, perhaps with further keys. */
void vm_rows_fit(struct vm_rows *rows, const struct vm *vm, json_t *row);

/*
 * Of more than `max` VMs, keeps those of root and the caller first, then of each other user in turn, so that none has
 * the places of the others. Frees the rest and returns how many they are.
 */
unsigned int vm_list_share(struct vm *vms, unsigned int *nr, unsigned int max);

/* The host's ISA as kvm_exit numbers it: 1 VMX, 2 SVM, 0 unknown, from /proc/cpuinfo and /sys/module. */
unsigned int vm_host_isa(void);

#endif
