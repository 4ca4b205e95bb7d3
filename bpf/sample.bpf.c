// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * record --sample: a timer of its own on every CPU (perf's cpu-clock, a high resolution timer). Its interrupt makes a
 * running guest exit; KVM handles it with the guest's registers already in memory, and this program runs in that
 * interrupt. So it sees the same as perf's own guest samples (KVM sets arch.handling_intr_from_guest if the interrupt
 * came while the guest ran), and needs no kvm_exit.
 *
 * The guest is untrusted: its page tables and frame pointers are only numbers. Each is used to read the VMM's own
 * memory at an address within KVM's memory slots, without faulting, and a bounded number of times.
 */
#include "guest_task.bpf.h"

#include <linux/bpf_perf_event.h>

enum { REG_RBP = 5 };
enum { WHERE_GUEST, WHERE_KERNEL, WHERE_VMM };
enum {
	STACK_END,
	STACK_POINTER,
	STACK_GUEST_UNMAPPED,
	STACK_HOST_UNMAPPED,
	STACK_TOO_MANY,
	STACK_NO_SLOTS,
	STACK_NOT_64_BITS,
};
enum { FRAMES_MAX = 15, SLOT_TREE_DEPTH_MAX = 24, HOST_FRAMES_MAX = 28 };

#define CR4_LA57 (1ull << 12)
#define EFER_LMA (1ull << 10)
#define PTE_PRESENT 1ull
#define PTE_LARGE (1ull << 7)
#define PTE_ADDRESS 0x000ffffffffff000ull

const volatile hr_u32 sample_frames = 0; /* 1: call chains too */
const volatile hr_u32 sample_stacks = 0; /* 1: the host's, too */
const volatile hr_u32 sample_svm = 0;	 /* 1: KVM uses SVM and its BTF has struct vcpu_svm */

/* State of one walk on this CPU: where the guest's memory is. */
struct walk {
	hr_u64 slots; /* struct kvm_memslots */
	hr_u64 slot_gfn, slot_pages, slot_hva; /* the slot found last */
	hr_u64 cr3;
	hr_u64 page, page_hva; /* the guest page looked up last */
	hr_u64 hva, value;     /* results of the functions below */
	hr_u32 error, levels;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, hr_u32);
	__type(value, struct walk);
} walks SEC(".maps");

static __always_inline struct walk *walk_here(void)
{
	hr_u32 zero = 0;

	return bpf_map_lookup_elem(&walks, &zero);
}

/* The functions are not inlined, so that the verifier checks each once and not at every call. */

/* Sets w->hva, the VMM's address of that guest physical address. */
__attribute__((noinline)) int walk_gpa(hr_u64 gpa)
{
	struct walk *w = walk_here();
	struct kvm_memslots *slots = NULL;
	struct rb_node *node;
	hr_u64 gfn = gpa >> 12;
	int idx;

	if (!w)
		return -1;
	if (gfn - w->slot_gfn < w->slot_pages) {
		w->hva = w->slot_hva + (gpa - (w->slot_gfn << 12));
		return 0;
	}
	w->error = STACK_NO_SLOTS;
	if (!bpf_core_field_exists(slots->gfn_tree))
		return -1;
	slots = (void *)w->slots;
	idx = BPF_CORE_READ(slots, node_idx) & 1;
	node = BPF_CORE_READ(slots, gfn_tree.rb_node);
	w->error = STACK_GUEST_UNMAPPED;
	for (int i = 0; i < SLOT_TREE_DEPTH_MAX && node; i++) {
		struct kvm_memory_slot *slot =
			(void *)node - bpf_core_field_offset(struct kvm_memory_slot, gfn_node) -
			idx * bpf_core_type_size(struct rb_node);
		hr_u64 base = BPF_CORE_READ(slot, base_gfn), pages = BPF_CORE_READ(slot, npages);

		if (gfn - base < pages) {
			w->slot_gfn = base;
			w->slot_pages = pages;
			w->slot_hva = BPF_CORE_READ(slot, userspace_addr);
			w->hva = w->slot_hva + (gpa - (base << 12));
			w->error = 0;
			return 0;
		}
		if (gfn < base)
			node = BPF_CORE_READ(node, rb_left);
		else
			node = BPF_CORE_READ(node, rb_right);
	}
	return -1;
}

