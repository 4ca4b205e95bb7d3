// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * record --for heap, see heap.h. A program may be preempted by another thread's on the same CPU (user probes are), so
 * that what it works with is in the thread's own storage.
 *
 * A thread is in at most one primitive at a time: calls that the C library makes from within one (realloc's malloc, the
 * mmap of a large block) are part of it. They are recognized by their stack pointer, which is a little below that of
 * the primitive. The return's stack pointer shows that it is the return of this very call.
 *
 * Stacks are told apart without frame pointers, which QEMU lacks: by all words of the innermost 2 KiB that point to
 * code. Words that earlier calls left there may make two sites of one stack; the report adds up stacks that are equal
 * after unwinding.
 */
#include "heap_blocks.bpf.h"

/* ---- what is called ---- */

/* A wrapper: what the C library's function that it calls next is called for. */
static __always_inline int wrapper_enter(struct pt_regs *ctx, hr_u32 function, hr_u64 bytes)
{
	struct heap_thread *t = heap_vm() ? heap_thread(BPF_LOCAL_STORAGE_GET_F_CREATE) : NULL;
	hr_u64 sp = PT_REGS_SP(ctx);

	if (!t || !bytes || (t->outer && is_near(sp, t->outer_sp)))
		return 0;
	t->outer = function;
	t->outer_sp = sp;
	return 0;
}

/* The state of this thread, if the primitive begins; NULL: it is called by another one. */
static __always_inline struct heap_thread *primitive_enter(struct pt_regs *ctx, hr_u32 function,
							   hr_u64 bytes)
{
	struct heap_vm *vm = heap_vm();
	struct heap_thread *t = vm ? heap_thread(BPF_LOCAL_STORAGE_GET_F_CREATE) : NULL;
	hr_u64 sp = PT_REGS_SP(ctx);

	if (!t || (t->function && t->function != function && is_near(sp, t->sp)))
		return NULL;
	if (t->function)
		COUNT(vm->unfinished, 1);
	if (t->outer && (!is_near(sp, t->outer_sp) || function >= HEAP_mmap))
		t->outer = 0;
	t->function = function;
	t->sp = sp;
	t->bytes = bytes;
	t->slot = 0;
	t->old = 0;
	t->freed = 0;
	return t;
}

/* The same at its return. */
static __always_inline struct heap_thread *primitive_leave(struct pt_regs *ctx, hr_u32 function)
{
	struct heap_thread *t = heap_vm() ? heap_thread(0) : NULL;

	return t && t->function == function && PT_REGS_SP(ctx) == t->sp + 8 ? t : NULL;
}

static __always_inline int alloc_leave(struct pt_regs *ctx, hr_u32 function)
{
	struct heap_thread *t = primitive_leave(ctx, function);
	hr_u64 address = PT_REGS_RC(ctx);
	struct heap_vm *vm = heap_vm();

	if (!t || !vm)
		return 0;
	if (t->slot) {
		hr_u64 slot = t->slot;

		if (address || bpf_probe_read_user(&address, sizeof(address), (void *)slot))
			address = 0;
	}
	if (address)
		block_born(ctx, t, address);
	else if (t->bytes)
		COUNT(vm->failed, 1);
	if (!address && t->old && t->bytes)
		block_back(t);
	t->function = 0;
	t->outer = 0;
	return 0;
}

/* Frees `address` by this function. A wrapper's free() comes next, for the same address. */
static __always_inline int free_enter(struct pt_regs *ctx, hr_u32 function, hr_u64 address)
{
	struct heap_thread *t = address && heap_vm() ? heap_thread(BPF_LOCAL_STORAGE_GET_F_CREATE)
						     : NULL;

	if (!t || (t->function && is_near(PT_REGS_SP(ctx), t->sp)))
		return 0;
	if (t->freed == address) {
		t->freed = 0;
		return 0;
	}
	t->outer = 0;
	block_died(ctx, t, address, called(t, PT_REGS_SP(ctx), function));
	t->freed = function == HEAP_free ? 0 : address;
	return 0;
}

