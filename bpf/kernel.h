/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The few fields of the kernel's structs that we read. CO-RE relocates each access to the field's offset in the running
 * kernel (or its kvm modules), so neither the order nor the rest of a struct matters, and the build needs no kernel
 * headers and no BTF of the build machine.
 */
#ifndef HOSTRACE_KERNEL_H
#define HOSTRACE_KERNEL_H

#include <linux/bpf.h>
#include <linux/types.h>
#include <asm/ptrace.h>

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>

#include "record.h"
#include "ring.h"

typedef _Bool bool;
#define true 1
#define false 0
#define NULL ((void *)0)

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct hlist_node {
	struct hlist_node *next;
};

struct hlist_head {
	struct hlist_node *first;
};

struct thread_info {
	hr_u32 cpu;
};

typedef struct {
	int counter;
} atomic_t;

struct upid {
	int nr;
};

/* A thread's ids in its own PID namespace and in those around it. */
struct pid {
	unsigned int level; /* its own namespace's; the first one is 0 */
	struct upid numbers[1];
};

struct signal_struct {
	atomic_t live; /* threads that have not exited */
};

struct mm_struct;

/* Empty in kernels without CONFIG_SCHED_INFO. */
struct sched_info {
	unsigned long long run_delay;
};

struct file;

struct fdtable {
	unsigned int max_fds;
	struct file **fd;
};

struct files_struct {
	struct fdtable *fdt;
};

struct task_struct {
	struct sched_info sched_info;
	struct thread_info thread_info;
	struct signal_struct *signal;
	struct pid *thread_pid;
	struct task_struct *group_leader;
	struct mm_struct *mm;
	int pid, tgid;
	unsigned int flags; /* PF_* */
	char comm[16];
	struct hlist_head preempt_notifiers;
	struct files_struct *files;
	unsigned frozen : 1; /* by the freezer of its cgroup (version 2) */
};

/* While a vCPU runs or may run, it is in its thread's list of preempt notifiers. */
struct preempt_notifier {
	struct hlist_node link;
};

/*
 * Map guest physical pages to the VMM's memory: a tree by page number, and a hash table by id; two sets of links are
 * used alternately.
 */
struct rb_node {
	unsigned long __rb_parent_color;
	struct rb_node *rb_right, *rb_left;
};

struct rb_root {
	struct rb_node *rb_node;
};

struct kvm_vcpu;

struct kvm_memory_slot {
	struct hlist_node id_node[2];
	struct rb_node gfn_node[2];
	hr_u64 base_gfn;
	unsigned long npages, userspace_addr;
	hr_u32 flags;
};

struct kvm_memslots {
	hr_u64 generation;
	struct rb_root gfn_tree;
	struct hlist_head id_hash[128];
	int node_idx;
};

/* The interrupt controllers, if they are KVM's (kernel_irqchip=on). */
union kvm_ioapic_redirect_entry {
	hr_u64 bits;
};

struct kvm_ioapic {
	hr_u32 irr;
	union kvm_ioapic_redirect_entry redirtbl[24];
};

struct kvm_kpic_state {
	hr_u8 irr, imr;
};

struct kvm_pic {
	struct kvm_kpic_state pics[2];
};

struct kvm_arch {
	unsigned long vm_type;
	struct kvm_pic *vpic;
	struct kvm_ioapic *vioapic;
};

struct kvm {
	struct mm_struct *mm;
	struct kvm_memslots *memslots[2];
	atomic_t online_vcpus;
	struct kvm_arch arch;
};

/* AMD's encryption of guest memory. */
struct kvm_sev_info {
	bool active, es_active;
};

struct kvm_svm {
	struct kvm kvm;
	struct kvm_sev_info sev_info;
};

/* The timer of a local APIC. */
struct kvm_timer {
	hr_s64 period, target_expiration;
	hr_u32 timer_mode;
	hr_u64 tscdeadline;
	atomic_t pending;
};

struct kvm_lapic {
	struct kvm_timer lapic_timer;
	struct kvm_vcpu *vcpu;
	void *regs;
};