/* Sets w->value: 8 bytes of guest physical memory. */
__attribute__((noinline)) int walk_read(hr_u64 gpa)
{
	struct walk *w = walk_here();

	if (!w || walk_gpa(gpa))
		return -1;
	if (!bpf_probe_read_user(&w->value, 8, (void *)w->hva))
		return 0;
	w->error = STACK_HOST_UNMAPPED;
	return -1;
}

/* Sets w->page and w->page_hva: the guest's 4 KiB page of that virtual address. */
__attribute__((noinline)) int walk_page(hr_u64 address)
{
	struct walk *w = walk_here();
	hr_u64 table;

	if (!w)
		return -1;
	if (w->page == (address & ~0xfffull))
		return 0;
	table = w->cr3 & PTE_ADDRESS;
	for (int level = 4; level >= 0; level--) {
		hr_u32 shift = 12 + 9 * level;
		hr_u64 inside = (1ull << shift) - 1;

		if (level >= (int)w->levels)
			continue;
		if (walk_read(table + ((address >> shift) & 511) * 8))
			return -1;
		if (!(w->value & PTE_PRESENT)) {
			w->error = STACK_GUEST_UNMAPPED;
			return -1;
		}
		table = w->value & PTE_ADDRESS;
		if (level && level < 3 && (w->value & PTE_LARGE)) {
			table = (table & ~inside) | (address & inside & ~0xfffull);
			break;
		}
	}
	if (walk_gpa(table))
		return -1;
	w->page = address & ~0xfffull;
	w->page_hva = w->hva;
	return 0;
}

/* Sets w->value: 8 bytes at a guest virtual address. */
__attribute__((noinline)) int walk_virtual(hr_u64 address)
{
	struct walk *w = walk_here();

	if (!w || walk_page(address))
		return -1;
	if (!bpf_probe_read_user(&w->value, 8, (void *)(w->page_hva + (address & 0xfff))))
		return 0;
	w->error = STACK_HOST_UNMAPPED;
	return -1;
}

/* The next frame: its return address is in w->value, the caller's frame pointer in *rbp. */
static __always_inline bool frame_next(struct walk *w, hr_u64 *rbp)
{
	hr_u64 at = *rbp, next;

	if (!at) {
		w->error = STACK_END;
		return false;
	}
	if ((at & 7) || (at & 0xfff) > 0xff0) {
		w->error = STACK_POINTER;
		return false;
	}
	if (walk_virtual(at))
		return false;
	next = w->value;
	if (walk_virtual(at + 8))
		return false;
	if (!w->value || (next && next <= at)) { /* stacks grow down, so callers are above */
		w->error = w->value ? STACK_POINTER : STACK_END;
		if (!w->value)
			return false;
		next = 0;
	}
	*rbp = next;
	return true;
}

/* False: not in 64-bit mode; frames and page tables have other sizes there. */
static __always_inline bool walk_begin(struct walk *w, struct kvm_vcpu *vcpu)
{
	hr_u64 cr4 = BPF_CORE_READ(vcpu, arch.cr4), efer = BPF_CORE_READ(vcpu, arch.efer);

	w->slots = (hr_u64)BPF_CORE_READ(vcpu, kvm, memslots[0]);
	w->cr3 = BPF_CORE_READ(vcpu, arch.cr3);
	if (sample_svm && bpf_core_type_exists(struct vcpu_svm)) {
		struct vcpu_svm *svm = (void *)vcpu - bpf_core_field_offset(struct vcpu_svm, vcpu);

		w->cr3 = BPF_CORE_READ(svm, vmcb, save.cr3);
		cr4 = BPF_CORE_READ(svm, vmcb, save.cr4);
		efer = BPF_CORE_READ(svm, vmcb, save.efer);
	}
	w->levels = cr4 & CR4_LA57 ? 5 : 4;
	w->slot_pages = 0;
	w->page = ~0ull;
	w->error = efer & EFER_LMA ? STACK_END : STACK_NOT_64_BITS;
	return w->error == STACK_END;
}