static __always_inline int realloc_enter(struct pt_regs *ctx, hr_u32 function, hr_u64 old,
					 hr_u64 bytes)
{
	struct heap_thread *t = primitive_enter(ctx, function, bytes);

	if (!t || !old)
		return 0;
	t->old = old;
	block_died(ctx, t, old, called(t, PT_REGS_SP(ctx), function));
	return 0;
}

/* g_realloc() and the like, which free with 0 bytes. */
static __always_inline int wrapper_realloc(struct pt_regs *ctx, hr_u32 function, hr_u64 old,
					   hr_u64 bytes)
{
	return bytes ? wrapper_enter(ctx, function, bytes) : free_enter(ctx, function, old);
}

#define A1 ((hr_u64)PT_REGS_PARM1(ctx))
#define A2 ((hr_u64)PT_REGS_PARM2(ctx))
#define A3 ((hr_u64)PT_REGS_PARM3(ctx))

#define ON_ENTRY(name, call)                                                                       \
	SEC("uprobe") int fn_heap_##name(struct pt_regs *ctx)                                      \
	{                                                                                          \
		call;                                                                              \
		return 0;                                                                          \
	}

#define ON_RETURN(name)                                                                            \
	SEC("uretprobe") int ret_heap_##name(struct pt_regs *ctx)                                  \
	{                                                                                          \
		return alloc_leave(ctx, HEAP_##name);                                              \
	}

ON_ENTRY(malloc, primitive_enter(ctx, HEAP_malloc, A1))
ON_ENTRY(calloc, primitive_enter(ctx, HEAP_calloc, A1 * A2))
ON_ENTRY(realloc, realloc_enter(ctx, HEAP_realloc, A1, A2))
ON_ENTRY(reallocarray, realloc_enter(ctx, HEAP_reallocarray, A1, A2 * A3))
ON_ENTRY(memalign, primitive_enter(ctx, HEAP_memalign, A2))
ON_ENTRY(aligned_alloc, primitive_enter(ctx, HEAP_aligned_alloc, A2))
ON_RETURN(malloc)
ON_RETURN(calloc)
ON_RETURN(realloc)
ON_RETURN(reallocarray)
ON_RETURN(memalign)
ON_RETURN(aligned_alloc)
ON_RETURN(posix_memalign)

SEC("uprobe")
int fn_heap_posix_memalign(struct pt_regs *ctx)
{
	struct heap_thread *t = primitive_enter(ctx, HEAP_posix_memalign, A3);

	if (t)
		t->slot = A1;
	return 0;
}

ON_ENTRY(free, free_enter(ctx, HEAP_free, A1))
ON_ENTRY(g_free, free_enter(ctx, HEAP_g_free, A1))
ON_ENTRY(qemu_vfree, free_enter(ctx, HEAP_qemu_vfree, A1))
ON_ENTRY(g_malloc, wrapper_enter(ctx, HEAP_g_malloc, A1))
ON_ENTRY(g_malloc0, wrapper_enter(ctx, HEAP_g_malloc0, A1))
ON_ENTRY(g_try_malloc, wrapper_enter(ctx, HEAP_g_try_malloc, A1))
ON_ENTRY(g_try_malloc0, wrapper_enter(ctx, HEAP_g_try_malloc0, A1))
ON_ENTRY(g_malloc_n, wrapper_enter(ctx, HEAP_g_malloc_n, A1 * A2))
ON_ENTRY(g_malloc0_n, wrapper_enter(ctx, HEAP_g_malloc0_n, A1 * A2))
ON_ENTRY(g_try_malloc_n, wrapper_enter(ctx, HEAP_g_try_malloc_n, A1 * A2))
ON_ENTRY(g_try_malloc0_n, wrapper_enter(ctx, HEAP_g_try_malloc0_n, A1 * A2))
ON_ENTRY(g_realloc, wrapper_realloc(ctx, HEAP_g_realloc, A1, A2))
ON_ENTRY(g_try_realloc, wrapper_realloc(ctx, HEAP_g_try_realloc, A1, A2))
ON_ENTRY(g_realloc_n, wrapper_realloc(ctx, HEAP_g_realloc_n, A1, A2 * A3))
ON_ENTRY(g_try_realloc_n, wrapper_realloc(ctx, HEAP_g_try_realloc_n, A1, A2 * A3))
ON_ENTRY(qemu_memalign, wrapper_enter(ctx, HEAP_qemu_memalign, A2))
ON_ENTRY(qemu_try_memalign, wrapper_enter(ctx, HEAP_qemu_try_memalign, A2))

SEC("uprobe")
int fn_heap_g_vasprintf(struct pt_regs *ctx)
{
	struct heap_thread *t = heap_vm() ? heap_thread(BPF_LOCAL_STORAGE_GET_F_CREATE) : NULL;

	if (!t)
		return 0;
	t->scope = HEAP_g_vasprintf;
	t->scope_sp = PT_REGS_SP(ctx);
	bpf_probe_read_user(&t->scope_return, sizeof(t->scope_return), (void *)t->scope_sp);
	return 0;
}

SEC("uretprobe")
int ret_heap_g_vasprintf(struct pt_regs *ctx)
{
	struct heap_thread *t = heap_vm() ? heap_thread(0) : NULL;

	if (t && PT_REGS_SP(ctx) == t->scope_sp + 8)
		t->scope = 0;
	return 0;
}

/* ---- mappings: few, so that each is an event, and the report knows what is left of them ---- */

static __always_inline int unmap_record(hr_u64 address, hr_u64 bytes)
{
	struct emit e;
	struct rec_alloc_munmap *rec = record_begin(&e, alloc_munmap);

	if (!rec)
		return 0;
	rec->address = address;
	rec->bytes = bytes;
	emit_publish(&e);
	return 0;
}

static __always_inline int map_record(struct pt_regs *ctx, struct heap_thread *t)
{
	hr_u64 address = PT_REGS_RC(ctx);
	struct heap_site *s = site_of(site_find(ctx, t, t->function));
	struct rec_alloc_mmap *rec;
	struct heap_vm *vm = heap_vm();
	struct emit e;

	if (!s && vm)
		COUNT(vm->not_sited, 1);
	if (s) {
		COUNT(s->allocs, 1);
		COUNT(s->bytes, t->bytes);
	}
	rec = record_begin(&e, alloc_mmap);
	if (!rec)
		return 0;
	rec->address = address;
	rec->bytes = t->bytes;
	rec->site = s ? s->key : 0;
	rec->flags = t->slot;
	emit_publish(&e);
	return 0;
}

/* mmap(address, length, protection, flags, ...) */
SEC("uprobe")
int fn_heap_mmap(struct pt_regs *ctx)
{
	struct heap_thread *t = primitive_enter(ctx, HEAP_mmap, A2);

	if (t)
		t->slot = PT_REGS_PARM4(ctx) & 0xffffffff;
	return 0;
}

SEC("uretprobe")
int ret_heap_mmap(struct pt_regs *ctx)
{
	struct heap_thread *t = primitive_leave(ctx, HEAP_mmap);

	if (!t)
		return 0;
	if (PT_REGS_RC(ctx) < -4095ull)
		map_record(ctx, t);
	t->function = 0;
	return 0;
}

/* mremap(old, old_length, length, flags, ...) */
SEC("uprobe")
int fn_heap_mremap(struct pt_regs *ctx)
{
	struct heap_thread *t = primitive_enter(ctx, HEAP_mremap, A3);

	if (!t)
		return 0;
	t->old = A1;
	t->old_bytes = A2;
	return 0;
}

SEC("uretprobe")
int ret_heap_mremap(struct pt_regs *ctx)
{
	struct heap_thread *t = primitive_leave(ctx, HEAP_mremap);

	if (!t)
		return 0;
	if (PT_REGS_RC(ctx) < -4095ull) {
		unmap_record(t->old, t->old_bytes);
		map_record(ctx, t);
	}
	t->function = 0;
	return 0;
}

/* Not what free() unmaps: it was not seen to be mapped either. */
SEC("uprobe")
int fn_heap_munmap(struct pt_regs *ctx)
{
	struct heap_thread *t = heap_vm() ? heap_thread(BPF_LOCAL_STORAGE_GET_F_CREATE) : NULL;
	hr_u64 address = A1, bytes = A2;

	if (!t || (t->function && is_near(PT_REGS_SP(ctx), t->sp)) ||
	    (t->last_free - address < bytes && t->last_free - address <= HEAP_PAGE))
		return 0;
	return unmap_record(address, bytes);
}
