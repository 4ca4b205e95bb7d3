// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Faults of guest RAM that the host's memory management resolves, in a vCPU's thread during KVM_RUN: one record at the
 * end of each, with what happened in it.
 *
 * Begin and end are those of handle_mm_fault() (fe_, fx_), through which KVM's get_user_pages() comes, too. Where the
 * kernel refuses programs at functions, they are the tracepoint of page faults in the kernel and perf's event of faults
 * that were resolved (tp_, pe_): of accesses that KVM makes for the guest, as where it emulates the guest's
 * instructions. pe_ also ends what fe_ begins, if no get_user_pages() made it.
 *
 * What happened is seen from outside: which counts of the process's pages changed (rss_stat), which pages were
 * allocated, whether it was a major fault, and of which mapping the address is.
 */
#include "emit.bpf.h"

#include <linux/bpf_perf_event.h>

#include "fault.h"

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct vm_userfaultfd_ctx {
	void *ctx;
};

struct vm_area_struct {
	unsigned long vm_start, vm_end, vm_flags, vm_pgoff;
	const void *vm_ops;
	struct file *vm_file;
	struct vm_userfaultfd_ctx vm_userfaultfd_ctx;
};

/* Where a VMM's thread has counted pages that the process's counts do not have yet: before v6.2. */
struct task_rss_stat {
	int events;
	int count[4];
};

struct task_struct___faults {
	unsigned long maj_flt;
	struct task_rss_stat rss_stat;
};

struct rb_root_cached {
	struct rb_root rb_root;
};

struct interval_tree_node {
	struct rb_node rb;
	unsigned long start, last, __subtree_last;
};

struct kvm_memory_slot___fault {
	struct interval_tree_node hva_node[2];
	short id;
	hr_u16 as_id;
};

struct kvm_memslots___fault {
	struct rb_root_cached hva_tree;
	int node_idx;
};

struct address_space {
	struct inode *host;
};

struct folio {
	struct address_space *mapping;
};

struct kvm_vcpu___slot {
	struct kvm_memory_slot *last_used_slot;
};

#pragma clang attribute pop

enum {
	FAULT_FLAG_WRITE = 1 << 0, /* include/linux/mm_types.h */
	FAULT_FLAG_TRIED = 1 << 5,
	VM_FAULT_RETRY = 1 << 10,
	VM_SHARED = 1 << 3, /* include/linux/mm.h */
	VM_PFNMAP = 1 << 10,
	VM_HUGETLB = 1 << 22,
	GFP_MOVABLE = 1 << 3, /* include/linux/gfp_types.h: a page for a process, not one of a page table */
	HUGE_ORDER = 9,
	ERROR_WRITE = 1 << 1, /* of the CPU's error code */
	RSS_EVENTS_MAX = 64, /* mm/memory.c, TASK_RSS_EVENTS_THRESH */
	PAGE_BITS = 12,
	SLOT_DEPTH_MAX = 24,
};

struct fault_state {
	hr_u64 begin_ns, hva;
	hr_u64 off_since, waited_ns; /* off the CPU; off_since 0: it runs */
	hr_u64 majors;
	hr_s32 rss[4];
	hr_u32 seen; /* FAULT_* */
	hr_u32 open;
	hr_u64 file_offset, inode;
	hr_u64 added_inode; /* of the file of the page that was added to the page cache; 0: none */
	hr_u8 file[FAULT_FILE_BYTES];
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct fault_state);
} fault_threads SEC(".maps");

/* The fault that this thread is in; NULL: none. */
static __always_inline struct fault_state *fault_here(void)
{
	struct fault_state *f;

	if (!vm_traced(bpf_get_current_pid_tgid() >> 32))
		return NULL;
	f = bpf_task_storage_get(&fault_threads, bpf_get_current_task_btf(), NULL, 0);
	return f && f->open ? f : NULL;
}

static __always_inline hr_u64 majors_of(struct task_struct *task)
{
	return BPF_CORE_READ((struct task_struct___faults *)(void *)task, maj_flt);
}

/* handle_mm_fault() first adds the thread's counts to the process's and clears them, if they are many. */
static __always_inline void rss_read(struct task_struct *task, hr_s32 count[4], bool begins)
{
	struct task_struct___faults *t = (void *)task;
	hr_s32 events = 0;

	if (!bpf_core_field_exists(t->rss_stat))
		return;
	bpf_core_read(count, 4 * sizeof(*count), &t->rss_stat.count);
	bpf_core_read(&events, sizeof(events), &t->rss_stat.events);
	if (begins && events > RSS_EVENTS_MAX)
		__builtin_memset(count, 0, 4 * sizeof(*count));
}