static __always_inline void stack_record(struct emit *e, struct kvm_vcpu *vcpu, hr_u64 rip,
				       hr_u32 where)
{
	struct walk *w = walk_here();
	struct rec_guest_stack *rec = w ? reserve(e, guest_stack) : NULL;
	bool possible;
	hr_u64 rbp = BPF_CORE_READ(vcpu, arch.regs[REG_RBP]);

	if (!rec)
		return;
	possible = walk_begin(w, vcpu);
	rec->rip = rip;
	rec->where = where;
	rec->nr = 0;
	for (int i = 0; i < FRAMES_MAX; i++) {
		hr_u64 *to = (hr_u64 *)((hr_u8 *)rec + sizeof(struct record_hdr) + 8) + i;

		*to = 0;
		if (!possible || rec->nr < (hr_u32)i || !frame_next(w, &rbp))
			continue;
		*to = w->value;
		rec->nr = i + 1;
	}
	rec->error = rec->nr == FRAMES_MAX && rbp ? STACK_TOO_MANY : w->error;
	emit_publish(e);
}

/* ---- the host's stacks ---- */

/* Frames of what bpf_get_stack() returned. The verifier must see the bound after it, not before. */
static __always_inline hr_u64 frames_of(long bytes)
{
	hr_u64 nr = bytes > 0 ? (hr_u64)bytes >> 3 : 0;

	asm volatile("" : "+r"(nr));
	return nr <= HOST_FRAMES_MAX ? nr : 0;
}

/*
 * Frames of user space follow those of the kernel directly, as in perf's call chains. bpf_get_stack() clears what it
 * does not fill; frames that neither of the two reaches are cleared first.
 */
static __always_inline void host_stack_record(struct emit *e, struct bpf_perf_event_data *ctx)
{
	struct rec_host_stack *rec = reserve(e, host_stack);
	hr_u64 *frame = rec ? &rec->frame0 : NULL;
	hr_u64 nr;

	if (!rec)
		return;
	__builtin_memset(frame + HOST_FRAMES_MAX, 0, 8 * HOST_FRAMES_MAX);
	nr = frames_of(bpf_get_stack(ctx, frame, 8 * HOST_FRAMES_MAX, 0));
	rec->nr_kernel = nr;
	rec->nr_user = frames_of(
		bpf_get_stack(ctx, frame + nr, 8 * HOST_FRAMES_MAX, BPF_F_USER_STACK));
	emit_publish(e);
}

/* The guest's part of a sample of a vCPU's thread. Sets *where to WHERE_GUEST if it is one of the guest. */
static __always_inline void guest_record(struct emit *e, hr_u32 *where)
{
	hr_u64 node = task_vcpu_node(bpf_get_current_task_btf()), rip = 0;
	struct rec_guest_sample *rec;
	struct kvm_vcpu *vcpu;

	if (node && *where == WHERE_KERNEL) {
		vcpu = vcpu_of_node(node);
		if (bpf_core_field_exists(vcpu->arch.handling_intr_from_guest) &&
		    BPF_CORE_READ(vcpu, arch.handling_intr_from_guest))
			*where = WHERE_GUEST;
		if (!vcpu_rip_read(vcpu, &rip))
			rip = 0;
	}
	if (!guest_task_note(e, sample_frames ? EV_guest_stack : EV_guest_sample))
		return;
	if (node && *where != WHERE_VMM && sample_frames) {
		stack_record(e, vcpu_of_node(node), rip, *where);
		return;
	}
	rec = reserve(e, guest_sample);
	if (!rec)
		return;
	rec->rip = rip;
	rec->where = *where;
	emit_publish(e);
}

SEC("perf_event")
int pe_guest_sample(struct bpf_perf_event_data *ctx)
{
	hr_u32 where = IN_USER(&ctx->regs) ? WHERE_VMM : WHERE_KERNEL;
	struct emit e;

	if (!emit_begin(&e))
		return 0;
	if (e.vcpu != RECORD_NO_VCPU)
		guest_record(&e, &where);
	if (sample_stacks && where != WHERE_GUEST && vm_scheduled(e.pid))
		host_stack_record(&e, ctx);
	return 0;
}