struct kvm_vcpu_arch {
	struct kvm_lapic *apic;
	unsigned long regs[17];
	hr_u32 regs_avail;
	int mp_state;
	hr_u8 handling_intr_from_guest;
	unsigned long cr3, cr4;
	hr_u64 efer;
	hr_u64 l1_tsc_offset, tsc_offset;
	hr_u64 l1_tsc_scaling_ratio, tsc_scaling_ratio;
};

struct kvm_vcpu {
	struct kvm *kvm;
	struct preempt_notifier preempt_notifier;
	int vcpu_id, vcpu_idx, mode;
	struct pid *pid; /* of the thread that ran it last */
	struct kvm_vcpu_arch arch;
};

/* AMD: what the CPU stored in the VM control block at the exit (APM 2, appendix B: these three are adjacent). */
struct vmcb_control_area {
	hr_u64 exit_code, exit_info_1, exit_info_2;
};

struct vmcb_save_area {
	hr_u64 efer, cr4, cr3;
};

struct vmcb {
	struct vmcb_control_area control;
	struct vmcb_save_area save;
};

struct vcpu_svm {
	struct kvm_vcpu vcpu;
	struct vmcb *vmcb;
};

/* Intel: values that KVM has read from the VMCS. */
union vmx_exit_reason {
	hr_u32 full;
};

struct vcpu_vt {
	union vmx_exit_reason exit_reason;
};

struct vcpu_vmx {
	struct kvm_vcpu vcpu;
	union vmx_exit_reason exit_reason;
};

struct vcpu_vmx___shared {
	struct kvm_vcpu vcpu;
	struct vcpu_vt vt;
};

struct pvclock_vcpu_time_info {
	hr_u32 version;
	hr_u64 tsc_timestamp, system_time;
	hr_u32 tsc_to_system_mul;
	signed char tsc_shift;
	hr_u8 flags;
};

/* The records of formatted tracepoints (events/kvm/NAME/format). */
struct trace_event_raw_kvm_exit {
	unsigned int exit_reason;
	unsigned long guest_rip;
	hr_u32 isa;
	hr_u64 info1, info2;
};

struct trace_event_raw_kvm_nested_vmexit {
	unsigned int exit_reason;
	unsigned long guest_rip;
	hr_u32 isa;
};

struct trace_event_raw_kvm_entry {
	unsigned long rip;
};

struct trace_event_raw_kvm_page_fault {
	unsigned long guest_rip;
	hr_u64 fault_address, error_code;
};

struct trace_event_raw_kvm_emulate_insn {
	hr_u64 rip;
	hr_u8 len;
	hr_u8 insn[15];
	hr_u8 failed;
};

/* The block layer; bi_bdev since v5.12. */
struct block_device {
	hr_u64 bd_start_sect;
	hr_u32 bd_dev;
};

struct super_block {
	struct block_device *s_bdev;
	unsigned long s_magic;
};

struct inode {
	struct super_block *i_sb;
	unsigned long i_ino;
};

struct qstr {
	const unsigned char *name;
};

struct dentry {
	struct qstr d_name;
};

struct path {
	struct dentry *dentry;
};

struct file {
	struct inode *f_inode;
	struct path f_path;
	void *private_data;
};

/* What a program of an iterator writes to. */
struct seq_file;

struct bpf_iter_meta {
	struct seq_file *seq;
};

struct kiocb {
	struct file *ki_filp;
	long long ki_pos;
};

/* Direct I/O to a file: what the bios of a system call share. `size`: of those that are submitted. */
struct iomap_dio {
	struct kiocb *iocb;
	long long size;
};

struct bvec_iter {
	hr_u64 bi_sector;
	unsigned int bi_size;
} __attribute__((packed));

struct bio {
	struct bio *bi_next;
	struct block_device *bi_bdev;
	hr_u32 bi_opf;
	hr_u8 bi_status;
	struct bvec_iter bi_iter;
	void *bi_private;
};

struct request {
	struct bio *bio;
};

enum req_flag_bits {
	__REQ_SWAP = 24,
};

#pragma clang attribute pop

#endif