static __always_inline struct fault_state *fault_begin(hr_u64 hva, hr_u32 seen, bool again)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct fault_state *f;

	if (!vm_traced(bpf_get_current_pid_tgid() >> 32) || !task_vcpu_node(task))
		return NULL;
	f = bpf_task_storage_get(&fault_threads, task, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!f || (again && f->open && f->hva >> PAGE_BITS == hva >> PAGE_BITS))
		return NULL;
	f->begin_ns = bpf_ktime_get_ns();
	f->hva = hva;
	f->off_since = f->waited_ns = 0;
	f->majors = majors_of(task);
	f->seen = seen;
	f->open = 1;
	f->file_offset = f->inode = f->added_inode = 0;
	f->file[0] = 0;
	rss_read(task, f->rss, true);
	return f;
}

static __always_inline void vma_note(struct fault_state *f, struct vm_area_struct *vma)
{
	hr_u64 flags = BPF_CORE_READ(vma, vm_flags);
	struct file *file = BPF_CORE_READ(vma, vm_file);

	f->seen |= FAULT_VMA;
	if (!BPF_CORE_READ(vma, vm_ops))
		f->seen |= FAULT_VMA_ANON;
	if (flags & VM_SHARED)
		f->seen |= FAULT_VMA_SHARED;
	if (flags & VM_HUGETLB)
		f->seen |= FAULT_VMA_HUGETLB;
	if (flags & VM_PFNMAP)
		f->seen |= FAULT_VMA_DEVICE;
	if (bpf_core_field_exists(vma->vm_userfaultfd_ctx) &&
	    BPF_CORE_READ(vma, vm_userfaultfd_ctx.ctx))
		f->seen |= FAULT_VMA_UFFD;
	if (!file)
		return;
	f->inode = BPF_CORE_READ(file, f_inode, i_ino);
	f->file_offset = (BPF_CORE_READ(vma, vm_pgoff) << PAGE_BITS) +
			 (f->hva - BPF_CORE_READ(vma, vm_start));
	bpf_probe_read_kernel_str(f->file, sizeof(f->file),
				  BPF_CORE_READ(file, f_path.dentry, d_name.name));
}

static long vma_found(struct task_struct *task, struct vm_area_struct *vma, struct fault_state **f)
{
	if (*f)
		vma_note(*f, vma);
	return 0;
}

static __always_inline bool slot_has(struct kvm_memory_slot *slot, hr_u64 hva)
{
	return slot && (hva - BPF_CORE_READ(slot, userspace_addr)) >> PAGE_BITS <
			       BPF_CORE_READ(slot, npages);
}

/* KVM's tree of slots by their addresses in the VMM, which may overlap (lib/interval_tree.c). NULL: in none. */
static __always_inline struct kvm_memory_slot *slot_search(struct kvm *kvm, hr_u64 hva)
{
	struct kvm_memslots___fault *slots = (void *)BPF_CORE_READ(kvm, memslots[0]);
	struct rb_node *rb = BPF_CORE_READ(slots, hva_tree.rb_root.rb_node);
	hr_u64 node_at = bpf_core_field_offset(struct kvm_memory_slot___fault, hva_node) +
			 (BPF_CORE_READ(slots, node_idx) & 1) *
				 bpf_core_type_size(struct interval_tree_node);

	for (int i = 0; i < SLOT_DEPTH_MAX && rb; i++) {
		struct interval_tree_node *node = (void *)rb, *left;

		left = (void *)BPF_CORE_READ(rb, rb_left);
		if (left && BPF_CORE_READ(left, __subtree_last) >= hva)
			rb = &left->rb;
		else if (BPF_CORE_READ(node, start) > hva)
			return NULL;
		else if (BPF_CORE_READ(node, last) >= hva)
			return (void *)rb - node_at;
		else
			rb = BPF_CORE_READ(rb, rb_right);
	}
	return NULL;
}

/* Most are in the slot that KVM used last. False: the address is of the VMM's own memory. */
static __always_inline bool slot_find(struct fault_state *f, struct kvm_vcpu *vcpu, hr_u64 *gpa,
				      hr_u32 *id)
{
	struct kvm_vcpu___slot *v = (void *)vcpu;
	struct kvm_memory_slot___fault *fields = NULL;
	struct kvm_memory_slot *slot;

	*gpa = FAULT_UNKNOWN;
	*id = (hr_u32)FAULT_UNKNOWN;
	if (!bpf_core_field_exists(fields->hva_node))
		return true;
	slot = BPF_CORE_READ(v, last_used_slot);
	if (!slot_has(slot, f->hva))
		slot = slot_search(BPF_CORE_READ(vcpu, kvm), f->hva);
	if (!slot)
		return false;
	*gpa = (BPF_CORE_READ(slot, base_gfn) << PAGE_BITS) +
	       (f->hva - BPF_CORE_READ(slot, userspace_addr));
	fields = (void *)slot;
	*id = (hr_u16)BPF_CORE_READ(fields, id) | (hr_u32)BPF_CORE_READ(fields, as_id) << 16;
	return true;
}

static __always_inline void changes_note(struct fault_state *f, struct task_struct *task)
{
	struct task_struct___faults *t = (void *)task;
	hr_s32 rss[4] = {0};

	if (majors_of(task) != f->majors)
		f->seen |= FAULT_MAJOR;
	if (f->added_inode && f->added_inode == f->inode) /* else: of the file system's own */
		f->seen |= FAULT_CACHE;
	if (!bpf_core_field_exists(t->rss_stat))
		return;
	rss_read(task, rss, false);
	for (int i = 0; i < 4; i++)
		if (rss[i] != f->rss[i])
			f->seen |= FAULT_RSS_FILE << i;
}

static __always_inline void fault_emit(struct fault_state *f)
{
	struct task_struct *task = bpf_get_current_task_btf();
	hr_u64 node = task_vcpu_node(task), gpa;
	struct rec_host_fault *rec;
	struct kvm_vcpu *vcpu;
	struct emit e;
	hr_u32 slot;

	f->open = 0;
	if (!node || !bpf_core_type_exists(struct kvm_vcpu))
		return;
	vcpu = vcpu_of_node(node);
	if (!slot_find(f, vcpu, &gpa, &slot))
		return;
	changes_note(f, task);
	rec = record_begin(&e, host_fault);
	if (!rec)
		return;
	rec->ns = rec->hdr.time - f->begin_ns;
	rec->waited_ns = f->waited_ns;
	rec->gpa = gpa;
	rec->hva = f->hva;
	rec->file_offset = f->file_offset;
	rec->inode = f->inode;
	if (!vcpu_rip_read(vcpu, &gpa))
		gpa = 0;
	rec->rip = gpa;
	rec->slot = slot;
	rec->seen = f->seen;
	__builtin_memcpy(rec->file, f->file, sizeof(rec->file));
	emit_publish(&e);
}

SEC("fentry/handle_mm_fault")
int BPF_PROG(fe_host_fault, struct vm_area_struct *vma, hr_u64 address, unsigned int flags)
{
	hr_u32 seen = flags & FAULT_FLAG_WRITE ? FAULT_WRITE : 0;
	struct fault_state *f = fault_begin(address, seen, flags & FAULT_FLAG_TRIED);

	if (f)
		vma_note(f, vma);
	return 0;
}

SEC("fexit/handle_mm_fault")
int BPF_PROG(fx_host_fault, struct vm_area_struct *vma, hr_u64 address, unsigned int flags,
	     struct pt_regs *regs, unsigned int ret)
{
	struct fault_state *f = fault_here();

	if (f && !(ret & VM_FAULT_RETRY))
		fault_emit(f);
	return 0;
}

SEC("tp_btf/page_fault_kernel")
int BPF_PROG(tp_host_fault, unsigned long address, struct pt_regs *regs, unsigned long error)
{
	fault_begin(address, error & ERROR_WRITE ? FAULT_WRITE : 0, false);
	return 0;
}

SEC("perf_event")
int pe_host_fault(struct bpf_perf_event_data *ctx)
{
	struct fault_state *f = fault_here();

	if (!f || ctx->addr >> PAGE_BITS != f->hva >> PAGE_BITS)
		return 0;
	if (!(f->seen & FAULT_VMA))
		bpf_find_vma(bpf_get_current_task_btf(), f->hva, vma_found, &f, 0);
	fault_emit(f);
	return 0;
}

/* Where threads count on their own, it fires for earlier faults when their counts are added to the process's. */
SEC("tp_btf/rss_stat")
int BPF_PROG(tp_host_fault_rss, struct mm_struct *mm, int member)
{
	struct task_struct___faults *t = NULL;
	struct fault_state *f = bpf_core_field_exists(t->rss_stat) ? NULL : fault_here();

	if (f && mm == bpf_get_current_task_btf()->mm)
		f->seen |= FAULT_RSS_FILE << (member & 3);
	return 0;
}

SEC("tp_btf/mm_page_alloc")
int BPF_PROG(tp_host_fault_alloc, void *page, unsigned int order, hr_u32 gfp)
{
	struct fault_state *f = gfp & GFP_MOVABLE ? fault_here() : NULL;

	if (f)
		f->seen |= order >= HUGE_ORDER ? FAULT_ALLOC_HUGE : FAULT_ALLOC;
	return 0;
}

SEC("tp_btf/mm_filemap_add_to_page_cache")
int BPF_PROG(tp_host_fault_cache, struct folio *folio)
{
	struct fault_state *f = fault_here();

	if (f)
		f->added_inode = BPF_CORE_READ(folio, mapping, host, i_ino);
	return 0;
}

SEC("tp_btf/sched_switch")
int BPF_PROG(tp_host_fault_switch, bool preempt, struct task_struct *prev, struct task_struct *next)
{
	struct fault_state *f = fault_here();

	if (f)
		f->off_since = bpf_ktime_get_ns();
	if (!vm_traced(next->tgid))
		return 0;
	f = bpf_task_storage_get(&fault_threads, next, NULL, 0);
	if (f && f->open && f->off_since) {
		f->waited_ns += bpf_ktime_get_ns() - f->off_since;
		f->off_since = 0;
	}
	return 0;
}
